"""The audit log: of a site for its owners, of all sites for operators."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import ClassVar

import msgspec

from masthead.base.caller import Caller, Kind
from masthead.base.errors import NotFound
from masthead.engine.audit.collection import (
    ADDED_FACTOR,
    CANCELLED_DELETION,
    CANCELLED_ERASURE,
    CHANGED,
    CONNECTED,
    DELETED,
    DISCARDED_JOB,
    DISCONNECTED,
    DOWNLOADED_EXPORT,
    DOWNLOADED_MEMBERS,
    DOWNLOADED_SITE,
    EMPTIED_TRASH,
    EXPORTED,
    EXPORTED_SITE,
    IMPERSONATED,
    MADE_RECOVERY_CODES,
    OPENED,
    PLANNED_DELETION,
    PLANNED_ERASURE,
    REMOVED_FACTOR,
    RESET_FACTORS,
    RETRIED_JOB,
    SIGNED_IN,
    audit_log,
)
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import all_of, equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.lists import Filters, Listing, options, read_page
from masthead.faces.admin.people import staff_names
from masthead.faces.admin.request import AdminRequest

ADDRESS = "/admin/activity"
EVERYWHERE = "/admin/operator/activity"
PER_PAGE = 50

NOUNS = {
    "posts": "post",
    "pages": "page",
    "media": "file",
    "comments": "comment",
    "blog_members": "member",
    "_superusers": "account",
    "site_settings": "settings",
    "api_keys": "API key",
    "webhook_subscriptions": "webhook",
    "tiers": "tier",
    "products": "product",
    "orders": "order",
    "gift_cards": "gift card",
    "categories": "category",
    "redirects": "redirect",
    "import_runs": "import",
    "site_exports": "export",
    "member_imports": "member import",
    "gdpr_requests": "data protection request",
    "tenants": "site",
    "tag_changes": "tag change",
    "newsletters": "newsletter",
    "welcome_emails": "welcome email",
    "sending_domains": "sending domain",
    "mailings": "mailing",
    "trash": "item in the trash",
    "sign_in_providers": "sign-in provider",
}
"""Nouns for the collections that the log covers."""
_PAGES = {
    "posts": "/admin/posts",
    "_superusers": "/admin/staff",
    "import_runs": "/admin/tools/import",
    "mailings": "/admin/mailings",
    "newsletters": "/admin/settings/newsletters",
    "sign_in_providers": "/admin/settings/sign-in",
}
"""Where a record of the collection has a page."""
_EVENTS = {
    SIGNED_IN: "Signed in",
    OPENED: "Opened this site as an operator",
    IMPERSONATED: "Signed in as another account:",
    EXPORTED: "Exported a member’s data",
    DOWNLOADED_EXPORT: "Downloaded a member’s data",
    PLANNED_ERASURE: "Scheduled the erasure of a member",
    CANCELLED_ERASURE: "Cancelled the erasure of a member",
    DOWNLOADED_MEMBERS: "Downloaded the member list",
    EXPORTED_SITE: "Requested an export of the site",
    DOWNLOADED_SITE: "Downloaded an export of the site",
    PLANNED_DELETION: "Scheduled the deletion of the site",
    CANCELLED_DELETION: "Cancelled the deletion of the site",
    EMPTIED_TRASH: "Emptied the trash",
    RETRIED_JOB: "Ran a failed job again:",
    ADDED_FACTOR: "Added a second factor:",
    REMOVED_FACTOR: "Removed a second factor:",
    MADE_RECOVERY_CODES: "Made new recovery codes",
    RESET_FACTORS: "Reset the second factors of",
    CONNECTED: "Connected a sign-in provider:",
    DISCONNECTED: "Disconnected a sign-in provider:",
    DISCARDED_JOB: "Discarded failed work:",
}
"""Sentences for actions that change no record."""
_UNNAMED: dict[str, str] = {Kind.SHELL: "The command line"}
"""Who has no account, by role."""
_STATUS = {
    "published": "published",
    "draft": "unpublished",
    "approved": "approved",
    "spam": "marked as spam",
    "queued": "started",
    "preview": "previewed",
    "import": "started",
    "pictures": "retried the pictures of",
    "undo": "undid",
    "suspended": "suspended",
    "active": "reopened",
}


class ActivityFilters(Filters, frozen=True):
    address: ClassVar[str] = ADDRESS
    choices: ClassVar[Mapping[str, Container[str]]] = {"subject": NOUNS}

    subject: str = ""
    account: str = ""

    def listing(self, caller: Caller) -> Listing:
        conditions = []
        if self.account:
            conditions.append(equals("account_id", self.account))
        if self.subject:
            conditions.append(equals("subject", self.subject))
        wanted = ListRequest(filter=all_of(conditions) or "", sort="-created", skip_total=True)
        return Listing(audit_log, wanted, self.url, caller)


class EverywhereFilters(ActivityFilters, frozen=True):
    address: ClassVar[str] = EVERYWHERE


class ActivityRow(msgspec.Struct, frozen=True):
    who: str
    role: str
    sentence: str
    label: str
    url: str
    """The address of the record's page, if it has one."""
    details: str
    address: str
    site: str
    when: str
    at: str


async def site_activity(request: AdminRequest) -> Answer:
    if not request.caller.is_admin:
        raise NotFound
    return await _show_list(request, ActivityFilters.of(request.query), request.caller)


async def all_activity(request: AdminRequest) -> Answer:
    return await _show_list(request, EverywhereFilters.of(request.query), request.everywhere)


async def _show_list(request: AdminRequest, filters: ActivityFilters, caller: Caller) -> Answer:
    page = await read_page(request, filters.listing(caller), PER_PAGE)
    if page is None:
        return Redirect(filters.url())
    items, pager = page
    is_everywhere = caller.tenant_id is None
    names = {} if is_everywhere else await staff_names(request)
    title = "Activity everywhere" if is_everywhere else "Activity"
    values = {
        "title": title,
        "filters": filters,
        "rows": [await _row(request, each, names, is_everywhere) for each in items],
        "pager": pager,
        "subjects": options(_sorted({name: noun.capitalize() for name, noun in NOUNS.items()})),
        "accounts": options(_sorted(names)),
        "is_everywhere": is_everywhere,
    }
    return Page("activity/list.html", title, values, fragment="activity/_list.html")


async def _row(
    request: AdminRequest, entry: Record, names: Mapping[str, str], is_everywhere: bool
) -> ActivityRow:
    page = "" if is_everywhere else _PAGES.get(entry["subject"], "")
    return ActivityRow(
        names.get(entry["account_id"]) or entry["email"] or _UNNAMED.get(entry["role"], ""),
        entry["role"],
        _sentence(entry),
        entry["label"],
        f"{page}/{entry['record_id']}" if page and entry["action"] != DELETED else "",
        _details(entry),
        entry["address"],
        await _site(request, entry["tenant_id"]) if is_everywhere else "",
        request.when(entry["created"]),
        entry["created"],
    )


async def _site(request: AdminRequest, tenant_id: str) -> str:
    if not tenant_id:
        return "The service"
    tenant = await request.services.directory.by_id(tenant_id)
    return tenant.name if tenant else "A deleted site"


def _sentence(entry: Record) -> str:
    """The action in words, before the name of the record."""
    if entry["action"] in _EVENTS:
        return _EVENTS[entry["action"]]
    noun = NOUNS.get(entry["subject"], str(entry["subject"]))
    verb = _STATUS.get(entry["status"], str(entry["action"]))
    has_name = entry["label"] or noun == NOUNS["site_settings"]
    article = "the" if has_name else "an" if noun[0] in "aeioA" else "a"
    return f"{verb.capitalize()} {article} {noun}"


def _details(entry: Record) -> str:
    if entry["action"] != CHANGED:
        return ""
    names = msgspec.json.decode(entry["changed"], type=list[str])
    return ", ".join(name.replace("_", " ") for name in names)


def _sorted(labels: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(labels.items(), key=lambda each: each[1].casefold()))
