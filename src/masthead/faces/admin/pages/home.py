"""The first page: what needs attention, the last 30 days, what is being written and what comes."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from masthead.base.caller import Caller
from masthead.base.languages.words import counted, words
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import And, Comparison, Identifier, Macro
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.attention import Attention, attention
from masthead.faces.admin.endpoint import Answer, Page
from masthead.faces.admin.environment import short_day, short_weekday, weekday
from masthead.faces.admin.month import Month
from masthead.faces.admin.pages.texts.posts import SCHEDULED, PostList
from masthead.faces.admin.people import staff_names
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import READERS
from masthead.features.posts.collection import posts
from masthead.features.posts.record_view import PostRecord, as_post
from masthead.features.posts.site import AUTHOR_LIST, PUBLISHED_LIST

DRAFTS = 4
SOON = 4
LATEST = 3
_TEXT = 160
_DUE = Comparison(Identifier(("published_at",)), "<=", Macro("@now"))
_OPEN = And((equals("status", "draft"), equals("scheduled_for", "")))
_FIELDS = frozenset(
    {
        *("title", "status", "visibility", "published_at", "scheduled_for"),
        *("updated", "created", "excerpt", "summary", "authors"),
    }
)
_NUMBERS = (
    words("No"),
    words("One"),
    words("Two"),
    words("Three"),
    words("Four"),
    words("Five"),
    words("Six"),
    words("Seven"),
    words("Eight"),
    words("Nine"),
)


async def home(request: AdminRequest) -> Answer:
    needed = await attention(request)
    drafts = await _drafts(request)
    soon = await _find_scheduled(request)
    published = await _find_latest(request)
    is_new = not (drafts or soon or published)
    values = {
        "greeting": _greeting(request),
        "today": _today(request, needed),
        "attention": needed,
        "steps": _steps(request) if is_new else [],
        "stats": [] if is_new else await Month(request).stats(_waiting(soon)),
        "has_statistics": not request.caller.is_writer,
        "is_utc": request.time_zone.key == "UTC",
        "drafts": [each | {"about": _about(each)} for each in drafts],
        "soon": await _coming_up(request, soon[:SOON]),
        "published": published,
    }
    return Page("home.html", words("Home"), values)


def _steps(request: AdminRequest) -> list[tuple[str, str, str, str, str]]:
    """Suggestions for a new site: icon, what and why, where, and the words of the button."""
    return [*_FIRST, *(_OF_OWNERS if request.caller.is_admin else ())]


_FIRST = (
    (
        "file-text",
        words("Write a post."),
        words("It stays a draft until you publish it; nobody else sees it"),
        "/admin/posts/new",
        words("Write"),
    ),
)
_OF_OWNERS = (
    (
        "settings",
        words("Choose a look."),
        words("The name of the site, its accent colour and its language"),
        "/admin/settings",
        words("Choose"),
    ),
    (
        "users",
        words("Invite people."),
        words("Authors write their own posts; editors can change all posts"),
        "/admin/staff",
        words("Invite"),
    ),
)


async def _drafts(request: AdminRequest) -> list[PostRecord]:
    """Read by when they were changed, for an author, too: few posts of a site are drafts, but most
    posts of an author are not."""
    return await _posts(request, ListRequest(per_page=DRAFTS, filter=_OPEN, sort="-updated"))


async def _find_scheduled(request: AdminRequest) -> list[PostRecord]:
    """One more than is shown."""
    listing = PostList(status=SCHEDULED).listing(request)
    return await _posts(request, replace(listing.wanted, per_page=SOON + 1))


async def _find_latest(request: AdminRequest) -> list[PostRecord]:
    return await _posts(
        request,
        ListRequest(
            per_page=LATEST,
            listing=_listing(request.caller),
            filter=_DUE,
        ),
    )


def _listing(caller: Caller) -> tuple[str, str]:
    return (AUTHOR_LIST, caller.id) if caller.is_writer else (PUBLISHED_LIST, "")


async def _posts(request: AdminRequest, wanted: ListRequest) -> list[PostRecord]:
    wanted = replace(wanted, names=_FIELDS, skip_total=True)
    page = await request.records.page(request.caller, posts, wanted)
    return [as_post(each) for each in page.items]


def _greeting(request: AdminRequest) -> str:
    hour = request.now.hour
    part = words("Good evening")
    if 4 <= hour < 18:
        part = words("Good morning") if hour < 12 else words("Good afternoon")
    first = str(request.account.get("name", "")).partition(" ")[0]
    return words("%(greeting)s, %(name)s", greeting=part, name=first) if first else part


def _today(request: AdminRequest, needed: list[Attention]) -> str:
    today = weekday(request.now)
    if not needed:
        return today
    things = counted(
        "%(count)s thing needs you.",
        "%(count)s things need you.",
        len(needed),
        count=_NUMBERS[len(needed)],
    )
    return f"{today}. {things}"


def _waiting(soon: list[PostRecord]) -> str:
    if len(soon) > SOON:
        return words("More than %(most)s are scheduled", most=SOON)
    if not soon:
        return words("None scheduled")
    return counted("%(number)s more is scheduled", "%(number)s more are scheduled", len(soon))


def _about(post: PostRecord) -> str:
    text = post["excerpt"] or post["summary"]
    return text if len(text) <= _TEXT else f"{text[:_TEXT].rstrip()}…"


async def _coming_up(request: AdminRequest, soon: list[PostRecord]) -> list[Record]:
    names = await staff_names(request) if soon else {}
    return [_coming(request, each, names) for each in soon]


def _coming(request: AdminRequest, post: PostRecord, names: Mapping[str, str]) -> Record:
    moment = request.local(post["scheduled_for"])
    is_near = (moment.date() - request.now.date()).days < 7
    authors = [names[each] for each in post["authors"] if each in names]
    return post | {
        "day": short_weekday(moment) if is_near else short_day(moment),
        "hour": f"{moment:%H:%M}",
        "readers": ", ".join((str(READERS[post["visibility"]]), *authors)),
    }
