"""Data protection: requests and their state, a copy of the whole site, and its deletion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from masthead import clock
from masthead.admin.endpoint import Answer, Moved, Shown
from masthead.admin.forms import sentence_of
from masthead.admin.lists import Filters, Listing, read_page
from masthead.admin.pages.settings.subnav import PRIVACY, in_settings
from masthead.admin.request import AdminRequest
from masthead.errors import BadRequest, Invalid, NotFound, Problem
from masthead.privacy.collection import gdpr_requests
from masthead.privacy.validation import (
    PHRASE,
    TENANT,
    Requester,
    check_slug,
    parse_body,
    parse_deletion,
)
from masthead.records.collection import Record
from masthead.records.engine import ListRequest

_STATES = {
    "queued": ("info", "Waiting"),
    "ready": ("good", "Ready"),
    "cancelled": ("draft", "Cancelled"),
    "completed": ("good", "Done"),
    "expired": ("draft", "Expired"),
    "failed": ("bad", "Failed"),
}


@dataclass(frozen=True, slots=True)
class RequestFilters(Filters):
    """Of a list that shows everything."""

    address: ClassVar[str] = PRIVACY


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    what: str
    of: str
    badge: str
    state: str
    until: str
    asked: str
    can_cancel: bool


async def privacy_page(request: AdminRequest) -> Answer:
    return await _page(request)


async def export_site(request: AdminRequest) -> Answer:
    """Answered with a page: the link to the archive is a secret, as that of a key."""
    body = parse_body({"type": TENANT})
    requester = await _admitted(request)
    _, export = await request.services.privacy.exports.begin(requester, body)
    if export is None:
        sentence = "The copy is being made. A link to it is mailed to the owner of the site."
        return Moved(PRIVACY, sentence)
    link = request.services.privacy.links.download(export.request["id"], export.token)
    return await _page(request, link)


async def delete_form(request: AdminRequest) -> Answer:
    return _delete_page(request)


async def delete_site(request: AdminRequest) -> Answer:
    form = request.form
    given = {
        "type": TENANT,
        "tenant_slug": form.get("tenant_slug", "").strip(),
        "confirmation_phrase": form.get("confirmation_phrase", "").strip(),
    }
    if given["confirmation_phrase"] != PHRASE:
        problem = Problem("validation_values_mismatch", f"Type exactly {PHRASE}.")
        return _delete_page(request, {"confirmation_phrase": problem})
    try:
        body = parse_deletion(given)
        check_slug(body, request.tenant)
    except (BadRequest, Invalid) as error:
        mismatch = Problem("validation_values_mismatch", f"Type exactly {request.tenant.slug}.")
        problems = error.problems if isinstance(error, Invalid) else {"tenant_slug": mismatch}
        return _delete_page(request, problems)
    requester = await _admitted(request)
    opened = await request.services.privacy.requests.open_deletion(requester, body)
    day = _day(request, opened.request["grace_until"])
    return Moved(PRIVACY, f"The site is read-only now and will be deleted on {day}.")


async def cancel_form(request: AdminRequest, request_id: str) -> Answer:
    found = await request.records.get(request.caller, gdpr_requests, request_id)
    row = _row(request, found)
    if not row.can_cancel:
        raise NotFound
    return in_settings(request, "cancel-deletion.html", "Cancel it?", {"row": row, "back": PRIVACY})


async def cancel(request: AdminRequest, request_id: str) -> Answer:
    requests = request.services.privacy.requests
    found = await requests.withdraw(request.tenant_id, request_id)
    what = "The site" if found["subject"] == TENANT else "The member"
    return Moved(PRIVACY, f"{what} stays. Nothing is deleted.")


async def _admitted(request: AdminRequest) -> Requester:
    """Counts the request, as the API does: each of them sends mails."""
    await request.services.privacy_limit.admit(
        request.tenant_id, request.caller, request.context.address
    )
    return Requester(request.tenant, request.caller, is_trusted=True)


async def _page(request: AdminRequest, link: str = "") -> Answer:
    filters = RequestFilters()
    wanted = ListRequest(sort="-created", skip_total=True)
    page = await read_page(request, Listing(gdpr_requests, wanted, filters.url))
    if page is None:
        return Moved(PRIVACY)
    items, pager = page
    deleted_at = request.site_record["deleted_at"]
    rows = [_row(request, each) for each in items]
    values = {
        "rows": rows,
        "pager": pager,
        "link": link,
        "is_deleted": bool(deleted_at),
        "deletion": next((each for each in rows if each.can_cancel and each.of == "Site"), None),
        "address": PRIVACY,
    }
    return in_settings(request, "privacy.html", "Data protection", values)


def _delete_page(request: AdminRequest, problems: Mapping[str, Problem] | None = None) -> Shown:
    values = {
        "slug": request.tenant.slug,
        "phrase": PHRASE,
        "typed": {
            name: request.form.get(name, "") for name in ("tenant_slug", "confirmation_phrase")
        },
        "errors": {name: sentence_of(each) for name, each in (problems or {}).items()},
        "back": PRIVACY,
    }
    title = f"Delete {request.site_name}?"
    return in_settings(request, "delete-site.html", title, values, 422 if problems else 200)


def _row(request: AdminRequest, found: Record) -> Row:
    badge, state = _STATES[found["status"]]
    now = clock.to_text(request.records.clock())
    is_deletion = found["type"] == "delete"
    is_open = is_deletion and found["status"] == "queued" and found["grace_until"] > now
    if is_open and not found["confirmed_at"]:
        state = "Waits for its confirmation by mail"
    until = ""
    if is_open and found["confirmed_at"]:
        until = f"on {_day(request, found['grace_until'])}"
    elif found["status"] == "ready":
        until = f"until {_day(request, found['expires_at'])}"
    return Row(
        found["id"],
        "Deletion" if is_deletion else "Copy of the data",
        "Site" if found["subject"] == TENANT else f"Member {found['member_id']}",
        badge,
        state,
        until,
        request.when(found["created"]),
        is_open,
    )


def _day(request: AdminRequest, moment: str) -> str:
    local = request.local(moment)
    return f"{local.day} {local:%b %Y}"
