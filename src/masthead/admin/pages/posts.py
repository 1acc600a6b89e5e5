"""The list of posts."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from masthead.admin.endpoint import Answer
from masthead.admin.lists import Listing, Option, options
from masthead.admin.pages.people import staff_names
from masthead.admin.pages.texts import (
    SORTS,
    STATUSES,
    Column,
    Pick,
    TextFilters,
    shown_list,
)
from masthead.admin.request import AdminRequest
from masthead.admin.sections import POSTS, READERS, Section
from masthead.caller import Caller, Kind
from masthead.posts.collection import posts
from masthead.posts.site import SCHEDULED_LIST
from masthead.records.collection import Record
from masthead.records.filter.ast import Expression
from masthead.records.filter.conditions import equals, has_item

MAX_TAGS = 200
"""In the filter: the most used ones."""
SCHEDULED = "scheduled"
_STATUSES = {
    "draft": STATUSES["draft"],
    SCHEDULED: "Scheduled",
    "published": STATUSES["published"],
}


@dataclass(frozen=True, slots=True)
class PostFilters(TextFilters):
    section: ClassVar[Section] = POSTS
    address: ClassVar[str] = POSTS.address
    columns: ClassVar[tuple[Column, ...]] = (
        Column("Readers", "fit"),
        Column("Author", "drop-s drop-m author"),
    )
    names: ClassVar[frozenset[str]] = frozenset(
        {
            *("title", "status", "visibility", "published_at", "scheduled_for"),
            *("authors", "created", "updated"),
        }
    )
    choices: ClassVar[Mapping[str, Container[str]]] = {
        "status": _STATUSES,
        "visibility": READERS,
        "sort": SORTS,
    }

    visibility: str = ""
    tag: str = ""
    author: str = ""

    def has_orders(self, caller: Caller) -> bool:
        """What a search finds, and the posts of a tag or an author, are newest first, and scheduled
        ones by their time: these lists are read in that order, and sorting would read all."""
        is_of_author = bool(self.author) or caller.kind is Kind.AUTHOR
        is_scheduled = self.status == SCHEDULED and not self.q
        return not (self.q or self.tag or is_of_author or is_scheduled)

    def has_total(self, caller: Caller) -> bool:
        is_of_author = bool(self.author) or caller.kind is Kind.AUTHOR
        is_uncounted = (self.tag and self.visibility) or self.status == SCHEDULED
        return not (self.q or is_of_author or is_uncounted)

    def listing(self, caller: Caller) -> Listing:
        found = TextFilters.listing(self, caller)
        if self.q or self.status != SCHEDULED:
            return found
        # `created` is the position in a listing: here the time of publication.
        wanted = replace(found.wanted, listing=(SCHEDULED_LIST, ""), sort="created")
        return replace(found, wanted=wanted, by="scheduled_for")

    def conditions(self, caller: Caller) -> list[Expression]:
        # The rule lets an author see own posts alone. Said here as well, and first, the list is
        # read from the index of authors.
        own = caller.id if caller.kind is Kind.AUTHOR else ""
        found: list[Expression] = [has_item("authors", each) for each in (own, self.author) if each]
        if self.status and self.status != SCHEDULED:
            found.append(equals("status", self.status))
        if self.visibility:
            found.append(equals("visibility", self.visibility))
        if self.tag:
            found.append(has_item("tags", self.tag))
        return found


async def posts_list(request: AdminRequest) -> Answer:
    filters = PostFilters.of(request.query)
    names = await staff_names(request)

    def cells(post: Record) -> tuple[str, ...]:
        authors = ", ".join(names[each] for each in post["authors"] if each in names)
        return READERS[post["visibility"]], authors

    return await shown_list(request, filters, await _picks(request, filters, names), cells)


async def _picks(
    request: AdminRequest, filters: PostFilters, names: Mapping[str, str]
) -> list[Pick]:
    picks = [
        Pick("status", "Status", "Any status", options(_STATUSES)),
        Pick("visibility", "Who may read", "Any reader", options(READERS)),
    ]
    if tags := await _tags(request, filters.tag):
        picks.append(Pick("tag", "Tag", "Any tag", tags))
    if len(names) > 1:
        by_name = dict(sorted(names.items(), key=lambda each: each[1].casefold()))
        picks.append(Pick("author", "Author", "Any author", options(by_name)))
    return picks


async def _tags(request: AdminRequest, chosen: str) -> Sequence[Option]:
    totals = await request.records.item_totals(request.caller, posts, "tags")
    used = sorted(totals, key=lambda tag: (-totals[tag], tag))[:MAX_TAGS]
    if chosen and chosen not in used:
        used.append(chosen)
    return [Option(tag, tag) for tag in sorted(used, key=str.casefold)]
