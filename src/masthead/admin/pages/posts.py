"""The list of posts: search, filters, orders and pages by cursor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from urllib.parse import urlencode

from masthead import clock, ids
from masthead.admin.endpoint import Answer, Moved, Shown
from masthead.admin.pages.people import staff_names
from masthead.admin.request import AdminRequest
from masthead.caller import Caller, Kind
from masthead.posts.collection import posts
from masthead.posts.site import SCHEDULED_LIST
from masthead.records.collection import Record
from masthead.records.engine import ListRequest, Page
from masthead.records.filter.ast import Expression
from masthead.records.write.publication import PUBLISHED
from masthead.web.v1.call import all_of, equals, has_item

ADDRESS = "/admin/posts"
PER_PAGE = 20
MAX_TAGS = 200
"""In the filter: the most used ones."""

READERS = {"public": "Everyone", "members": "Members", "paid": "Paid"}
SCHEDULED = "scheduled"
STATUSES = {"draft": "Draft", SCHEDULED: "Scheduled", "published": "Published"}
ORDERS = {
    "-changed": "-updated",
    "changed": "updated",
    "title": "title",
    "-title": "-title",
}
_MAX_DIGITS = 9
_DEFAULT_ORDER = "-changed"
FIELDS = frozenset(
    {
        *("title", "slug", "status", "visibility", "published_at", "scheduled_for"),
        *("authors", "created", "updated"),
    }
)


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list shows; every field is a parameter of its address."""

    q: str = ""
    status: str = ""
    visibility: str = ""
    tag: str = ""
    author: str = ""
    sort: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Filters:
        """An unknown value is no filter."""
        found = cls(**{each.name: query.get(each.name, "").strip() for each in fields(cls)})
        return replace(
            found,
            status=found.status if found.status in STATUSES else "",
            visibility=found.visibility if found.visibility in READERS else "",
            sort=found.sort if found.sort in ORDERS and found.sort != _DEFAULT_ORDER else "",
        )

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

    @property
    def is_narrow(self) -> bool:
        return bool(self.q or self.status or self.visibility or self.tag or self.author)

    def parameters(self) -> dict[str, str]:
        return {
            each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name)
        }

    def url(self, **more: str | int) -> str:
        query = urlencode(self.parameters() | {name: str(value) for name, value in more.items()})
        return f"{ADDRESS}?{query}" if query else ADDRESS

    def sorted_by(self, name: str) -> str:
        """The address of the same list in the order of a column, the other way round if it has it
        already. Titles begin with A, dates with the newest."""
        first, second = (name, f"-{name}") if name == "title" else (f"-{name}", name)
        wanted = second if self.order == first else first
        return replace(self, sort="" if wanted == _DEFAULT_ORDER else wanted).url()

    def wanted(self, caller: Caller) -> ListRequest:
        """The list from its beginning, with all fields."""
        condition = self.condition(caller)
        if self.q:
            return ListRequest(filter=condition, search=self.q)
        if self.status == SCHEDULED:
            # `created` is the position in a listing: here the time of publication.
            listing = (SCHEDULED_LIST, "")
            return ListRequest(filter=condition, listing=listing, sort="created")
        sort = ORDERS[self.order] if self.has_orders(caller) else "-created"
        return ListRequest(filter=condition, sort=sort)

    def position(self, caller: Caller, post: Record) -> tuple[str, str]:
        """Where the list goes on after a post."""
        by = "created"
        if self.status == SCHEDULED and not self.q:
            by = "scheduled_for"
        elif self.has_orders(caller):
            by = ORDERS[self.order].lstrip("-")
        return post[by], post["id"]

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


@dataclass(frozen=True, slots=True)
class Pager:
    first: int
    last: int
    total: int
    """-1 where nobody has counted."""
    newer: str = ""
    older: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    value: str
    label: str


async def posts_list(request: AdminRequest) -> Answer:
    filters = Filters.of(request.query)
    page = await _page(request, filters)
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
        "statuses": _options(STATUSES),
        "readers": _options(READERS),
        "tags": await _tags(request, filters.tag),
        "authors": _options(dict(sorted(names.items(), key=lambda each: each[1].casefold()))),
    }
    return Shown("posts/list.html", "Posts", values, fragment="posts/_list.html")


async def _page(request: AdminRequest, filters: Filters) -> tuple[list[Record], Pager] | None:
    """None where the first page is meant: there is less than a page before the cursor."""
    before = cursor_of(request.query.get("before", ""))
    after = cursor_of(request.query.get("after", ""))
    caller = request.caller
    is_backwards = before is not None and not filters.q
    wanted = filters.wanted(caller)
    wanted = replace(
        wanted,
        per_page=PER_PAGE + 1,
        sort=_reversed(wanted.sort) if is_backwards else wanted.sort,
        after=before if is_backwards else after,
        names=FIELDS,
        skip_total=not filters.has_total(caller),
    )
    found = await _read(request, wanted)
    items, has_more = found.items[:PER_PAGE], len(found.items) > PER_PAGE
    if is_backwards:
        if not has_more:
            return None
        items.reverse()
    first = _first(request, found.total, len(items), is_at_start=before is None and after is None)
    at = [_mark(filters.position(caller, each)) for each in (*items[:1], *items[-1:])]
    return items, _pager(filters, at, len(items), first, found.total, has_more or is_backwards)


def _pager(
    filters: Filters, at: list[str], count: int, first: int, total: int, has_older: bool
) -> Pager:
    """`at` are the positions of the first and the last of so many rows."""
    if not count:
        return Pager(0, 0, total)
    newer = older = ""
    if has_older:
        older = filters.url(after=at[1], at=first + count)
    if first > 1 and not filters.q:
        newer = filters.url(before=at[0], at=max(first - PER_PAGE, 1))
    elif first > 1:
        # A search knows only the way from new to old.
        newer = filters.url()
    return Pager(first, first + count - 1, total, newer, older)


def _first(request: AdminRequest, total: int, count: int, *, is_at_start: bool) -> int:
    """The number of the first row. It is in the address: a cursor alone does not know it."""
    given = request.query.get("at", "")
    if is_at_start or not given.isdecimal() or len(given) > _MAX_DIGITS:
        return 1
    number = max(int(given), 1)
    return number if total < 0 else min(number, max(total - count + 1, 1))


def _reversed(sort: str) -> str:
    return sort[1:] if sort.startswith("-") else f"-{sort}"


def _mark(position: tuple[str, str]) -> str:
    return "~".join(position)


def cursor_of(text: str) -> tuple[str, str] | None:
    value, mark, record_id = text.rpartition("~")
    # PostgreSQL would refuse NUL as a parameter.
    is_one = mark and ids.is_id(record_id) and "\0" not in value
    return (value, record_id) if is_one else None


async def _read(request: AdminRequest, wanted: ListRequest) -> Page:
    return await request.records.page(request.caller, posts, wanted)


def row_of(request: AdminRequest, post: Record, names: Mapping[str, str]) -> Row:
    badge, status = status_of(request, post)
    return Row(
        post["id"],
        post["title"],
        f"{ADDRESS}/{post['id']}",
        badge,
        status,
        READERS[post["visibility"]],
        ", ".join(names[each] for each in post["authors"] if each in names),
        request.when(post["updated"]),
        post["updated"],
    )


def status_of(request: AdminRequest, post: Record) -> tuple[str, str]:
    """The kind of badge and its words."""
    at = post["published_at"] if post["status"] == PUBLISHED else post["scheduled_for"]
    if at > clock.to_text(request.now) or (at and post["status"] != PUBLISHED):
        moment = request.local(at)
        return "info", f"{moment:%a} {moment.day} {moment:%b, %H:%M}"
    return ("good", "Published") if at else ("draft", "Draft")


def _options(labels: Mapping[str, str]) -> list[Option]:
    return [Option(value, label) for value, label in labels.items()]


async def _tags(request: AdminRequest, chosen: str) -> Sequence[Option]:
    totals = await request.records.item_totals(request.caller, posts, "tags")
    used = sorted(totals, key=lambda tag: (-totals[tag], tag))[:MAX_TAGS]
    if chosen and chosen not in used:
        used.append(chosen)
    return [Option(tag, tag) for tag in sorted(used, key=str.casefold)]
