"""The list of a section's texts: search, filters, orders and pages by cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from masthead.base import clock
from masthead.base.caller import Caller
from masthead.base.languages.words import words
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.access import access_of
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import any_of, equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.environment import short_day, short_weekday
from masthead.faces.admin.lists import Listing, ListPage, Pick, Search
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import Section

STATUSES = {"draft": words("Draft"), "published": words("Published")}
ORDERS = {
    "-changed": "-updated",
    "changed": "updated",
    "title": "title",
    "-title": "-title",
}
_DEFAULT_ORDER = "-changed"
SORTS = ORDERS.keys() - {_DEFAULT_ORDER}


class TextList(ListPage, frozen=True):
    section: ClassVar[Section]
    template = "texts/_list.html"
    page = "texts/list.html"
    search = Search(words("Search titles and text"))
    columns: ClassVar[tuple[tuple[str, str], ...]]
    """Label and class of those that not every section has."""
    names: ClassVar[frozenset[str]]
    """The fields that the list shows, and those that it is sorted by."""

    q: str = ""
    status: str = ""
    sort: str = ""

    @property
    def sorting(self) -> str:
        """Sorts by title only without a filter: in that order a list would be read past all that
        the filter leaves out."""
        is_by_title = self.sort.lstrip("-") == "title"
        return _DEFAULT_ORDER if not self.sort or (is_by_title and self.is_narrow) else self.sort

    @property
    def words(self) -> str:
        return self.q

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
        wanted = second if self.sorting == first else first
        return replace(self, sort="" if wanted == _DEFAULT_ORDER else wanted).url()

    def listing(self, request: AdminRequest) -> Listing:
        found, caller = super().listing(request), request.caller
        sort = ORDERS[self.sorting] if self.has_orders(caller) else "-created"
        wanted = replace(
            found.wanted,
            sort="" if self.q else sort,
            skip_total=not self.has_total(caller),
        )
        return replace(found, wanted=wanted, by=sort.lstrip("-"))

    def conditions(self, _: AdminRequest) -> list[Expression]:
        return [equals("status", self.status)] if self.status else []

    async def further(
        self, request: AdminRequest, texts: Sequence[Record]
    ) -> tuple[Sequence[Pick], list[tuple[str, ...]]]:
        """The choices in the filter bar, and the cells of the further columns for each text."""
        raise NotImplementedError

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        changed = await _with_copies(request, self.section, items)
        picks, cells = await self.further(request, items)
        found: dict[str, Any] = {
            "section": self.section,
            "picks": picks,
            "has_orders": self.has_orders(request.caller),
            "may_publish": may_publish(request, self.section),
            "has_texts": bool(items) or self.is_narrow,
            "rows": [
                each | {"badge": status_of(request, each, each["id"] in changed), "cells": more}
                for each, more in zip(items, cells, strict=True)
            ],
        }
        return found | ({"total": await _total(request, self)} if self.is_narrow else {})


async def _total(request: AdminRequest, filters: TextList) -> int:
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


def may_publish(request: AdminRequest, section: Section) -> bool:
    return access_of(request.caller) >= section.texts.by_name["status"].write


def status_of(request: AdminRequest, text: Record, has_copy: bool = False) -> tuple[str, str]:
    """The kind of badge and its words. `has_copy`: changes that are not on the site yet."""
    is_published = text["status"] == PUBLISHED
    if is_published and has_copy:
        return "warn", words("Changed, not live")
    at = text["published_at"] if is_published else text.get("scheduled_for", "")
    if at > clock.to_text(request.now) or (at and not is_published):
        moment = request.local(at)
        return "info", f"{short_weekday(moment)} {short_day(moment)}, {moment:%H:%M}"
    if at:
        return "good", words("Published")
    return ("info", words("Ready for review")) if text.get("review") else ("draft", words("Draft"))
