"""Data protection: the requests of the site and of all its members, a copy of the whole site, and
its deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from masthead.base.errors import Invalid, NotFound, Problem
from masthead.base.languages.words import words
from masthead.engine.audit.collection import DOWNLOADED_SITE
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import all_of, any_of, equals, newer
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.data_requests import admit_request, is_cancellable, is_ready, shown
from masthead.faces.admin.endpoint import Answer, Redirect, Stored
from masthead.faces.admin.environment import day
from masthead.faces.admin.forms import sentence_of, summary
from masthead.faces.admin.lists import Listing, read_page, with_query
from masthead.faces.admin.pages.settings.subnav import PRIVACY, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.features.members.collection import blog_members
from masthead.features.privacy.collection import gdpr_requests
from masthead.features.privacy.export import archive_key
from masthead.features.privacy.validation import PHRASE, TENANT, DataRequest
from masthead.identity.directory import Tenant


async def privacy_page(request: AdminRequest) -> Answer:
    wanted = ListRequest(sort="-created", skip_total=True)
    page = await read_page(request, Listing(gdpr_requests, wanted, partial(with_query, PRIVACY)))
    if page is None:
        return Redirect(PRIVACY)
    items, pager = page
    values = {
        "requests": [shown(request, each) for each in items],
        "emails": await _emails(request, items),
        "pager": pager,
        "is_deleted": bool(request.site_record["deleted_at"]),
        "deletion": await _planned_deletion(request),
        "address": PRIVACY,
    }
    return in_settings(request, "privacy.html", words("Data protection"), values)


async def export_site(request: AdminRequest) -> Answer:
    requester = await admit_request(request)
    _, ready = await request.services.privacy.exports.begin(requester, DataRequest(TENANT))
    if ready is None:
        sentence = words("The copy is being made. You can download it here when it is ready.")
        return Redirect(PRIVACY, sentence)
    return Redirect(PRIVACY, words("The copy is ready. Download it below."))


async def download_copy(request: AdminRequest, request_id: str) -> Answer:
    asked = await _find_request(request, request_id)
    if not is_ready(request, asked):
        raise NotFound
    await request.note(DOWNLOADED_SITE)
    name = f"{request.tenant.slug}-{asked['created'][:10]}.zip"
    return Stored(archive_key(asked), name, "application/zip")


async def delete_site(request: AdminRequest) -> Answer:
    check_typed(request.form, request.tenant)
    requester, body = await admit_request(request), DataRequest(TENANT)
    opened = await request.services.privacy.requests.open_deletion(requester, body)
    until = day(request.local(opened.request["grace_until"]))
    return Redirect(
        PRIVACY, words("The site is read-only now and will be deleted on %(until)s.", until=until)
    )


def check_typed(form: Mapping[str, str], tenant: Tenant) -> None:
    """Raises Invalid for the two texts that a deletion needs."""
    expected = {"tenant_slug": tenant.slug, "confirmation_phrase": PHRASE}
    problems = {
        name: Problem("validation_values_mismatch", words("Type exactly %(text)s.", text=text))
        for name, text in expected.items()
        if form.get(name, "").strip() != text
    }
    if problems:
        raise Invalid(problems)


def deletion_values(request: AdminRequest, tenant: Tenant) -> dict[str, Any]:
    """For the two fields of the question before a deletion."""
    typed = {name: request.form.get(name, "") for name in ("tenant_slug", "confirmation_phrase")}
    errors = {name: sentence_of(each) for name, each in request.problems.items()}
    return {
        "slug": tenant.slug,
        "phrase": PHRASE,
        "typed": typed,
        "errors": errors,
        "problems": summary(request, {}),
    }


async def cancel_deletion(request: AdminRequest, request_id: str) -> Answer:
    asked = await _find_request(request, request_id)
    requests = request.services.privacy.requests
    await requests.withdraw(request.tenant_id, asked["id"], request.caller)
    return Redirect(PRIVACY, words("The site stays. Nothing is deleted."))


async def _find_request(request: AdminRequest, request_id: str) -> Record:
    """About the site. Those about a member are handled on the member's page."""
    found = await request.records.get(request.caller, gdpr_requests, request_id)
    if found["subject"] != TENANT:
        raise NotFound
    return found | {"tenant_id": request.tenant_id}


async def _emails(request: AdminRequest, asked: Sequence[Record]) -> dict[str, str]:
    """The addresses of the members that the requests are about, without those who are gone."""
    ids = {each["member_id"] for each in asked if each["member_id"]}
    if not ids:
        return {}
    found = await request.first(
        blog_members,
        len(ids),
        filter=any_of([equals("id", each) for each in ids]) or "",
        names=frozenset({"email"}),
    )
    return {each["id"]: each["email"] for each in found}


async def _planned_deletion(request: AdminRequest) -> dict[str, str] | None:
    """Not from the list, whose page it may have left. Those that wait for their confirm link have
    planned nothing."""
    if not request.site_record["deleted_at"]:
        return None
    conditions = [
        equals("subject", TENANT),
        equals("member_id", ""),
        equals("type", "delete"),
        equals("status", "queued"),
        newer("confirmed_at", ""),
    ]
    wanted = all_of(conditions) or ""
    for each in await request.first(gdpr_requests, 20, filter=wanted, sort="-created"):
        if is_cancellable(request, each):
            on = day(request.local(each["grace_until"]))
            return {"on": on, "cancel": shown(request, each)["cancel"]}
    return None


async def delete_form(request: AdminRequest) -> Answer:
    values = {**deletion_values(request, request.tenant), "back": PRIVACY}
    return in_settings(
        request,
        "delete-site.html",
        words("Delete %(site_name)s?", site_name=request.site_name),
        values,
    )
