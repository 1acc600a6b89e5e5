"""Matters that need attention: waiting work, failures and findings. Each count comes from a counter
or from the beginning of an index, so that home is as quick for a site with a million deliveries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import msgspec

from masthead.base import clock
from masthead.base.languages.moments import Day
from masthead.base.languages.retelling import retold
from masthead.base.languages.words import counted, words
from masthead.engine.records.access import access_of
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import all_of, equals, newer
from masthead.faces.admin.environment import number, weekday
from masthead.faces.admin.request import AdminRequest
from masthead.faces.importers.collection import FAILED, PREVIEW, import_runs
from masthead.features.comments.collection import PENDING as WAITING
from masthead.features.comments.collection import comments
from masthead.features.mailings.collection import FAILED as MAILING_FAILED
from masthead.features.mailings.collection import mailings
from masthead.features.payments.reconcile import Report
from masthead.features.posts.collection import posts
from masthead.features.posts.site import READY_LIST
from masthead.features.site.domain_repeat import GRACE
from masthead.features.webhooks.actions import MAX_PER_TENANT
from masthead.features.webhooks.collection import DEAD, webhook_deliveries, webhook_subscriptions

MOST = 100
"""More are not counted."""
LATELY = timedelta(days=7)
"""Earlier failures are no longer shown."""
_TEXT = 140


class ActionLink(msgspec.Struct, frozen=True):
    """The page where something is handled."""

    url: str
    label: str = words("Show")


PLACES: Mapping[str, ActionLink] = {
    "comments": ActionLink("/admin/comments"),
    "domain": ActionLink("/admin/settings/domain"),
    "deliveries": ActionLink("/admin/webhooks?state=dead"),
    "imports": ActionLink("/admin/tools/import"),
    "mailings": ActionLink("/admin/mailings"),
    "payments": ActionLink("/admin/settings/payments"),
    "reviews": ActionLink("/admin/posts?status=ready"),
    "webhooks": ActionLink("/admin/webhooks"),
}
"""Pages by kind of attention: `comments`, `deliveries`, `domain`, `webhooks`, `imports`,
`mailings`, `payments`, `reviews`. Only pages that exist."""


class Attention(msgspec.Struct, frozen=True):
    about: str
    """The kind, which leads to its place."""
    icon: str
    tone: str
    """warn or bad."""
    what: str
    why: str
    at: str
    when: str

    @property
    def place(self) -> ActionLink | None:
        return PLACES.get(self.about)


async def attention(request: AdminRequest) -> list[Attention]:
    """In the order of urgency. Empty of what the caller may not read."""
    webhooks = await _webhooks(request)
    found = [
        await _dead_deliveries(request, webhooks),
        _turned_off(request, webhooks),
        await _failed_mailings(request),
        await _failed_imports(request),
        await _payments(request),
        _domain(request),
        await _waiting_comments(request),
        await _ready_posts(request),
    ]
    return [each for each in found if each is not None]


async def _webhooks(request: AdminRequest) -> list[Record]:
    fields = frozenset({"name", "failure_count", "disabled_at", "paused"})
    return await _some(request, webhook_subscriptions, fields, per_page=MAX_PER_TENANT)


async def _dead_deliveries(request: AdminRequest, webhooks: Sequence[Record]) -> Attention | None:
    fields = frozenset({"webhook_id", "last_status", "updated"})
    dead = await _lately(request, webhook_deliveries, fields, equals("state", DEAD))
    if not dead:
        return None
    what = (
        words("More than %(most)s webhook deliveries died.", most=MOST)
        if len(dead) > MOST
        else counted(
            "%(number)s webhook delivery died.", "%(number)s webhook deliveries died.", len(dead)
        )
    )
    names = {each["id"]: each["name"] for each in webhooks}
    at = max(each["updated"] for each in dead)
    why = _why_dead(dead, names)
    return Attention("deliveries", "circle-x", "bad", what, why, at, request.when(at))


def _why_dead(dead: Sequence[Record], names: Mapping[str, str]) -> str:
    receivers = {each["webhook_id"] for each in dead}
    if len(receivers) > 1:
        return words("%(number)s receivers did not accept them", number=len(receivers))
    receiver = (
        words("“%(name)s”", name=names[name])
        if (name := receivers.pop()) in names
        else words("Its receiver")
    )
    statuses = {each["last_status"] for each in dead if each["last_status"]}
    if len(statuses) == 1:
        status = f"{statuses.pop():.0f}"
        return words(
            "%(receiver)s answered %(status)s until the last attempt",
            receiver=receiver,
            status=status,
        )
    return words("%(receiver)s failed every attempt", receiver=receiver)


def _turned_off(request: AdminRequest, webhooks: Sequence[Record]) -> Attention | None:
    """Webhooks that failures have turned off: those that a person turned off need no attention."""
    off = [each for each in webhooks if each["disabled_at"] and not each["paused"]]
    if not off:
        return None
    what = words("%(number)s webhooks were turned off.", number=len(off))
    why = words("They no longer get events")
    if len(off) == 1:
        what = words("“%(name)s” was turned off.", name=off[0]["name"])
        why = counted(
            "%(number)s failure in a row; it no longer gets events",
            "%(number)s failures in a row; it no longer gets events",
            int(off[0]["failure_count"]),
        )
    at = max(each["disabled_at"] for each in off)
    return Attention("webhooks", "power", "bad", what, why, at, request.when(at))


async def _failed_mailings(request: AdminRequest) -> Attention | None:
    fields = frozenset({"subject", "reason", "updated"})
    failed = await _lately(request, mailings, fields, equals("status", MAILING_FAILED))
    if len(failed) == 1:
        what = words("The mailing “%(subject)s” failed.", subject=_short(failed[0]["subject"]))
    elif len(failed) > MOST:
        what = words("More than %(most)s mailings failed.", most=MOST)
    else:
        what = words("%(number)s mailings failed.", number=len(failed))
    return _failed(request, "mailings", "send", failed, reasons=("reason", "subject"), what=what)


async def _failed_imports(request: AdminRequest) -> Attention | None:
    fields = frozenset({"file_name", "task", "error", "updated"})
    found = await _lately(request, import_runs, fields, equals("state", FAILED))
    # A file that was refused says so where it was uploaded.
    failed = [each for each in found if each["task"] != PREVIEW]
    what = (
        words("More than %(most)s imports failed.", most=MOST)
        if len(failed) > MOST
        else counted("%(number)s import failed.", "%(number)s imports failed.", len(failed))
    )
    return _failed(request, "imports", "import", failed, reasons=("error", "file_name"), what=what)


def _failed(
    request: AdminRequest,
    topic: str,
    icon: str,
    failed: Sequence[Record],
    *,
    reasons: tuple[str, str],
    what: str,
) -> Attention | None:
    """The newest says why: the first of the two fields that is not empty."""
    if not failed:
        return None
    why, at = failed[0][reasons[0]] or failed[0][reasons[1]], failed[0]["updated"]
    when = request.when(at)
    return Attention(topic, icon, "bad", what, _short(retold(why)), at, when)


def _domain(request: AdminRequest) -> Attention | None:
    """For those who can set the record."""
    since = request.site_record.get("domain_missing_since")
    if not since or not request.caller.is_admin:
        return None
    what = words(
        "The TXT record of %(custom_domain)s is missing.",
        custom_domain=request.site_record["custom_domain"],
    )
    ends = request.local(clock.to_text(clock.from_text(since) + GRACE))
    why = words("Without it, the site will leave this domain on %(day)s", day=Day(ends))
    return Attention("domain", "globe", "bad", what, why, since, request.when(since))


async def _payments(request: AdminRequest) -> Attention | None:
    """The findings of the nightly check of payments. The report is for callers who may change
    all."""
    if not request.caller.is_admin:
        return None
    stored = await request.tools.payment_reports.of(request.tenant_id)
    if stored is None or stored[1].is_clean:
        return None
    at, report = stored
    why = words("Found by the check of payments: %(findings)s", findings=_findings(report))
    number = sum(each.count for each in report.kinds().values())
    what = counted(
        "%(number)s payment needs checking.", "%(number)s payments need checking.", number
    )
    return Attention("payments", "credit-card", "warn", what, why, at, request.when(at))


def _findings(report: Report) -> str:
    counts = {name: each.count for name, each in report.kinds().items()}
    found = {
        "members": counted(
            "%(number)s member whose tier differs from their payment",
            "%(number)s members whose tier differs from their payment",
            counts["members"],
        ),
        "orders": counted(
            "%(number)s order without its payment",
            "%(number)s orders without their payment",
            counts["orders"],
        ),
        "subscriptions": counted(
            "%(number)s subscription without a member",
            "%(number)s subscriptions without a member",
            counts["subscriptions"],
        ),
        "events": counted(
            "%(number)s event that was not applied",
            "%(number)s events that were not applied",
            counts["events"],
        ),
    }
    return ", ".join(str(said) for name, said in found.items() if counts[name])


async def _waiting_comments(request: AdminRequest) -> Attention | None:
    if not _may_read(request, comments):
        return None
    waiting = await request.records.counts.total(request.caller, comments, f"status = '{WAITING}'")
    if not waiting:
        return None
    found = await request.first(
        comments, 1, filter=equals("status", WAITING), sort="created", names=frozenset({"created"})
    )
    at = found[0]["created"] if found else clock.to_text(request.now)
    moment = request.local(at)
    what = counted(
        "A comment is waiting for approval.",
        "%(count)s comments are waiting for approval.",
        waiting,
        count=number(waiting),
    )
    why = (
        words("It has been waiting since %(day)s", day=weekday(moment))
        if waiting == 1
        else words("The oldest has been waiting since %(day)s", day=weekday(moment))
    )
    return Attention("comments", "message-square", "warn", what, why, at, request.when(at))


async def _ready_posts(request: AdminRequest) -> Attention | None:
    """For those who can publish them."""
    if request.caller.is_writer:
        return None
    # The one that became ready last is the first.
    found = await request.first(
        posts, MOST + 1, listing=(READY_LIST, ""), names=frozenset({"title", "review_at"})
    )
    if not found:
        return None
    newest = _short(found[0]["title"])
    what = words("“%(title)s” is ready for review.", title=newest)
    why = words("Publish it, or send it back with a note")
    if len(found) > 1:
        what = words("%(number)s posts are ready for review.", number=len(found))
        if len(found) > MOST:
            what = words("More than %(most)s posts are ready for review.", most=MOST)
        why = words("The last one is “%(title)s”", title=newest)
    at = found[0]["review_at"]
    return Attention("reviews", "file-text", "warn", what, why, at, request.when(at))


async def _lately(
    request: AdminRequest, collection: Collection, fields: frozenset[str], wanted: Expression
) -> list[Record]:
    since = newer("created", clock.to_text(request.now - LATELY))
    return await _some(request, collection, fields, wanted, since)


async def _some(
    request: AdminRequest,
    collection: Collection,
    fields: frozenset[str],
    *wanted: Expression,
    per_page: int = MOST + 1,
) -> list[Record]:
    """The newest; none where the caller may not read the collection."""
    if not _may_read(request, collection):
        return []
    return await request.first(collection, per_page, filter=all_of(wanted) or "", names=fields)


def _may_read(request: AdminRequest, collection: Collection) -> bool:
    return collection.rules_for(access_of(request.caller)).read is not None


def _short(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT].rstrip()}…"
