"""The first page: what needs attention, what is being written, what comes next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from masthead import clock
from masthead.admin.endpoint import Answer, Shown
from masthead.admin.pages.posts import SCHEDULED, PostFilters
from masthead.admin.request import AdminRequest
from masthead.admin.sections import POSTS, READERS
from masthead.caller import Caller, Kind
from masthead.comments.collection import comments
from masthead.importers.collection import FAILED, import_runs
from masthead.posts.collection import posts
from masthead.posts.site import AUTHOR_LIST, PUBLISHED_LIST
from masthead.records.collection import Collection, Record
from masthead.records.engine import ListRequest
from masthead.records.filter.ast import Comparison, Expression, Identifier, Literal, Macro
from masthead.records.filter.conditions import all_of, equals, newer
from masthead.records.read.query import access_of
from masthead.webhooks.collection import DEAD, webhook_deliveries, webhook_subscriptions

DRAFTS = 4
SOON = 4
LATEST = 3
LATELY = timedelta(days=7)
"""What failed earlier is no news any more."""
_TEXT = 160
_DUE = Comparison(Identifier(("published_at",)), "<=", Macro("@now"))
_IS_OFF = Comparison(Identifier(("disabled_at",)), "!=", Literal(""))
_FIELDS = frozenset(
    {
        *("title", "status", "visibility", "published_at", "scheduled_for"),
        *("updated", "created", "excerpt", "summary"),
    }
)


@dataclass(frozen=True, slots=True)
class Attention:
    icon: str
    kind: str
    """warn or bad."""
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Writing:
    title: str
    url: str
    changed: str
    changed_at: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Coming:
    title: str
    url: str
    at: str
    day: str
    hour: str
    readers: str


async def home(request: AdminRequest) -> Answer:
    values = {
        "greeting": _greeting(request),
        "today": f"{request.now:%A} {request.now.day} {request.now:%B}",
        "attention": await _attention(request),
        "drafts": [_writing(request, each) for each in await _drafts(request)],
        "soon": [_coming(request, each) for each in await _scheduled(request)],
        "published": [_published(request, each) for each in await _latest(request)],
    }
    return Shown("home.html", "Home", values)


async def _drafts(request: AdminRequest) -> list[Record]:
    wanted = PostFilters(status="draft").condition(request.caller)
    # An author's are read from the index of authors, which has the order of creation.
    sort = "" if request.caller.kind is Kind.AUTHOR else "-updated"
    return await _posts(request, ListRequest(per_page=DRAFTS, filter=wanted, sort=sort))


async def _scheduled(request: AdminRequest) -> list[Record]:
    listing = PostFilters(status=SCHEDULED).listing(request.caller, _FIELDS)
    return await _posts(request, replace(listing.wanted, per_page=SOON))


async def _latest(request: AdminRequest) -> list[Record]:
    return await _posts(
        request,
        ListRequest(
            per_page=LATEST,
            listing=_listing(request.caller),
            filter=_DUE,
        ),
    )


def _listing(caller: Caller) -> tuple[str, str]:
    return (AUTHOR_LIST, caller.id) if caller.kind is Kind.AUTHOR else (PUBLISHED_LIST, "")


async def _posts(request: AdminRequest, wanted: ListRequest) -> list[Record]:
    wanted = replace(wanted, names=_FIELDS, skip_total=True)
    return (await request.records.page(request.caller, posts, wanted)).items


def _greeting(request: AdminRequest) -> str:
    hour = request.now.hour
    part = "morning" if 4 <= hour < 12 else "afternoon" if 12 <= hour < 18 else "evening"
    first = str(request.account.get("name", "")).partition(" ")[0]
    return f"Good {part}, {first}" if first else f"Good {part}"


async def _attention(request: AdminRequest) -> list[Attention]:
    found: list[Attention] = []
    lately = newer("created", clock.to_text(request.now - LATELY))
    dead = await _count(request, webhook_deliveries, equals("state", DEAD), lately)
    if dead:
        what = "A webhook delivery died." if dead == 1 else f"{dead:,} webhook deliveries died."
        found.append(Attention("circle-x", "bad", what, "No attempt was taken by its receiver."))
    off = await _count(request, webhook_subscriptions, _IS_OFF)
    if off:
        what = "A webhook was turned off." if off == 1 else f"{off:,} webhooks were turned off."
        found.append(
            Attention("power", "bad", what, "After too many failures nothing is sent any more.")
        )
    failed = await _count(request, import_runs, equals("state", FAILED), lately)
    if failed:
        what = "An import has failed." if failed == 1 else f"{failed:,} imports have failed."
        found.append(Attention("import", "bad", what, "The report says why."))
    waiting = await _count(request, comments, equals("status", "pending"))
    if waiting:
        what = "A comment waits for you." if waiting == 1 else f"{waiting:,} comments wait for you."
        found.append(
            Attention("message-square", "warn", what, "Readers see a comment once it is approved.")
        )
    return found


async def _count(request: AdminRequest, collection: Collection, *wanted: Expression) -> int:
    """0 where the caller may not read the collection."""
    if collection.rules_for(access_of(request.caller)).read is None:
        return 0
    one = ListRequest(per_page=1, filter=all_of(wanted) or "", names=frozenset({"id"}))
    return (await request.records.page(request.caller, collection, one)).total


def _writing(request: AdminRequest, post: Record) -> Writing:
    text = post["excerpt"] or post["summary"]
    short = text if len(text) <= _TEXT else f"{text[:_TEXT].rstrip()}…"
    return _line(request, post, post["updated"], short)


def _published(request: AdminRequest, post: Record) -> Writing:
    return _line(request, post, post["published_at"])


def _line(request: AdminRequest, post: Record, moment: str, summary: str = "") -> Writing:
    url = POSTS.url(post["id"])
    return Writing(post["title"], url, request.when(moment), moment, summary)


def _coming(request: AdminRequest, post: Record) -> Coming:
    at = post["scheduled_for"]
    moment = request.local(at)
    is_near = (moment.date() - request.now.date()).days < 7
    return Coming(
        post["title"],
        POSTS.url(post["id"]),
        at,
        f"{moment:%a}" if is_near else f"{moment.day} {moment:%b}",
        f"{moment:%H:%M}",
        READERS[post["visibility"]],
    )
