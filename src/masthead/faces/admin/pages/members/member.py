"""One member: history, orders, and what an owner may change."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec.structs import replace

from masthead.base import clock
from masthead.base.languages.moments import Day
from masthead.base.languages.retelling import retold
from masthead.base.languages.translators import spoken_now
from masthead.base.languages.words import marked, words, words_in
from masthead.engine.records.access import access_of
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.filter.conditions import equals
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import clock_time, items_of, short_day
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.languages import language_choices
from masthead.faces.admin.levels import level_names
from masthead.faces.admin.pages.comments.listing import by_id, short
from masthead.faces.admin.pages.members.access import LABELS as ACCESS_LABELS
from masthead.faces.admin.pages.members.access import access_values
from masthead.faces.admin.pages.members.listing import (
    ADDRESS,
    LABELS_HELP,
    STATES,
    STATUSES,
    TIERS,
    may_change,
)
from masthead.faces.admin.pages.members.privacy import requests_of
from masthead.faces.admin.pages.members.stopped import STOPPED
from masthead.faces.admin.pages.shop import STATES as ORDERS
from masthead.faces.admin.people import staff_names
from masthead.faces.admin.request import AdminRequest
from masthead.faces.reader.prices import price_text
from masthead.features.comments.collection import comments
from masthead.features.commerce.collection import orders
from masthead.features.mailings.collection import WELCOME
from masthead.features.mailings.recipients import Fate
from masthead.features.members.collection import (
    FAILED,
    MAIL_OK,
    SENT,
    WAITING,
    blog_members,
    member_history,
    member_mails,
)
from masthead.features.members.record_view import MemberRecord, as_member
from masthead.features.posts.collection import posts
from masthead.outside.mail.outbox import RETENTION
from masthead.outside.mail.wording import where_stored

_ASKS = (
    Ask("name", words("Name")),
    Ask("tier", words("Tier"), choices=TIERS),
    Ask("tier_id", words("Which paid tier"), words("The next report of a payment sets it, too.")),
    Ask("status", words("Status"), choices=STATUSES),
    Ask("newsletter", words("Newsletter"), words("Off: no newsletter at all.")),
    Ask("labels", words("Labels"), LABELS_HELP),
    Ask(
        "language",
        words("Language"),
        words("Of emails to the member and the pages of the account."),
    ),
    Ask(
        "note",
        words("Note"),
        words("Only staff see this. An export of the person's data includes it."),
        rows=3,
    ),
)
NEWEST = 20
"""The most entries of each kind."""
KINDS = {
    "": words("Everything"),
    "changes": words("Changes"),
    "orders": words("Orders"),
    "comments": words("Comments"),
    "mails": words("Emails"),
}
_QUOTED = 160
_CHANGES = {
    "tier": marked("Changed from %(was)s to %(now)s"),
    "status": marked("Became %(now)s, was %(was)s"),
    "newsletter": marked("Turned the newsletter %(now)s"),
    "email": marked("The email address changed"),
    "name": marked("The name changed"),
    "labels": marked("The labels changed"),
    "note": marked("The note changed"),
}
_ICONS = {
    "tier": "credit-card",
    "status": "info",
    "newsletter": "mail",
    "email": "user",
    "name": "user",
    "labels": "tag",
    "note": "file-text",
}
_BY = {
    "member": words("by the member"),
    "key": words("by an API key"),
    "operator": words("by an operator"),
}
_FORMER = words("by a former member of the staff")
MAIL_WORDS = {
    "already_member": words("a sign-in link, after signing up again"),
    "comment_answered": words("a reply to a comment"),
    "comment_posted": words("a comment on one of their posts"),
    "confirm_email": words("a link to confirm a new address"),
    "confirm_sign_up": words("a link to confirm the sign-up"),
    "email_changed": words("that the address was changed"),
    "email_in_use": words("that the address is in use"),
    "factors_changed": words("that second factors have changed"),
    "new_browser": words("that a new browser has signed in"),
    "invitation": words("an invitation to the staff"),
    "mailing_failed": words("that a mailing failed"),
    "mailing_paused": words("that a mailing was paused"),
    "newsletter_test": words("a test of a newsletter"),
    "gift_bought": words("the code of a gift to hand over"),
    "gift_given": words("the code of a gift"),
    "post_ready": words("that a draft is ready for review"),
    "post_sent_back": words("that a draft was sent back"),
    "privacy_deletion": words("that an erasure is scheduled"),
    "privacy_export_ready": words("a link to an export of the data"),
    "privacy_receipt": words("the receipt of an erasure"),
    "reset_password": words("a link for a new password"),
    "sign_in": words("a sign-in link"),
    "domain_unproven": words("that the site's domain lacks its proof"),
    "site_export": words("the result of an export of the site"),
    "site_suspended": words("that the site was suspended"),
    "staff_code": words("a code for signing in"),
    "test_mail": words("a test email"),
    "verify_email": words("a link to confirm the address"),
    "webhook_disabled": words("that a webhook was turned off"),
    "welcome_email_test": words("a test of a welcome email"),
    "welcome_paid": words("a welcome as a paid member"),
}
"""Words for emails, by template."""
_OUTCOMES = {
    WAITING: words("waiting to be sent"),
    SENT: words("sent"),
    FAILED: words("could not be delivered"),
}
_STORED = {
    **_OUTCOMES,
    WAITING: words("waiting to be written"),
    SENT: words("written to a file, not sent"),
}
"""Without a mail server."""
_FATES = {
    Fate.WAITING: words("waiting to be sent"),
    Fate.SENT: words("sent"),
    Fate.FAILED: words("refused by the mail server"),
    Fate.UNCERTAIN: words("may or may not have been sent"),
    Fate.BOUNCED: words("bounced"),
    Fate.COMPLAINED: words("reported as spam"),
    Fate.UNSUBSCRIBED: words("not sent: unsubscribed before"),
}
_VALUES = {
    "past_due": words("past due"),
    "active": words("active"),
    "cancelled": words("cancelled"),
    "free": words("free"),
    "paid": words("paid"),
    "on": words_in("newsletter", "on"),
    "off": words_in("newsletter", "off"),
}


class Entry(msgspec.Struct, frozen=True):
    """Something that has happened."""

    at: str
    when: str
    icon: str
    text: str
    link: str = ""
    linked: str = ""
    quote: str = ""
    note: str = ""
    """The person who did it, or its outcome."""


async def _form(request: AdminRequest, member: Record) -> Form:
    """With the tiers and the languages of the site, if it has any."""
    names = await level_names(request)
    choices = {
        "tier_id": {"": words("None"), **names} if names else {},
        "language": language_choices(request, member["language"]),
    }
    asks = (replace(each, choices=choices.get(each.name, each.choices)) for each in _ASKS)
    return Form(
        blog_members, tuple(each for each in asks if each.choices or each.name not in choices)
    )


async def save_member(request: AdminRequest, member_id: str) -> Answer:
    member = await request.records.require(
        blog_members, {"id": member_id}, tenant_id=request.tenant_id
    )
    given = (await _form(request, member)).given(request)
    if given.get("tier") == "free":
        # The page hides the choice then.
        given.pop("tier_id", None)
    await request.records.update(request.caller, blog_members, member_id, given)
    return Redirect(f"{ADDRESS}/{member_id}", words("Saved."))


async def sign_out(request: AdminRequest, member_id: str) -> Answer:
    """Everywhere, for example when a device is lost."""
    await request.records.get(request.caller, blog_members, member_id)
    member = await request.records.require(
        blog_members, {"id": member_id}, tenant_id=request.tenant_id
    )
    sign_ins = request.services.accounts.sign_ins
    await sign_ins.end_all(blog_members, member, by=request.caller)
    return Redirect(f"{ADDRESS}/{member_id}", words("The member is signed out everywhere."))


def _stopped(request: AdminRequest, member: MemberRecord) -> dict[str, str] | None:
    """Why no newsletter goes to the address."""
    if member["mail_state"] == MAIL_OK:
        return None
    when = request.when(member["mail_state_at"]) if member["mail_state_at"] else ""
    return {
        "why": STOPPED[member["mail_state"]],
        "words": retold(member["mail_state_reason"]),
        "at": when,
    }


async def member_page(request: AdminRequest, member_id: str) -> Answer:
    member = as_member(await request.records.get(request.caller, blog_members, member_id))
    kind = request.query.get("kind", "")
    kind = kind if kind in KINDS else ""
    bought = await _of_member(request, orders, member_id)
    since = request.local(member["created"])
    badge, said = STATES[member["status"]]
    names = await level_names(request)
    tier = names.get(member["tier_id"]) or TIERS[member["tier"]]
    values = {
        "member": member,
        "labels": items_of(member["labels"]),
        "badge_of": (badge, f"{tier}, {said}"),
        "since": words("Member since %(day)s", day=Day(since)),
        "initials": _initials(member),
        "stopped": _stopped(request, member),
        "agreed": _agreed(request, member),
        "history": await _history(request, member, bought, kind),
        "kinds": KINDS,
        "kind": kind,
        "orders": [each | {"what": _what(each)} for each in bought],
        "order_badges": ORDERS,
        **(await _form(request, member)).values(request, member, labels=ACCESS_LABELS),
        **access_values(request, member, names),
        "may_change": may_change(request),
        "requests": await requests_of(request, member_id) if may_change(request) else [],
        "back": ADDRESS,
    }
    title = member["name"] or member["email"]
    return Page("members/member.html", title, values)


def _agreed(request: AdminRequest, member: MemberRecord) -> dict[str, str]:
    """How the member agreed to get newsletters; empty where nothing is known of it."""
    if not member["consent_source"]:
        return {}
    return {
        "source": member["consent_source"],
        "when": request.when(member["consent_at"]) if member["consent_at"] else "",
        "form": member["consent_form"],
    }


def _initials(member: MemberRecord) -> str:
    names = (member["name"] or member["email"]).partition("@")[0].replace(".", " ").split()
    return "".join(each[0] for each in names[:2]).upper()


async def _of_member(request: AdminRequest, collection: Collection, member_id: str) -> list[Record]:
    """The newest; none where the caller may not read the collection."""
    if collection.rules_for(access_of(request.caller)).read is None:
        return []
    return await request.first(
        collection, NEWEST, filter=equals("member_id", member_id), sort="-created"
    )


async def _history(
    request: AdminRequest, member: MemberRecord, bought: list[Record], kind: str
) -> list[Entry]:
    found: list[Entry] = []
    if kind in ("", "comments"):
        found += await _comments(request, member["id"])
    if kind in ("", "orders"):
        found += [_bought(request, each) for each in bought]
    if kind in ("", "mails"):
        mails = await _of_member(request, member_mails, member["id"])
        found += [_mailed(request, each) for each in mails]
        found += await _newsletters(request, member["id"])
    if kind in ("", "changes"):
        changes = await _of_member(request, member_history, member["id"])
        names = await staff_names(request) if any(each["account_id"] for each in changes) else {}
        found += [_changed(request, each, names) for each in changes]
        found.append(_entry(request, member["created"], "user", words("Joined")))
    return sorted(found, key=lambda each: each.at, reverse=True)


async def _comments(request: AdminRequest, member_id: str) -> list[Entry]:
    written = await _of_member(request, comments, member_id)
    on = await by_id(request, posts, [each["post_id"] for each in written], "title")
    titles = {each["id"]: each["title"] for each in on}
    return [
        Entry(
            each["created"],
            _when(request, each["created"]),
            "message-square",
            words("Commented on"),
            f"/admin/comments/{each['id']}",
            titles.get(each["post_id"], ""),
            short(each["body"], _QUOTED),
        )
        for each in written
    ]


def _bought(request: AdminRequest, order: Record) -> Entry:
    price = price_text(int(order["total"]), order["currency"], spoken_now().spoken)
    _, status = ORDERS[order["status"]]
    text = words("Ordered for %(price)s: %(status)s", price=price, status=status)
    return _entry(request, order["created"], "shopping-bag", text)


def _mailed(request: AdminRequest, mail: Record) -> Entry:
    what = MAIL_WORDS.get(mail["template"], words("an email"))
    state = FAILED if _is_lost(request, mail) else mail["state"]
    outcomes = _STORED if where_stored(request.services.settings) else _OUTCOMES
    return _entry(
        request,
        mail["created"],
        "send",
        words("Email: %(what)s", what=what),
        note=outcomes.get(state, ""),
    )


async def _newsletters(request: AdminRequest, member_id: str) -> list[Entry]:
    recipients = request.services.mailings.recipients
    return [
        Entry(
            each.at,
            _when(request, each.at),
            "send",
            words("Welcome email:") if each.kind == WELCOME else words("Newsletter:"),
            f"/admin/mailings/{each.mailing_id}" if may_change(request) else "",
            each.subject,
            retold(each.reply),
            _FATES[each.fate],
        )
        for each in await recipients.of_member(request.tenant_id, member_id, NEWEST)
    ]


def _is_lost(request: AdminRequest, mail: Record) -> bool:
    """Whether its job has ended without a word of it: the mail itself is deleted by now."""
    swept = clock.to_text(request.records.clock() - RETENTION)
    return bool(mail["state"] == WAITING and mail["created"] < swept)


def _changed(request: AdminRequest, change: Record, names: Mapping[str, str]) -> Entry:
    values = {name: _VALUES.get(change[name], change[name]) for name in ("was", "now")}
    text = words(_CHANGES[change["what"]], **values)
    return _entry(request, change["created"], _ICONS[change["what"]], text, note=_by(change, names))


def _by(change: Record, names: Mapping[str, str]) -> str:
    """Nothing for the service itself: payments, imports, links in mails."""
    if known := _BY.get(change["changed_by"]):
        return known
    if not change["account_id"]:
        return ""
    name = names.get(change["account_id"])
    return words("by %(name)s", name=name) if name else _FORMER


def _entry(request: AdminRequest, at: str, icon: str, text: str, *, note: str = "") -> Entry:
    return Entry(at, _when(request, at), icon, text, note=note)


def _when(request: AdminRequest, at: str) -> str:
    moment: datetime = request.local(at)
    if moment.date() == request.now.date():
        return words("Today %(time)s", time=f"{moment:%H:%M}")
    if moment.year == request.now.year:
        return f"{short_day(moment)} {moment:%H:%M}"
    return clock_time(moment).partition(",")[0]


def _what(order: Record) -> str:
    found = [each for each in items_of(order["items"]) if isinstance(each, dict)]
    names = [str(each.get("name") or each.get("description") or "") for each in found]
    return ", ".join(each for each in names if each) or "–"
