"""Lists: a declaration of each, filters in the address, pages by cursor, totals from counters."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, ClassVar, Self
from urllib.parse import urlencode

import msgspec
from msgspec.structs import asdict, replace

from masthead.base import ids
from masthead.base.caller import Caller
from masthead.base.languages.alphabet import by_letters
from masthead.base.languages.words import words
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.fields.values import read_moment
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import all_of, equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.request import AdminRequest

PER_PAGE = 20
_MAX_DIGITS = 9


class Pick(msgspec.Struct, frozen=True):
    """A choice in the filter bar."""

    name: str
    label: str
    any: str
    options: Mapping[str, str] = {}
    """The words of each value."""
    suggestions: str = ""
    """Where there are too many options: the address of those that begin as what is typed."""


class Search(msgspec.Struct, frozen=True):
    """The field in the filter bar that takes words, or one whole value."""

    label: str
    placeholder: str = ""
    name: str = "q"


class Filters(msgspec.Struct, frozen=True):
    """The choices of what a list shows. Every field of a subclass is a text and a parameter of the
    address."""

    address: ClassVar[str]
    """The address of the list."""
    choices: ClassVar[tuple[tuple[str, Container[str]], ...]] = ()
    """A field, and the values that it takes. An unknown one is no filter."""
    picks: ClassVar[tuple[Pick, ...]] = ()
    """The choices in the filter bar; one with options takes only these."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        given = {name: query.get(name, "").strip() for name in cls.__struct_fields__}
        return cls(**{name: text for name, text in given.items() if cls._is_known(name, text)})

    @classmethod
    def _is_known(cls, name: str, text: str) -> bool:
        picked = ((each.name, each.options) for each in cls.picks if each.options)
        return all(text in known for field, known in (*picked, *cls.choices) if field == name)

    @property
    def is_narrow(self) -> bool:
        """Whether the list is filtered; an order does not count."""
        return any(name != "sort" for name in self.parameters())

    def parameters(self) -> dict[str, str]:
        given = asdict(self)
        return {name: text for name, text in given.items() if text}

    def url(self, **more: str | int) -> str:
        return with_query(self.address, **{**self.parameters(), **more})


def with_query(address: str, **parameters: str | int) -> str:
    query = urlencode({name: str(value) for name, value in parameters.items()})
    return f"{address}?{query}" if query else address


def sorted_words(words: Mapping[str, str]) -> dict[str, str]:
    """Options in the order in which one looks for them."""
    return dict(sorted(words.items(), key=lambda each: by_letters(str(each[1]))))


class Pager(msgspec.Struct, frozen=True):
    """The links below a list."""

    first: int
    last: int
    total: int
    """-1 where nothing has counted."""
    newer: str = ""
    older: str = ""


class Listing(msgspec.Struct, frozen=True):
    collection: Collection
    wanted: ListRequest
    """The list from its beginning: filter, order, fields, and whether it is counted."""
    url: Callable[..., str]
    """The address of the list with further parameters."""
    caller: Caller | None = None
    """Who reads it, if not the caller of the request in the site: an operator everywhere."""
    by: str = "created"
    """The field that it is sorted by; its value and the id are the cursor."""

    @property
    def is_searched(self) -> bool:
        return bool(self.wanted.search)

    def mark(self, record: Record) -> str:
        """The cursor after a record, as text for an address."""
        return f"{record[self.by]}~{record['id']}"


class ListPage(Filters, frozen=True):
    """The declaration of a list: what is listed, how it is narrowed, and its words. Its columns and
    bulk actions are in the template of its rows."""

    title: ClassVar[str]
    collection: ClassVar[Collection]
    template: ClassVar[str]
    """The rows: the part that htmx asks for."""
    page: ClassVar[str] = "list.html"
    """The page around them."""
    about: ClassVar[str] = ""
    """The sentence below the title."""
    back: ClassVar[tuple[str, str]] = ("", "")
    """The label and the address of the page above this one."""
    search: ClassVar[Search | None] = None
    empty: ClassVar[tuple[str, str]]
    """Title and sentence of a list without rows."""
    no_match: ClassVar[tuple[str, str]] = (words("Nothing found"), words("Try other filters."))
    """The same where filters leave nothing."""
    waves: ClassVar[bool] = False
    """Whether it is drawn, where it is the first thing that one sees of a subject."""
    live: ClassVar[str] = ""
    """The topic whose changes the open page hears of; see `live.py`."""
    per_page: ClassVar[int] = PER_PAGE
    names: ClassVar[frozenset[str] | None] = None
    """The fields that are read, if not all."""
    order: ClassVar[str] = "-created"

    @property
    def words(self) -> str:
        """The words that are searched for in the full-text index."""
        return ""

    @property
    def is_counted(self) -> bool:
        """Whether there is a counter for it: a page does not wait for a count."""
        return False

    def conditions(self, _: AdminRequest) -> list[Expression]:
        given = {each.name: getattr(self, each.name) for each in self.picks}
        return [equals(name, value) for name, value in given.items() if value]

    def listing(self, request: AdminRequest) -> Listing:
        wanted = ListRequest(
            filter=all_of(self.conditions(request)) or "",
            search=self.words,
            # A search has no other order than its own.
            sort="" if self.words else self.order,
            names=self.names,
            skip_total=not self.is_counted,
        )
        return Listing(self.collection, wanted, self.url)

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        """Further values of the templates; `rows` instead of the records."""
        return {}

    def kept(self, picks: Sequence[Pick]) -> dict[str, str]:
        """The parameters that no field of the filter bar sets, such as an order."""
        shown = {each.name for each in picks} | {self.search.name if self.search else ""}
        return {name: text for name, text in self.parameters().items() if name not in shown}

    @classmethod
    async def show(cls, request: AdminRequest) -> Answer:
        """The page of the list at its address."""
        filters = cls.of(request.query)
        page = await read_page(request, filters.listing(request), cls.per_page)
        if page is None:
            return Redirect(filters.url())
        items, pager = page
        values = {
            "filters": filters,
            "picks": cls.picks,
            "rows": items,
            "pager": pager,
            "total": -1 if filters.is_narrow else pager.total,
            **await filters.values(request, items),
        }
        return Page(cls.page, cls.title, values, fragment=cls.template)


async def read_page(
    request: AdminRequest, listing: Listing, per_page: int = PER_PAGE
) -> tuple[list[Record], Pager] | None:
    """The page that the address names. None where the first one is meant: there is less than a page
    before the cursor."""
    before = cursor_of(request.query.get("before", ""))
    after = cursor_of(request.query.get("after", ""))
    if listing.is_searched and after is not None and read_moment(after[0]) != after[0]:
        after = None
    # A search is only read from new to old.
    is_backwards = before is not None and not listing.is_searched
    wanted = replace(
        listing.wanted,
        per_page=per_page + 1,
        sort=_reversed(listing.wanted.sort) if is_backwards else listing.wanted.sort,
        after=before if is_backwards else after,
    )
    caller = listing.caller or request.caller
    found = await request.records.page(caller, listing.collection, wanted)
    items, has_more = found.items[:per_page], len(found.items) > per_page
    if is_backwards:
        if not has_more:
            return None
        items.reverse()
    is_at_start = before is None and after is None
    first = 1 if is_at_start else _first(request, found.total, len(items))
    pager = _pager(
        listing, items, first, found.total, per_page=per_page, has_older=has_more or is_backwards
    )
    return items, pager


def cursor_of(text: str) -> tuple[str, str] | None:
    value, mark, record_id = text.rpartition("~")
    # PostgreSQL would refuse NUL as a parameter.
    is_one = mark and ids.is_id(record_id) and "\0" not in value
    return (value, record_id) if is_one else None


def _pager(
    listing: Listing, items: list[Record], first: int, total: int, *, per_page: int, has_older: bool
) -> Pager:
    if not items:
        return Pager(0, 0, total)
    newer = older = ""
    if has_older:
        older = listing.url(after=listing.mark(items[-1]), at=first + len(items))
    if first > 1 and not listing.is_searched:
        newer = listing.url(before=listing.mark(items[0]), at=max(first - per_page, 1))
    elif first > 1:
        newer = listing.url()
    return Pager(first, first + len(items) - 1, total, newer, older)


def _first(request: AdminRequest, total: int, count: int) -> int:
    """The number of the first row. It is in the address, because a cursor does not contain it."""
    given = request.query.get("at", "")
    if not given.isdecimal() or len(given) > _MAX_DIGITS:
        return 1
    number = max(int(given), 1)
    return number if total < 0 else min(number, max(total - count + 1, 1))


def _reversed(sort: str) -> str:
    return sort[1:] if sort.startswith("-") else f"-{sort}"
