"""The reading half of the engine: pages, single records, and what our own code looks up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from copy import copy
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self, TypedDict, Unpack

import msgspec
import sqlalchemy as sa
from msgspec.structs import replace

from masthead.base import clock
from masthead.base.caller import Caller, Kind
from masthead.base.errors import AnswerTooLarge, BadRequest, NotFound
from masthead.base.ids import TenantId
from masthead.engine.records.access import (
    NAME_A_TENANT,
    access_of,
    allow_reading,
    check_id,
    scope_of_caller,
)
from masthead.engine.records.changes import Rendering
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.derived.daily_counts import DailyCounts
from masthead.engine.records.fields.base import Access
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.parser import ParsedFilter, parse_given
from masthead.engine.records.read.context import Context
from masthead.engine.records.read.counts import Counts
from masthead.engine.records.read.decoding import engine_decoder
from masthead.engine.records.read.due_dates import due_date
from masthead.engine.records.read.expand import Expander, Expansion, with_relations
from masthead.engine.records.read.page import (
    MAX_OFFSET,
    ListRequest,
    Page,
    page_values,
    rows_left,
    search_values,
    unusual_values,
)
from masthead.engine.records.read.query import NUMBER, Prepared, Queries, Shape
from masthead.engine.records.read.sorting import parse_sort, reversed_order
from masthead.engine.records.registry import Registry
from masthead.engine.records.search.index import SearchIndex
from masthead.engine.records.search.terms import read_query
from masthead.engine.records.write.record_rows import WriteStatements
from masthead.storage.database import (
    EVERY_TENANT,
    MAX_BYTES,
    Database,
    Row,
    RowsTooLarge,
    SizedRows,
    scope_of,
)

NO_TIME = datetime.fromtimestamp(0, UTC)
# Ids are unique within a tenant only.
SEVERAL_TENANTS = f"Several tenants have a record with this id. {NAME_A_TENANT}"


class StateTest(NamedTuple):
    """A test of states by a collection's read rule for a kind of caller, and by a filter."""

    prepared: Prepared
    parsed: ParsedFilter | None

    def audience(self, caller: Caller) -> tuple[str, ...]:
        """The caller's values that the test depends on, besides the access: callers with the same
        values have the same result."""
        return Context(caller, NO_TIME).auth_values(self.prepared.statement.names)


class FirstOf(TypedDict, total=False):
    """See `ListRequest`."""

    filter: str | Expression
    after: tuple[str, str] | None
    listing: tuple[str, str] | None
    search: str
    sort: str
    names: frozenset[str] | None


class RecordReader:
    def __init__(
        self,
        database: Database,
        registry: Registry,
        tables: Mapping[str, sa.Table],
        statements: WriteStatements,
        *,
        now: clock.Clock,
    ) -> None:
        self.database = database
        self.registry = registry
        self.clock = now
        self._queries = Queries(database, registry, tables)
        self._statements = statements
        self.search_index = SearchIndex(database, registry, tables)
        self.daily = DailyCounts(database)
        self.counts = Counts(database, self._queries, self.daily, now)

    def reading_from(self, database: Database) -> Self:
        """The same engine, which reads through another connection, such as one for long reads."""
        records = copy(self)
        records.database = database
        records.counts = Counts(database, self._queries, self.daily, self.clock)
        return records

    async def page(self, caller: Caller, collection: Collection, wanted: ListRequest) -> Page:
        access = allow_reading(caller, collection)
        terms = read_query(wanted.search)
        given = wanted.filter
        if terms and access is Access.SITE:
            assert collection.site is not None
            searched = collection.site.searched(caller.reader)
            given = f"({searched}) && ({given})" if searched and given else searched or given
        parsed = parse_given(given, for_admin=not caller.is_reader)
        expansion = Expansion.parse(wanted.expand)
        if wanted.search and not terms:
            return Page([], wanted.page, wanted.per_page, -1 if wanted.skip_total else 0)
        shape = Shape(
            collection.name,
            access,
            caller.tenant_id is not None,
            filter=parsed.shape if parsed else None,
            sort=parse_sort(wanted.sort),
            names=with_relations(collection, wanted.names, expansion),
            after=wanted.after is not None,
            search=bool(terms),
            with_tenant=_needs_tenant(caller, expansion),
            listing=wanted.listing[0] if wanted.listing else "",
            sized=wanted.max_bytes is not None,
            rendered=wanted.rendered,
            unusual=unusual_values(collection, parsed),
        )
        found = (
            search_values(self.database, caller, collection, wanted, terms=terms) if terms else None
        )
        is_complete = not terms or await self.search_index.catch_up(
            TenantId(caller.tenant_id or ""), collection
        )
        context = Context(caller, self.clock(), found)
        total = -1
        if not wanted.skip_total:
            total = await self.counts.total_of(caller, shape, parsed, context)
        items, weight = await self._read_items(
            caller, shape, parsed, context, wanted=wanted, total=total
        )
        if expansion and items:
            expander = self.expander(caller, wanted.max_bytes)
            await expander.expand(collection, items, expansion)
        costly = context.is_costly
        return Page(items, wanted.page, wanted.per_page, total, is_complete, weight, costly)

    async def first(
        self, caller: Caller, collection: Collection, most: int, **wanted: Unpack[FirstOf]
    ) -> list[Record]:
        """The first records of a list that the caller may see, without its total."""
        request = ListRequest(per_page=most, skip_total=True, **wanted)
        return (await self.page(caller, collection, request)).items

    async def pages(
        self, caller: Caller, collection: Collection, wanted: ListRequest
    ) -> AsyncIterator[list[Record]]:
        """All records from the wanted page on, in the order of creation. By cursor, so
        that concurrent writes neither repeat nor hide a record."""
        while True:
            items = (await self.page(caller, collection, wanted)).items
            if items:
                yield items
            if len(items) < wanted.per_page:
                return
            wanted = replace(wanted, after=(items[-1]["created"], items[-1]["id"]))

    async def get(
        self,
        caller: Caller,
        collection: Collection,
        record_id: str,
        *,
        expand: str = "",
        names: frozenset[str] | None = None,
        max_bytes: int | None = None,
    ) -> Record:
        access = allow_reading(caller, collection)
        check_id(record_id)
        expansion = Expansion.parse(expand)
        names = with_relations(collection, names, expansion)
        shape = Shape(
            collection.name,
            access,
            caller.tenant_id is not None,
            names=names,
            with_tenant=_needs_tenant(caller, expansion),
        )
        prepared = self._queries.one(shape)
        values: dict[str, Any] = {"id": record_id, "tenant": caller.tenant_id}
        rows = await self._fetch(caller, prepared, values, Context(caller, self.clock()))
        if not rows:
            raise NotFound
        if len(rows) > 1:
            raise BadRequest(SEVERAL_TENANTS)
        [record] = await _show(caller, collection, [prepared.rows.record(rows[0])])
        if expansion:
            await self.expander(caller, max_bytes).expand(collection, [record], expansion)
        return record

    async def find(
        self,
        collection: Collection,
        equals: Mapping[str, Any],
        *,
        tenant_id: TenantId | None = None,
        limit: int = 1,
    ) -> list[Record]:
        """Rows by equality, hidden fields included, in one tenant or in all of them. Checks no
        access rule."""
        statement = self._statements.find(collection, tuple(equals), tenant_id is not None)
        values = {**equals, "tenant": tenant_id, "limit": limit}
        scope = EVERY_TENANT if tenant_id is None else scope_of(tenant_id)
        rows = await self.database.fetch(scope, statement, statement.bind(values))
        to_record = engine_decoder(collection).record
        return [to_record(row) for row in rows]

    async def find_one(
        self,
        collection: Collection,
        equals: Mapping[str, Any],
        *,
        tenant_id: TenantId | None = None,
    ) -> Record | None:
        found = await self.find(collection, equals, tenant_id=tenant_id)
        return found[0] if found else None

    async def require(
        self,
        collection: Collection,
        equals: Mapping[str, Any],
        *,
        tenant_id: TenantId | None = None,
        missing: str | None = None,
    ) -> Record:
        """Raises NotFound if there is none."""
        for found in await self.find(collection, equals, tenant_id=tenant_id):
            return found
        raise NotFound(missing)

    async def find_some(
        self, collection: Collection, record_ids: Sequence[str], tenant_id: TenantId
    ) -> list[Record]:
        """Those of the tenant's records that have one of these ids, hidden fields included. Checks
        no access rule."""
        statement = self._statements.find_some(collection)
        keys = self.database.list_value(record_ids)
        bound = statement.bind({"tenant": tenant_id, "keys": keys})
        rows = await self.database.fetch(scope_of(tenant_id), statement, bound)
        to_record = engine_decoder(collection).record
        return [to_record(row) for row in rows]

    async def prepare_test(
        self, caller: Caller, collection: Collection, given: str = ""
    ) -> StateTest | None:
        """A test of states of records, for a caller who may read some of them, and a filter. Raises
        `BadRequest` for an invalid filter; None if every state passes."""
        access = access_of(caller)
        parsed = parse_given(given, for_admin=not caller.is_reader)
        if parsed is None and not collection.rules_for(access).read:
            return None
        shape = Shape(collection.name, access, True, filter=parsed.shape if parsed else None)
        return StateTest(await self._queries.given(shape, parsed), parsed)

    async def passing(
        self,
        caller: Caller,
        collection: Collection,
        test: StateTest,
        states: Sequence[Mapping[str, Any]],
    ) -> set[int]:
        """The positions of the states that the caller may read and the test's filter matches. A
        state may lack fields."""
        context = Context(caller, self.clock())
        rows = [_as_row(collection, number, state) for number, state in enumerate(states)]
        values: dict[str, Any] = {"states": msgspec.json.encode(rows).decode()}
        for slot in test.prepared.slots:
            assert test.parsed is not None
            values[slot.parameter] = slot.coerce(test.parsed.values[slot.position])
        found = await self._fetch(caller, test.prepared, values, context)
        return {number for (number,) in found}

    async def as_read_by(self, access: Access, collection: Collection, record: Record) -> Record:
        """A record in memory as a read would give it. It may lack fields."""
        shape = Shape(collection.name, access, True)
        names = [each.name for each in self._queries.fields(shape)]
        shown = {name: record[name] for name in names if name in record}
        rendering = collection.rendering
        if rendering is None or rendering.of not in shown:
            return shown
        if shape.shows_rendering and record.get(rendering.into):
            shown[rendering.of] = record[rendering.into]
        await _render_old(rendering, [shown])
        return shown

    async def next_position(
        self, tenant_id: TenantId, collection: Collection, listing: tuple[str, str], after: str
    ) -> str:
        """The position of the listing's next record; '' if there is none. In a list by date, this
        is when the list changes without a write."""
        statement = self._queries.next_position(collection, listing[0])
        values = {"tenant": tenant_id, "listing_value": listing[1], "after": after}
        rows = await self.database.fetch(scope_of(tenant_id), statement, statement.bind(values))
        return str(rows[0][0]) if rows else ""

    async def unchanged_until(
        self, guest: Caller, collection: Collection, now: datetime
    ) -> str | None:
        """When a guest may read a record that was not shown `now`, although none has changed; '' if
        that does not happen by itself. None if it can't be told."""
        rule = collection.rules.read
        date = due_date(rule) if rule is not None else None
        if not date:
            return date
        if not any(each.only_late == date for each in collection.indexes):
            return None
        statement = self._queries.next_due(collection, date)
        values: dict[str, Any] = {"tenant": guest.tenant_id}
        Context(guest, now).fill(statement.names, values)
        rows = await self.database.fetch(scope_of_caller(guest), statement, statement.bind(values))
        return rows[0][0] or ""

    async def is_listed(
        self,
        tenant_id: TenantId,
        collections: Sequence[str],
        listings: Sequence[str],
        key: str,
    ) -> bool:
        """Whether one of the collections has a record in one of the listings by the key, at a
        position that is now or was before."""
        statement = self._queries.is_listed()
        values = {
            "tenant": tenant_id,
            "collections": self.database.list_value(collections),
            "listings": self.database.list_value(listings),
            "key": key,
            "until": clock.to_text(self.clock()),
        }
        rows = await self.database.fetch(scope_of(tenant_id), statement, statement.bind(values))
        return bool(rows)

    async def due(
        self, collection: Collection, name: str, until: datetime, limit: int
    ) -> dict[TenantId, list[str]]:
        """For jobs: the ids of records of all tenants whose date `name` is set and not later than
        `until`, earliest first. The collection needs an index on the date."""
        statement = self._statements.due(collection, name, limit)
        bound = statement.bind({"until": clock.to_text(until)})
        found: dict[TenantId, list[str]] = {}
        for tenant_id, record_id in await self.database.fetch(EVERY_TENANT, statement, bound):
            found.setdefault(TenantId(tenant_id), []).append(record_id)
        return found

    def expander(self, caller: Caller, max_bytes: int | None = None) -> Expander:
        return Expander(self.registry, self.find_related, caller, max_bytes)

    async def find_related(
        self,
        caller: Caller,
        collection: Collection,
        by: str,
        keys: Sequence[str],
        *,
        limit: int,
        max_bytes: int | None = None,
        names: frozenset[str] | None = None,
    ) -> list[Record]:
        """The records visible to the caller whose field `by` holds one of the keys. `names` are
        the fields to read; None is all of them.

        For a caller without a tenant they come from any tenant and hold their `tenant_id`, even
        where the caller may not read it: several tenants may have a record of the same id.
        """
        if collection.rules_for(access_of(caller)).read is None:
            return []
        has_tenant = caller.tenant_id is not None
        shape = Shape(
            collection.name,
            access_of(caller),
            has_tenant,
            names=names,
            with_tenant=not has_tenant,
            sized=max_bytes is not None,
        )
        prepared = self._queries.some(shape, by)
        values: dict[str, Any] = {
            "tenant": caller.tenant_id,
            "keys": self.database.list_value(keys),
            "limit": limit,
        }
        rows = await self._fetch(
            caller, prepared, values, Context(caller, self.clock()), max_bytes=max_bytes
        )
        return await _show(caller, collection, [prepared.rows.record(row) for row in rows])

    async def _read_items(
        self,
        caller: Caller,
        shape: Shape,
        parsed: ParsedFilter | None,
        context: Context,
        *,
        wanted: ListRequest,
        total: int,
    ) -> tuple[list[Record], int]:
        left = rows_left(wanted, shape, total)
        if left is not None:
            shape = replace(shape, sort=reversed_order(shape.sort))
        prepared = await self._queries.page(shape, parsed, context)
        collection = self.registry[shape.collection]
        if wanted.offset > MAX_OFFSET or left == 0:
            return [], 0
        values = page_values(
            caller, collection, wanted, sort=shape.sort, prepared=prepared, parsed=parsed
        )
        if left is not None:
            values["limit"] = min(wanted.per_page, left)
            values["offset"] = left - values["limit"]
        rows = await self._fetch(caller, prepared, values, context, max_bytes=wanted.max_bytes)
        if left is not None:
            rows.reverse()
        to_record = prepared.rows.record
        records = await _show(caller, collection, [to_record(row) for row in rows])
        return records, rows.size if isinstance(rows, SizedRows) else 0

    async def _fetch(
        self,
        caller: Caller,
        prepared: Prepared,
        values: dict[str, Any],
        context: Context,
        *,
        max_bytes: int | None = None,
    ) -> list[Row]:
        statement = prepared.statement
        context.fill(statement.names, values)
        values[MAX_BYTES] = max_bytes
        try:
            return await self.database.fetch(
                scope_of_caller(caller),
                statement,
                statement.bind(values),
                slow=prepared.is_slow,
                max_bytes=max_bytes,
            )
        except RowsTooLarge:
            raise AnswerTooLarge(max_bytes or 0) from None


def _as_row(collection: Collection, number: int, state: Mapping[str, Any]) -> dict[str, Any]:
    """As the database stores it; a field that is missing has its empty value."""
    row: dict[str, Any] = {NUMBER: number}
    for field in collection.all_fields:
        value = state[field.name] if field.name in state else field.empty()
        row[field.name] = field.encode(value)
    return row


async def _show(caller: Caller, collection: Collection, records: list[Record]) -> list[Record]:
    if collection.rendering is not None:
        await _render_old(collection.rendering, records)
    if caller.kind is not Kind.SITE or collection.site is None:
        return records
    show = collection.site.show
    return [show(record, caller.reader) for record in records]


async def _render_old(rendering: Rendering, records: list[Record]) -> None:
    """A text that older rules have cleaned, or none, is cleaned while it is read."""
    old = [
        each
        for each in records
        if each.pop(rendering.made_by, rendering.rules) != rendering.rules and each[rendering.of]
    ]
    if old:
        made = await rendering.make_anyway([each[rendering.of] for each in old])
        for record, text in zip(old, made, strict=True):
            record[rendering.of] = text


def _needs_tenant(caller: Caller, expansion: Expansion | None) -> bool:
    return expansion is not None and caller.tenant_id is None
