"""The list of a section's texts: search, filters, orders and pages by cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from masthead.base import clock
from masthead.base.caller import Caller
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import all_of, any_of, equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.lists import Filters, Listing, Option, read_page
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import Section

STATUSES = {"draft": "Draft", "published": "Published"}
ORDERS = {
    "-changed": "-updated",
    "changed": "updated",
    "title": "title",
    "-title": "-title",
}
_DEFAULT_ORDER = "-changed"
SORTS = ORDERS.keys() - {_DEFAULT_ORDER}


class Column(msgspec.Struct, frozen=True):
    """One that not every section has."""

    label: str
    css_class: str


class TextFilters(Filters, frozen=True):
    section: ClassVar[Section]
    columns: ClassVar[tuple[Column, ...]]
    names: ClassVar[frozenset[str]]
    """The fields that the list shows, and those that it is sorted by."""

    q: str = ""
    status: str = ""
    sort: str = ""

    @property
    def order(self) -> str:
        """Sorts by title only without a filter: in that order a list would be read past all that
        the filter leaves out."""
        is_by_title = self.sort.lstrip("-") == "title"
        return _DEFAULT_ORDER if not self.sort or (is_by_title and self.is_narrow) else self.sort

    def has_orders(self, _: Caller) -> bool:
        """Search results are newest first, because sorting would read all of them."""
        return not self.q

    def has_total(self, _: Caller) -> bool:
        """There is a counter for it: a page does not wait for a count."""
        return not self.q

    def sorted_by(self, name: str) -> str:
        """The address of the same list in the order of a column, the other way round if it has it
        already. Titles begin with A, dates with the newest."""
        first, second = (name, f"-{name}") if name == "title" else (f"-{name}", name)
        wanted = second if self.order == first else first
        return replace(self, sort="" if wanted == _DEFAULT_ORDER else wanted).url()

    def listing(self, caller: Caller) -> Listing:
        sort = ORDERS[self.order] if self.has_orders(caller) else "-created"
        wanted = ListRequest(
            filter=self.condition(caller),
            search=self.q,
            # A search has no other order than its own.
            sort="" if self.q else sort,
            names=self.names,
            skip_total=not self.has_total(caller),
        )
        return Listing(self.section.texts, wanted, self.url, by=sort.lstrip("-"))

    def condition(self, caller: Caller) -> Expression | str:
        return all_of(self.conditions(caller)) or ""

    def conditions(self, _: Caller) -> list[Expression]:
        return [equals("status", self.status)] if self.status else []


class Pick(msgspec.Struct, frozen=True):
    """A list of the filter bar."""

    name: str
    label: str
    any: str
    options: Sequence[Option] = ()
    suggestions: str = ""
    """Where there are too many options: the address of those that begin as what is typed."""


class TextRow(msgspec.Struct, frozen=True):
    id: str
    title: str
    url: str
    badge: str
    status: str
    cells: tuple[str, ...]
    """The cells of the further columns."""
    changed: str
    changed_at: str


async def show_list(
    request: AdminRequest,
    filters: TextFilters,
    picks: Sequence[Pick],
    cells: Callable[[Record], tuple[str, ...]],
) -> Answer:
    section, caller = filters.section, request.caller
    page = await read_page(request, filters.listing(caller))
    if page is None:
        return Redirect(filters.url())
    items, pager = page
    changed = await _with_copies(request, section, items)
    values = {
        "section": section,
        "filters": filters,
        "picks": [(each, getattr(filters, each.name)) for each in picks],
        "columns": filters.columns,
        "has_orders": filters.has_orders(caller),
        "has_texts": bool(items) or filters.is_narrow,
        "rows": [
            _row(request, filters, each, each["id"] in changed, cells=cells(each)) for each in items
        ],
        "pager": pager,
        "total": await _total(request, filters) if filters.is_narrow else pager.total,
    }
    return Page("texts/list.html", section.label, values, fragment="texts/_list.html")


async def _total(request: AdminRequest, filters: TextFilters) -> int:
    """The total of the whole section; -1 for callers who see only a part of it, which has no
    counter."""
    if not type(filters)().has_total(request.caller):
        return -1
    wanted = ListRequest(per_page=1, names=frozenset({"id"}))
    return (await request.records.page(request.caller, filters.section.texts, wanted)).total


async def _with_copies(
    request: AdminRequest, section: Section, texts: Sequence[Record]
) -> frozenset[str]:
    """Those of the texts that have changes which are not on the site yet, in one query."""
    kind = section.kind
    shown = [each["id"] for each in texts if each["status"] == PUBLISHED]
    if not shown:
        return frozenset()
    wanted = ListRequest(
        filter=any_of([equals(kind.pointer, each) for each in shown]) or "",
        per_page=len(shown),
        names=frozenset({kind.pointer}),
        skip_total=True,
    )
    found = await request.records.page(request.caller, kind.working_copies, wanted)
    return frozenset(each[kind.pointer] for each in found.items)


def _row(
    request: AdminRequest,
    filters: TextFilters,
    text: Record,
    has_copy: bool,
    *,
    cells: tuple[str, ...],
) -> TextRow:
    section = filters.section
    badge, status = status_of(request, text, has_copy=has_copy)
    return TextRow(
        text["id"],
        text["title"],
        section.url(text["id"]),
        badge,
        status,
        cells,
        request.when(text["updated"]),
        text["updated"],
    )


def status_of(request: AdminRequest, text: Record, *, has_copy: bool = False) -> tuple[str, str]:
    """The kind of badge and its words. `has_copy`: changes that are not on the site yet."""
    is_published = text["status"] == PUBLISHED
    if is_published and has_copy:
        return "warn", "Changed, not live"
    at = text["published_at"] if is_published else text.get("scheduled_for", "")
    if at > clock.to_text(request.now) or (at and not is_published):
        moment = request.local(at)
        return "info", f"{moment:%a} {moment.day} {moment:%b, %H:%M}"
    return ("good", "Published") if at else ("draft", "Draft")
