"""The audit log: of a site for its owners, of all sites for operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from masthead.base.caller import Kind
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
    ENDED_SIGN_INS,
    EXPORTED,
    EXPORTED_SITE,
    FAILED_SIGN_IN,
    IMPERSONATED,
    MADE_RECOVERY_CODES,
    OPENED,
    PLANNED_DELETION,
    PLANNED_ERASURE,
    REMOVED_FACTOR,
    REPLAYED_EVENTS,
    RESET_FACTORS,
    RETRIED_JOB,
    SIGNED_IN,
    audit_log,
)
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import equals
from masthead.faces.admin.lists import Listing, ListPage, Pick, sorted_words
from masthead.faces.admin.people import staff_names
from masthead.faces.admin.request import AdminRequest

PER_PAGE = 50

NOUNS = {
    "posts": "post",
    "draft_links": "share link",
    "snippets": "snippet",
    "pages": "page",
    "media": "file",
    "comments": "comment",
    "blog_members": "member",
    "_superusers": "account",
    "site_settings": "settings",
    "api_keys": "API key",
    "webhook_subscriptions": "webhook",
    "tiers": "tier",
    "offers": "offer",
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
    "tags": "tag",
    "tag_changes": "tag change",
    "newsletters": "newsletter",
    "welcome_emails": "welcome email",
    "sending_domains": "sending domain",
    "mailings": "mailing",
    "trash": "item in the trash",
    "sign_in_providers": "sign-in provider",
}
"""Nouns for the collections that the log covers."""
_SUBJECTS = sorted_words({name: noun.capitalize() for name, noun in NOUNS.items()})
_PAGES = {
    "posts": "/admin/posts",
    "snippets": "/admin/snippets",
    "_superusers": "/admin/staff",
    "offers": "/admin/shop/offers",
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
    ENDED_SIGN_INS: "Signed out everywhere:",
    FAILED_SIGN_IN: "Failed to sign in: wrong",
    DISCARDED_JOB: "Discarded failed work:",
    REPLAYED_EVENTS: "Sent events again to",
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


class ActivityList(ListPage, frozen=True):
    address = "/admin/activity"
    title = "Activity"
    back = ("Settings", "/admin/settings")
    about = "What staff and operators did in the last 400 days. Changes by API keys are not listed."
    collection = audit_log
    template = "activity/_list.html"
    empty = ("Nothing yet", "Changes that staff make appear here.")
    per_page = PER_PAGE
    picks = (Pick("subject", "What", "Everything", _SUBJECTS),)

    subject: str = ""
    account: str = ""

    def conditions(self, request: AdminRequest) -> list[Expression]:
        accounts = [equals("account_id", self.account)] if self.account else []
        return [*accounts, *super().conditions(request)]

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        names = await staff_names(request)
        who = Pick("account", "Who", "Anyone", sorted_words(names))
        return {
            **_values(items, names),
            "picks": (*self.picks, who) if len(names) > 1 else self.picks,
            "sites": None,
            "pages": _PAGES,
        }


class ActivityEverywhere(ActivityList, frozen=True):
    address = "/admin/operator/activity"
    title = "Activity everywhere"
    back = ("", "")

    def listing(self, request: AdminRequest) -> Listing:
        return replace(super().listing(request), caller=request.everywhere)

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        sites = {each: await _site(request, each) for each in {row["tenant_id"] for row in items}}
        return {**_values(items, {}), "sites": sites, "pages": {}}


def _values(items: Sequence[Record], names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "rows": [
            each
            | {
                "who": names.get(each["account_id"])
                or each["email"]
                or _UNNAMED.get(each["role"], ""),
                "sentence": _sentence(each),
                "details": _details(each),
                "is_gone": each["action"] == DELETED,
            }
            for each in items
        ]
    }


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
