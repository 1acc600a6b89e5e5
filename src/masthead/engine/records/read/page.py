"""A page of a list: what is wanted, the values of its statement, and what is found."""

from __future__ import annotations

from typing import Any

import msgspec

from masthead.base.caller import Caller
from masthead.base.errors import BadRequest
from masthead.engine.records.access import no_tenant
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.filter.ast import (
    Comparison,
    Expression,
    Identifier,
    Literal,
    conjuncts,
)
from masthead.engine.records.filter.parser import ParsedFilter
from masthead.engine.records.read.ordering import cursor_values
from masthead.engine.records.read.query import Prepared, Shape
from masthead.engine.records.read.sorting import SortKey
from masthead.engine.records.search.terms import document_key, prefix_of
from masthead.storage import full_text
from masthead.storage.database import Database
from masthead.storage.full_text import Term

MAX_OFFSET = 2**53
FAR_OFFSET = 200
"""Rows. Skipping fewer costs less than another statement."""


class ListRequest(msgspec.Struct, frozen=True):
    page: int = 1
    per_page: int = 30
    filter: str | Expression = ""
    """Text in the filter language, or an expression that the face built itself."""
    after: tuple[str, str] | None = None
    """The cursor: only records after this `created` and `id` in the default order, after this
    position and `id` in a listing, or after this value and `id` in the order of one field."""
    listing: tuple[str, str] | None = None
    """The name and value of the listing whose records and order are wanted."""
    search: str = ""
    """Words, "phrases" and pre*fixes, all of which must match. Always newest first."""
    sort: str = ""
    expand: str = ""
    names: frozenset[str] | None = None
    """The fields to read; None is all of them."""
    skip_total: bool = False
    max_bytes: int | None = None
    """The size of all records together. Beyond it, `AnswerTooLarge` is raised."""
    rendered: bool = False
    """Texts as readers see them, even for callers who can see the original."""

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.per_page


class Page(msgspec.Struct, frozen=True):
    items: list[Record]
    page: int
    per_page: int
    total: int
    """-1 when the request skipped it."""
    is_complete: bool = True
    """False for a search while some records still wait to be indexed."""
    weight: int = 0
    """The size of long texts, where `max_bytes` was given."""
    is_costly: bool = False
    """A new statement was compiled, or long texts were scanned."""

    @property
    def total_pages(self) -> int:
        return -1 if self.total < 0 else -(-self.total // self.per_page)


def rows_left(wanted: ListRequest, shape: Shape, total: int) -> int | None:
    """How many rows of the list are on the page and after it, if the page is nearer to the end of
    the list than to its beginning: then it is read from there. None if it is not."""
    if shape.after or shape.listing or shape.search or any(each.random for each in shape.sort):
        return None
    if wanted.offset < FAR_OFFSET or total < 0 or wanted.offset < total // 2:
        return None
    return max(total - wanted.offset, 0)


def unusual_values(
    collection: Collection, parsed: ParsedFilter | None
) -> tuple[tuple[str, str], ...]:
    """The fields that the filter requires to have an unusual value, each with its usual one:
    `status = 'draft'` leaves out `published`."""
    usual = collection.usual_values
    parts = conjuncts(parsed.expression) if parsed is not None and usual else ()
    found = {
        part.left.path[0]
        for part in parts
        if isinstance(part, Comparison)
        and isinstance(part.left, Identifier)
        and isinstance(part.right, Literal)
        and part.left.path[0] in usual
        and part.left == Identifier((part.left.path[0],))
        and _leaves_out(part.op, part.right.value, usual[part.left.path[0]])
    }
    return tuple((name, usual[name]) for name in sorted(found))


def _leaves_out(op: str, value: object, usual: str) -> bool:
    if op == "!=":
        return value == usual
    return op == "=" and isinstance(value, str) and value not in ("", usual)


def page_values(
    caller: Caller,
    collection: Collection,
    wanted: ListRequest,
    *,
    sort: tuple[SortKey, ...],
    prepared: Prepared,
    parsed: ParsedFilter | None,
) -> dict[str, Any]:
    """The parameters of the page's statement."""
    values: dict[str, Any] = {
        "tenant": caller.tenant_id,
        "limit": wanted.per_page,
        "offset": wanted.offset,
    }
    if wanted.after:
        values |= cursor_values(collection, sort, wanted.after)
    if wanted.listing:
        values["listing_value"] = wanted.listing[1]
    if parsed:
        for slot in prepared.slots:
            values[slot.parameter] = slot.coerce(parsed.values[slot.position])
    return values


def search_values(
    database: Database,
    caller: Caller,
    collection: Collection,
    wanted: ListRequest,
    *,
    terms: list[Term],
) -> dict[str, Any]:
    """The parameters that a search adds to it."""
    if caller.tenant_id is None:
        raise no_tenant(caller)
    if not collection.searchable or wanted.sort:
        raise BadRequest("There is no search here, or none that can be sorted.")
    prefix = prefix_of(caller.tenant_id, collection.name)
    values = full_text.search_values(database, prefix, terms)
    if wanted.after:
        values |= document_key(caller.tenant_id, collection.name, *wanted.after)
    return values
