"""The list of posts: search, filters, orders and pages by cursor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from urllib.parse import urlencode

from masthead import clock, ids
from masthead.admin.endpoint import Answer, Moved, Shown
from masthead.admin.pages.people import staff_names
from masthead.admin.request import AdminRequest
from masthead.posts.collection import posts
from masthead.records.collection import Record
from masthead.records.engine import ListRequest, Page
from masthead.records.filter.ast import And, Comparison, Expression, Identifier, Literal, Macro, Or
from masthead.records.write.publication import DRAFT, PUBLISHED
from masthead.web.v1.call import all_of, equals, has_item

ADDRESS = "/admin/posts"
PER_PAGE = 20
MAX_TAGS = 200
"""In the filter: the most used ones."""

READERS = {"public": "Everyone", "members": "Members", "paid": "Paid"}
STATUSES = {"draft": "Draft", "scheduled": "Scheduled", "published": "Published"}
ORDERS = {
    "-changed": "-updated",
    "changed": "updated",
    "title": "title",
    "-title": "-title",
}
_DEFAULT_ORDER = "-changed"
_FIELDS = frozenset(
    {
        *("title", "slug", "status", "visibility", "published_at", "scheduled_for"),
        *("authors", "created", "updated"),
    }
)
# A draft that waits for its time, or a post that was published with a date to come. That such a
# date is after the last change follows from it; with it the index of such posts serves the list.
_SCHEDULED = Or(
    (
        And(
            (equals("status", DRAFT), Comparison(Identifier(("scheduled_for",)), "!=", Literal("")))
        ),
        And(
            (
                equals("status", PUBLISHED),
                Comparison(Identifier(("published_at",)), ">", Macro("@now")),
                Comparison(Identifier(("published_at",)), ">", Identifier(("updated",))),
            )
        ),
    )
)
_DUE = Comparison(Identifier(("published_at",)), "<=", Macro("@now"))


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

    def condition(self) -> Expression | str:
        conditions: list[Expression] = []
        if self.status == "draft":
            conditions.append(equals("status", DRAFT))
        elif self.status == "published":
            conditions += [equals("status", PUBLISHED), _DUE]
        elif self.status == "scheduled":
            conditions.append(_SCHEDULED)
        if self.visibility:
            conditions.append(equals("visibility", self.visibility))
        if self.tag:
            conditions.append(has_item("tags", self.tag))
        if self.author:
            conditions.append(has_item("authors", self.author))
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
    if filters.is_narrow:
        total = (await _read(request, ListRequest(per_page=1, names=frozenset({"id"})))).total
    values = {
        "filters": filters,
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
    sort = "" if filters.q else ORDERS[filters.order]
    is_backwards = before is not None and not filters.q
    wanted = ListRequest(
        per_page=PER_PAGE + 1,
        filter=filters.condition(),
        search=filters.q,
        sort=_reversed(sort) if is_backwards else sort,
        after=before if is_backwards else after,
        names=_FIELDS,
    )
    found = await _read(request, wanted)
    items, has_more = found.items[:PER_PAGE], len(found.items) > PER_PAGE
    if is_backwards:
        if not has_more:
            return None
        items.reverse()
    first = _first(request, found.total, len(items), is_at_start=before is None and after is None)
    return items, _pager(filters, items, first, found.total, has_more or is_backwards)


def _pager(filters: Filters, items: list[Record], first: int, total: int, has_older: bool) -> Pager:
    if not items:
        return Pager(0, 0, total)
    newer = older = ""
    if has_older:
        older = filters.url(after=_position(filters, items[-1]), at=first + len(items))
    if first > 1 and not filters.q:
        newer = filters.url(before=_position(filters, items[0]), at=max(first - PER_PAGE, 1))
    elif first > 1:
        # A search knows only the way from new to old.
        newer = filters.url()
    return Pager(first, first + len(items) - 1, total, newer, older)


def _first(request: AdminRequest, total: int, count: int, *, is_at_start: bool) -> int:
    """The number of the first row. It is in the address: a cursor alone does not know it."""
    given = request.query.get("at", "")
    if is_at_start or not given.isdecimal() or len(given) > len(str(total)):
        return 1
    return min(max(int(given), 1), max(total - count + 1, 1))


def _reversed(sort: str) -> str:
    return sort[1:] if sort.startswith("-") else f"-{sort}"


def _position(filters: Filters, post: Record) -> str:
    name = "created" if filters.q else ORDERS[filters.order].lstrip("-")
    return f"{post[name]}~{post['id']}"


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
    if at := scheduled_for(request, post):
        moment = request.local(at)
        return "info", f"{moment:%a} {moment.day} {moment:%b, %H:%M}"
    return ("good", "Published") if post["status"] == PUBLISHED else ("draft", "Draft")


def scheduled_for(request: AdminRequest, post: Record) -> str:
    """When readers will see the post; '' if they do already, or if nobody has said when."""
    if post["status"] != PUBLISHED:
        return str(post["scheduled_for"])
    is_late = post["published_at"] > clock.to_text(request.now)
    return str(post["published_at"]) if is_late else ""


def _options(labels: Mapping[str, str]) -> list[Option]:
    return [Option(value, label) for value, label in labels.items()]


async def _tags(request: AdminRequest, chosen: str) -> Sequence[Option]:
    totals = await request.records.item_totals(request.caller, posts, "tags")
    used = sorted(totals, key=lambda tag: (-totals[tag], tag))[:MAX_TAGS]
    if chosen and chosen not in used:
        used.append(chosen)
    return [Option(tag, tag) for tag in sorted(used, key=str.casefold)]
