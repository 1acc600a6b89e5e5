"""The list of posts: search, filters, orders and pages by cursor."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from masthead import clock
from masthead.admin.endpoint import Answer, Moved, Shown
from masthead.admin.lists import Filters, Listing, Option, options, read_page
from masthead.admin.pages.people import staff_names
from masthead.admin.request import AdminRequest
from masthead.admin.sections import POSTS, READERS
from masthead.caller import Caller, Kind
from masthead.posts.collection import posts
from masthead.posts.site import SCHEDULED_LIST
from masthead.records.collection import Record
from masthead.records.engine import ListRequest, Page
from masthead.records.filter.ast import Expression
from masthead.records.filter.conditions import all_of, equals, has_item
from masthead.records.write.publication import PUBLISHED

MAX_TAGS = 200
"""In the filter: the most used ones."""

SCHEDULED = "scheduled"
STATUSES = {"draft": "Draft", SCHEDULED: "Scheduled", "published": "Published"}
ORDERS = {
    "-changed": "-updated",
    "changed": "updated",
    "title": "title",
    "-title": "-title",
}
_DEFAULT_ORDER = "-changed"
FIELDS = frozenset(
    {
        *("title", "slug", "status", "visibility", "published_at", "scheduled_for"),
        *("authors", "created", "updated"),
    }
)


@dataclass(frozen=True, slots=True)
class PostFilters(Filters):
    address: ClassVar[str] = POSTS.address
    choices: ClassVar[Mapping[str, Container[str]]] = {
        "status": STATUSES,
        "visibility": READERS,
        "sort": ORDERS.keys() - {_DEFAULT_ORDER},
    }

    q: str = ""
    status: str = ""
    visibility: str = ""
    tag: str = ""
    author: str = ""
    sort: str = ""

    @property
    def order(self) -> str:
        return self.sort or _DEFAULT_ORDER

    def has_orders(self, caller: Caller) -> bool:
        """What a search finds, and the posts of a tag or an author, are newest first, and scheduled
        ones by their time: these lists are read in that order, and sorting would read all."""
        is_of_author = bool(self.author) or caller.kind is Kind.AUTHOR
        is_scheduled = self.status == SCHEDULED and not self.q
        return not (self.q or self.tag or is_of_author or is_scheduled)

    def has_total(self, caller: Caller) -> bool:
        """There is a counter for it: a page does not wait for a count."""
        is_of_author = bool(self.author) or caller.kind is Kind.AUTHOR
        is_uncounted = (self.tag and self.visibility) or self.status == SCHEDULED
        return not (self.q or is_of_author or is_uncounted)

    def sorted_by(self, name: str) -> str:
        """The address of the same list in the order of a column, the other way round if it has it
        already. Titles begin with A, dates with the newest."""
        first, second = (name, f"-{name}") if name == "title" else (f"-{name}", name)
        wanted = second if self.order == first else first
        return replace(self, sort="" if wanted == _DEFAULT_ORDER else wanted).url()

    def listing(self, caller: Caller, names: frozenset[str]) -> Listing:
        condition = self.condition(caller)
        wanted = ListRequest(
            filter=condition, search=self.q, names=names, skip_total=not self.has_total(caller)
        )
        if self.q:
            return Listing(posts, wanted, self.url)
        if self.status == SCHEDULED:
            # `created` is the position in a listing: here the time of publication.
            wanted = replace(wanted, listing=(SCHEDULED_LIST, ""), sort="created")
            return Listing(posts, wanted, self.url, by="scheduled_for")
        sort = ORDERS[self.order] if self.has_orders(caller) else "-created"
        return Listing(posts, replace(wanted, sort=sort), self.url, by=sort.lstrip("-"))

    def condition(self, caller: Caller) -> Expression | str:
        conditions: list[Expression] = []
        # The rule lets an author see own posts alone. Said here as well, and first, the list is
        # read from the index of authors.
        own = caller.id if caller.kind is Kind.AUTHOR else ""
        conditions += [has_item("authors", each) for each in (own, self.author) if each]
        if self.status and self.status != SCHEDULED:
            conditions.append(equals("status", self.status))
        if self.visibility:
            conditions.append(equals("visibility", self.visibility))
        if self.tag:
            conditions.append(has_item("tags", self.tag))
        return all_of(conditions) or ""


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    title: str
    url: str
    badge: str
    status: str
    readers: str
    authors: str
    changed: str
    changed_at: str


async def posts_list(request: AdminRequest) -> Answer:
    filters = PostFilters.of(request.query)
    page = await read_page(request, filters.listing(request.caller, FIELDS))
    if page is None:
        return Moved(filters.url())
    items, pager = page
    names = await staff_names(request)
    total = pager.total
    if filters.is_narrow and request.caller.kind is not Kind.AUTHOR:
        total = (await _read(request, ListRequest(per_page=1, names=frozenset({"id"})))).total
    values = {
        "filters": filters,
        "has_orders": filters.has_orders(request.caller),
        "has_posts": bool(items) or filters.is_narrow,
        "rows": [row_of(request, each, names) for each in items],
        "pager": pager,
        "total": total,
        "statuses": options(STATUSES),
        "readers": options(READERS),
        "tags": await _tags(request, filters.tag),
        "authors": options(dict(sorted(names.items(), key=lambda each: each[1].casefold()))),
    }
    return Shown("posts/list.html", "Posts", values, fragment="posts/_list.html")


async def _read(request: AdminRequest, wanted: ListRequest) -> Page:
    return await request.records.page(request.caller, posts, wanted)


def row_of(request: AdminRequest, post: Record, names: Mapping[str, str]) -> Row:
    badge, status = status_of(request, post)
    return Row(
        post["id"],
        post["title"],
        POSTS.url(post["id"]),
        badge,
        status,
        READERS[post["visibility"]],
        ", ".join(names[each] for each in post["authors"] if each in names),
        request.when(post["updated"]),
        post["updated"],
    )


def status_of(request: AdminRequest, text: Record) -> tuple[str, str]:
    """The kind of badge and its words."""
    is_published = text["status"] == PUBLISHED
    at = text["published_at"] if is_published else text.get("scheduled_for", "")
    if at > clock.to_text(request.now) or (at and not is_published):
        moment = request.local(at)
        return "info", f"{moment:%a} {moment.day} {moment:%b, %H:%M}"
    return ("good", "Published") if at else ("draft", "Draft")


async def _tags(request: AdminRequest, chosen: str) -> Sequence[Option]:
    totals = await request.records.item_totals(request.caller, posts, "tags")
    used = sorted(totals, key=lambda tag: (-totals[tag], tag))[:MAX_TAGS]
    if chosen and chosen not in used:
        used.append(chosen)
    return [Option(tag, tag) for tag in sorted(used, key=str.casefold)]
