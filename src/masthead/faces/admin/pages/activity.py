"""The audit log: of a site for its owners, of all sites for operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from masthead.base.caller import Kind
from masthead.base.languages.retelling import retold
from masthead.base.languages.words import words, words_in
from masthead.engine.audit.collection import (
    ADDED_FACTOR,
    CANCELLED_DELETION,
    CANCELLED_ERASURE,
    CHANGED,
    CONNECTED,
    CREATED,
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
    RESTORED,
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
    "posts": words("Post"),
    "draft_links": words("Share link"),
    "snippets": words("Snippet"),
    "pages": words("Page"),
    "media": words("File"),
    "comments": words("Comment"),
    "blog_members": words("Member"),
    "_superusers": words("Account"),
    "site_settings": words("Settings"),
    "api_keys": words("API key"),
    "webhook_subscriptions": words("Webhook"),
    "tiers": words("Tier"),
    "offers": words("Offer"),
    "products": words("Product"),
    "orders": words("Order"),
    "gift_cards": words("Gift card"),
    "categories": words("Category"),
    "redirects": words("Redirect"),
    "import_runs": words("Import"),
    "site_exports": words("Export"),
    "member_imports": words("Member import"),
    "gdpr_requests": words("Data protection request"),
    "tenants": words("Site"),
    "tags": words("Tag"),
    "tag_changes": words("Tag change"),
    "newsletters": words("Newsletter"),
    "welcome_emails": words("Welcome email"),
    "sending_domains": words("Sending domain"),
    "mailings": words("Mailing"),
    "trash": words("Item in the trash"),
    "sign_in_providers": words("Sign-in provider"),
}
"""Nouns for the collections that the log covers."""
_OBJECTS = {
    "posts": (words("a post"), words("the post")),
    "draft_links": (words("a share link"), words("the share link")),
    "snippets": (words("a snippet"), words("the snippet")),
    "pages": (words("a page"), words("the page")),
    "media": (words("a file"), words("the file")),
    "comments": (words("a comment"), words("the comment")),
    "blog_members": (words("a member"), words("the member")),
    "_superusers": (words("an account"), words("the account")),
    "site_settings": (words("the settings"), words("the settings")),
    "api_keys": (words("an API key"), words("the API key")),
    "webhook_subscriptions": (words("a webhook"), words("the webhook")),
    "tiers": (words("a tier"), words("the tier")),
    "offers": (words("an offer"), words("the offer")),
    "products": (words("a product"), words("the product")),
    "orders": (words("an order"), words("the order")),
    "gift_cards": (words("a gift card"), words("the gift card")),
    "categories": (words("a category"), words("the category")),
    "redirects": (words("a redirect"), words("the redirect")),
    "import_runs": (words("an import"), words("the import")),
    "site_exports": (words("an export"), words("the export")),
    "member_imports": (words("a member import"), words("the member import")),
    "gdpr_requests": (words("a data protection request"), words("the data protection request")),
    "tenants": (words("a site"), words("the site")),
    "tags": (words("a tag"), words("the tag")),
    "tag_changes": (words("a tag change"), words("the tag change")),
    "newsletters": (words("a newsletter"), words("the newsletter")),
    "welcome_emails": (words("a welcome email"), words("the welcome email")),
    "sending_domains": (words("a sending domain"), words("the sending domain")),
    "mailings": (words("a mailing"), words("the mailing")),
    "trash": (words("an item in the trash"), words("the item in the trash")),
    "sign_in_providers": (words("a sign-in provider"), words("the sign-in provider")),
}
"""Phrases for one of them, and for the one whose name follows."""
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
    SIGNED_IN: words("Signed in"),
    OPENED: words("Opened this site as an operator"),
    IMPERSONATED: words("Signed in as another account:"),
    EXPORTED: words("Exported a member’s data"),
    DOWNLOADED_EXPORT: words("Downloaded a member’s data"),
    PLANNED_ERASURE: words("Scheduled the erasure of a member"),
    CANCELLED_ERASURE: words("Cancelled the erasure of a member"),
    DOWNLOADED_MEMBERS: words("Downloaded the member list"),
    EXPORTED_SITE: words("Requested an export of the site"),
    DOWNLOADED_SITE: words("Downloaded an export of the site"),
    PLANNED_DELETION: words("Scheduled the deletion of the site"),
    CANCELLED_DELETION: words("Cancelled the deletion of the site"),
    EMPTIED_TRASH: words("Emptied the trash"),
    RETRIED_JOB: words("Ran a failed job again:"),
    ADDED_FACTOR: words("Added a second factor:"),
    REMOVED_FACTOR: words("Removed a second factor:"),
    MADE_RECOVERY_CODES: words("Made new recovery codes"),
    RESET_FACTORS: words("Reset the second factors of"),
    CONNECTED: words("Connected a sign-in provider:"),
    DISCONNECTED: words("Disconnected a sign-in provider:"),
    ENDED_SIGN_INS: words("Signed out everywhere:"),
    FAILED_SIGN_IN: words("Failed to sign in: wrong"),
    DISCARDED_JOB: words("Discarded failed work:"),
    REPLAYED_EVENTS: words("Sent events again to"),
}
"""Sentences for actions that change no record."""
_UNNAMED: dict[str, str] = {Kind.SHELL: words("The command line")}
"""Who has no account, by role."""
_STATUS = {
    "published": words("Published"),
    "draft": words("Unpublished"),
    "approved": words("Approved"),
    "spam": words("Marked as spam"),
    "queued": words("Started"),
    "preview": words("Previewed"),
    "import": words("Started"),
    "pictures": words("Retried the pictures of"),
    "undo": words("Undid"),
    "suspended": words("Suspended"),
    "active": words("Reopened"),
}


_ACTIONS = {
    CREATED: words("Created"),
    CHANGED: words("Changed"),
    DELETED: words("Deleted"),
    RESTORED: words("Restored"),
}


class ActivityList(ListPage, frozen=True):
    address = "/admin/activity"
    title = words("Activity")
    back = (words("Settings"), "/admin/settings")
    about = words(
        "What staff and operators did in the last 400 days. Changes by API keys are not listed."
    )
    collection = audit_log
    template = "activity/_list.html"
    empty = (words("Nothing yet"), words("Changes that staff make appear here."))
    per_page = PER_PAGE
    picks = (Pick("subject", words("What"), words("Everything"), NOUNS),)

    subject: str = ""
    account: str = ""

    def conditions(self, request: AdminRequest) -> list[Expression]:
        accounts = [equals("account_id", self.account)] if self.account else []
        return [*accounts, *super().conditions(request)]

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        names = await staff_names(request)
        who = Pick("account", words("Who"), words("Anyone"), sorted_words(names))
        return {
            **_values(items, names),
            "picks": (*_sorted_picks(), who) if len(names) > 1 else _sorted_picks(),
            "sites": None,
            "pages": _PAGES,
        }


class ActivityEverywhere(ActivityList, frozen=True):
    address = "/admin/operator/activity"
    title = words("Activity everywhere")
    back = ("", "")

    def listing(self, request: AdminRequest) -> Listing:
        return replace(super().listing(request), caller=request.everywhere)

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        sites = {each: await _site(request, each) for each in {row["tenant_id"] for row in items}}
        return {**_values(items, {}), "picks": _sorted_picks(), "sites": sites, "pages": {}}


def _sorted_picks() -> tuple[Pick, ...]:
    """In the language of whoever reads it."""
    return tuple(replace(each, options=sorted_words(each.options)) for each in ActivityList.picks)


def _values(items: Sequence[Record], names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "rows": [
            each
            | {
                "who": names.get(each["account_id"])
                or each["email"]
                or _UNNAMED.get(each["role"], ""),
                "sentence": _sentence(each),
                "label": _label(each),
                "details": _details(each),
                "is_gone": each["action"] == DELETED,
            }
            for each in items
        ]
    }


async def _site(request: AdminRequest, tenant_id: str) -> str:
    if not tenant_id:
        return words("The service")
    tenant = await request.services.directory.by_id(tenant_id)
    return tenant.name if tenant else words("A deleted site")


_PROOFS = {
    "code": words_in("proof", "code"),
    "passkey": words_in("proof", "passkey"),
    "password": words_in("proof", "password"),
}
_FIELDS = {
    "accent_color": words("Colour"),
    "access_until": words("Access until"),
    "active": words("On sale"),
    "ai_api_key": words("AI"),
    "ai_base_url": words("AI"),
    "ai_daily_tokens": words("AI"),
    "ai_for": words("AI"),
    "ai_model": words("AI"),
    "ai_per_day": words("AI"),
    "ai_per_minute": words("AI"),
    "ai_provider": words("AI"),
    "alt": words("Alt text"),
    "amount": words("Amount"),
    "announcement": words("Announcement"),
    "author_email": words("Email address"),
    "author_name": words("Name"),
    "authors": words("Authors"),
    "benefits": words("What a member gets"),
    "bio": words("About"),
    "body": words("Text"),
    "buyer_email": words("Email address of the buyer"),
    "caption": words("Caption"),
    "code": words("Code"),
    "comment_mails_off": words("Emails about comments"),
    "comments_by": words("Who can comment"),
    "comments_enabled": words("Comments"),
    "comments_moderation": words("Comments"),
    "content_clean": words("Text"),
    "content_html": words("Text"),
    "content_json": words("Text"),
    "count_clicks": words("Counting"),
    "count_opens": words("Counting"),
    "count_views": words("Counting"),
    "crawlers": words("Crawlers"),
    "currency": words("Currency"),
    "custom_domain": words("Domain"),
    "default_role": words("Role"),
    "description": words("Description"),
    "destination": words("Destination"),
    "digest": words("Digest"),
    "digest_hour": words("Digest"),
    "digest_weekday": words("Digest"),
    "domains": words("Domains"),
    "dry_run": words("Progress"),
    "editors_send_mailings": words("Who sends mailings"),
    "email": words("Email address"),
    "email_only": words("Only by email"),
    "enabled": words("Switched on"),
    "ends_at": words("End"),
    "error": words("Progress"),
    "events": words("Events"),
    "excerpt": words("Excerpt"),
    "expires_at": words("End"),
    "featured_image": words("Picture"),
    "file": words("File"),
    "filter": words("Filter"),
    "finished_at": words("Progress"),
    "focus_x": words("Focus"),
    "focus_y": words("Focus"),
    "fonts": words("Fonts"),
    "foot_html": words("Code"),
    "footer": words("Text at the end of every email"),
    "footer_links": words("Links at the end of every page"),
    "footer_text": words("Text at the end of every page"),
    "head_html": words("Code"),
    "header_image": words("Picture"),
    "headers": words("Headers"),
    "home_layout": words("Layout"),
    "interval": words("Interval"),
    "is_on": words("Switched on"),
    "kind": words("Kind"),
    "labels": words("Labels"),
    "language": words("Language"),
    "languages": words("Other languages"),
    "mail_state": words("Newsletter"),
    "mails_per_month": words("Limits"),
    "max_uses": words("How often it can be used"),
    "member_payment_secret_key": words("Payments"),
    "member_payment_webhook_secret": words("Payments"),
    "members_enabled": words("Members"),
    "months": words("Months"),
    "name": words("Name"),
    "navigation": words("Navigation"),
    "newsletter": words("Newsletter"),
    "newsletters_off": words("Newsletter"),
    "note": words("Note"),
    "options": words("Progress"),
    "owner_id": words("Owner"),
    "password_hash": words("Password"),
    "payment_price_id": words("Payments"),
    "payment_product_id": words("Payments"),
    "payment_url": words("Payments"),
    "per_day": words("Limits"),
    "per_hour": words("Limits"),
    "per_minute": words("Limits"),
    "picture": words("Picture"),
    "plan": words("Plan"),
    "position": words("Position"),
    "price": words("Price"),
    "private": words("Who can open it"),
    "published_at": words("Published"),
    "redeemed": words("Redeemed"),
    "related_posts": words("Related posts"),
    "reply_to": words("Replies go to"),
    "report": words("Progress"),
    "require_second_factor": words("Second factor"),
    "review": words("Review"),
    "review_at": words("Review"),
    "review_by": words("Review"),
    "review_note": words("Review"),
    "revoked_at": words("Revoked"),
    "role": words("Role"),
    "scheduled_for": words("Time of publication"),
    "scopes": words("Scopes"),
    "second_step": words("Second factor"),
    "send_on": words("Day of sending"),
    "sender_name": words("Sender’s name"),
    "seo_description": words("Description for search engines"),
    "seo_title": words("Title for search engines"),
    "site_description": words("Description"),
    "site_favicon": words("Icon"),
    "site_logo": words("Logo"),
    "site_logo_dark": words("Logo"),
    "site_name": words("Name"),
    "slug": words("Address"),
    "social": words("Profiles elsewhere"),
    "source": words("Old address"),
    "started_at": words("Progress"),
    "state": words("Progress"),
    "status": words("Status"),
    "status_code": words("Kind"),
    "subject": words("Subject"),
    "suspended_at": words("Suspended"),
    "suspension_reason": words("Reason"),
    "tag": words("Tag"),
    "tags": words("Tags"),
    "task": words("Progress"),
    "text": words("Text"),
    "theme": words("Theme"),
    "tier": words("Tier"),
    "tier_id": words("Tier"),
    "tiers": words("Tiers"),
    "time_zone": words("Time zone"),
    "title": words("Title"),
    "total": words("Price"),
    "translations": words("Translations"),
    "url": words("Address"),
    "value": words("Amount"),
    "visibility": words("Who can read it"),
    "voided_at": words("Cancelled"),
    "wanted_domain": words("Domain"),
    "welcome": words("Welcome text"),
    "width": words("Width"),
    "check_at": words("Check of the records"),
    "checked_at": words("Check of the records"),
    "problem": words("Check of the records"),
}
"""Those that the pages of the admin show. Others keep the name that the API has."""


def _sentence(entry: Record) -> str:
    """The action in words, before the name of the record."""
    if entry["action"] in _EVENTS:
        return _EVENTS[entry["action"]]
    subject, action = str(entry["subject"]), str(entry["action"])
    one, named = _OBJECTS.get(subject, (subject, subject))
    verb = _STATUS.get(entry["status"]) or _ACTIONS.get(action, action)
    return words("%(verb)s %(what)s", verb=verb, what=named if entry["label"] else one)


def _label(entry: Record) -> str:
    """The name of the record, which is its own; what was wrong, or a factor, is words of ours."""
    action, label = entry["action"], str(entry["label"])
    if action == FAILED_SIGN_IN:
        return _PROOFS.get(label, label)
    return retold(label) if action in (ADDED_FACTOR, REMOVED_FACTOR) else label


def _details(entry: Record) -> list[tuple[str, bool]]:
    """The fields that were changed: their words, or their names in the API."""
    if entry["action"] != CHANGED:
        return []
    names = msgspec.json.decode(entry["changed"], type=list[str])
    # Some words stand for several fields.
    return list({str(_FIELDS.get(name, name)): name not in _FIELDS for name in names}.items())
