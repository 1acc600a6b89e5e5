"""The records engine: the one way to read and change what a tenant owns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from masthead import clock
from masthead.caller import Caller, Kind, in_tenant
from masthead.config.keyring import KeyRing
from masthead.errors import AnswerTooLarge, BadRequest, Forbidden, NotFound
from masthead.ids import TenantId
from masthead.records.access import (
    NAME_A_TENANT,
    Action,
    access_of,
    allow,
    allow_reading,
    allow_record,
    check_id,
    no_tenant,
    require_tenant,
    scope_of_caller,
)
from masthead.records.changes import NOTHING_PREPARED, PreparedTexts, Rendering
from masthead.records.collection import Collection, Record
from masthead.records.derived.daily_counts import DailyCounts
from masthead.records.derived.rows import DerivedRows
from masthead.records.fields.base import Access
from masthead.records.filter.parser import ParsedFilter, parse_given
from masthead.records.read.context import Context
from masthead.records.read.counts import Counts
from masthead.records.read.decoding import engine_decoder
from masthead.records.read.expand import Expansion, expand_records, with_relations
from masthead.records.read.page import (
    MAX_OFFSET,
    ListRequest,
    Page,
    page_values,
    search_values,
)
from masthead.records.read.query import Prepared, Queries, Shape
from masthead.records.read.sorting import parse_sort
from masthead.records.registry import Registry
from masthead.records.rotation import Rotated, Rotation
from masthead.records.search.index import SearchIndex
from masthead.records.search.terms import read_query
from masthead.records.write.context import SETTINGS, Observer, Settings, WriteContext
from masthead.records.write.record_rows import ENCRYPTION_PURPOSE, WriteStatements, secret_context
from masthead.records.write.unit import Unit
from masthead.records.write.unit_events import WrittenEvent
from masthead.records.write.validation import NewRecord
from masthead.storage.database import (
    EVERY_TENANT,
    MAX_BYTES,
    Database,
    Row,
    RowsTooLarge,
    SizedRows,
    scope_of,
)

# Ids are unique within a tenant only.
_SEVERAL_TENANTS = f"Several tenants have a record with this id. {NAME_A_TENANT}"


class Subscriber(NamedTuple):
    """Told of a unit's events at its end, in the unit's transaction."""

    tell: Callable[[Unit, Sequence[WrittenEvent]], Awaitable[bool]]
    """Returns whether it has queued deliveries."""
    names: frozenset[str] = frozenset()
    """The events that it is told of; none named are all."""


AsyncValidator = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Checks given values that need the network. Raises `Invalid`."""


class Records:
    def __init__(
        self,
        database: Database,
        registry: Registry,
        tables: Mapping[str, sa.Table],
        keyring: KeyRing,
        now: clock.Clock = clock.now,
        *,
        subscribers: Sequence[Subscriber] = (),
        on_deliveries_queued: Callable[[], None] | None = None,
        async_validators: Mapping[str, AsyncValidator] | None = None,
        observe: Observer | None = None,
        origin_of: Callable[[str], str],
    ) -> None:
        """`on_deliveries_queued` is called after a commit that queued deliveries.

        `async_validators` are by collection. They run before the transaction opens, because it must
        not wait for the network; so changes made directly through `unit` skip them. `observe` is
        told of every change that a caller asks for. `origin_of` is the scheme and host of a
        tenant's own addresses, by its slug.
        """
        self.database = database
        self.registry = registry
        self.clock = now
        self._subscribers = subscribers
        self._on_deliveries_queued = on_deliveries_queued
        self._async_validators = async_validators or {}
        self._keyring = keyring
        self._queries = Queries(database, registry, tables)
        settings = registry[SETTINGS]
        self._statements = WriteStatements(database, tables, settings)
        self.search_index = SearchIndex(database, registry, tables)
        self.daily = DailyCounts(database)
        self.counts = Counts(database, self._queries, self.daily, now)
        derived = DerivedRows(database, self.daily)
        self._write_context = WriteContext(
            registry=registry,
            queries=self._queries,
            statements=self._statements,
            derived=derived,
            keyring=keyring,
            clock=now,
            origin_of=origin_of,
            settings=Settings(settings),
            observe=observe,
        )
        self._rotation = Rotation(database, registry, tables, keyring)

    def reading_from(self, database: Database) -> Records:
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
            given = collection.site.searched(caller.audience)
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
        )
        found = search_values(self.database, caller, collection, wanted, terms) if terms else None
        is_complete = not terms or await self.search_index.catch_up(
            TenantId(caller.tenant_id or ""), collection
        )
        context = Context(caller, self.clock(), found)
        items, weight = await self._items(caller, shape, parsed, context, wanted)
        total = -1
        if not wanted.skip_total:
            total = await self.counts.total_of(caller, shape, parsed, context)
        if expansion and items:
            await expand_records(self, caller, collection, items, expansion, wanted.max_bytes)
        costly = context.is_costly
        return Page(items, wanted.page, wanted.per_page, total, is_complete, weight, costly)

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
            raise BadRequest(_SEVERAL_TENANTS)
        [record] = await _shown(caller, collection, [prepared.rows.record(rows[0])])
        if expansion:
            await expand_records(self, caller, collection, [record], expansion, max_bytes)
        return record

    def check_may_create(self, caller: Caller, collection: Collection) -> None:
        """For faces: refuses before a large body is read."""
        allow(caller, collection, Action.CREATE)
        if collection.made_by:
            raise Forbidden(f"Such a record is made by {collection.made_by}.")

    def check_may_update(self, caller: Caller, collection: Collection, record_id: str) -> None:
        """For faces: refuses before a body is read or a password hashed."""
        allow_record(caller, collection, Action.UPDATE, record_id)

    async def create(
        self,
        caller: Caller,
        collection: Collection,
        given: Mapping[str, Any],
        *,
        stamped: Mapping[str, Any] | None = None,
    ) -> Record:
        await self.validate_async(collection, given)
        require_tenant(caller)
        checked = NewRecord.checked(caller, collection, given)
        prepared = await self.prepared(collection, checked.fields)
        async with self.unit(caller, prepared=prepared) as unit:
            return await unit.store(collection, checked, stamped=stamped)

    def as_seen_by(self, caller: Caller, collection: Collection, record: Record) -> Record:
        """A record that the caller has just written, reduced to the fields the caller may read."""
        return {each.name: record[each.name] for each in collection.readable(access_of(caller))}

    async def update(
        self,
        caller: Caller,
        collection: Collection,
        record_id: str,
        given: Mapping[str, Any],
        *,
        stamped: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
    ) -> Record:
        caller = await self._may_change(caller, collection, record_id, Action.UPDATE)
        await self.validate_async(collection, given)
        prepared = await self.prepared(collection, given)
        async with self.unit(caller, prepared=prepared) as unit:
            return await unit.update(
                collection, record_id, given, stamped=stamped, expected_version=expected_version
            )

    async def delete(
        self,
        caller: Caller,
        collection: Collection,
        record_id: str,
        *,
        expected_version: int | None = None,
    ) -> Record:
        caller = await self._may_change(caller, collection, record_id, Action.DELETE)
        async with self.unit(caller) as unit:
            return await unit.delete(collection, record_id, expected_version=expected_version)

    async def prepared(self, collection: Collection, values: Mapping[str, Any]) -> PreparedTexts:
        """What a change with these values needs and takes long to make: for `unit`."""
        if collection.rendering is None:
            return NOTHING_PREPARED
        return await collection.rendering.prepare(values)

    @asynccontextmanager
    async def unit(
        self,
        caller: Caller,
        *,
        emit_events: bool | tuple[str, ...] = True,
        prepared: PreparedTexts | None = None,
    ) -> AsyncIterator[Unit]:
        """Several changes of one tenant in one transaction.

        A platform caller without a tenant changes the platform's own records. `emit_events=False`
        is for imports, which must not notify every subscriber; names stand for these events alone.
        """
        require_tenant(caller)
        tenant_id = caller.tenant_id or TenantId("")
        try:
            async with self.database.transaction(scope_of(tenant_id)) as transaction:
                unit = Unit(
                    transaction, caller, tenant_id, self._write_context, emit_events, prepared
                )
                await unit.begin()
                yield unit
                is_queued = await self._write_events(unit)
        except BaseException:
            # The unit may have cached the tenant under a version that was rolled back and that
            # another change will take.
            self._write_context.tenants.discard(tenant_id)
            raise
        if is_queued and self._on_deliveries_queued is not None:
            self._on_deliveries_queued()

    async def _write_events(self, unit: Unit) -> bool:
        await unit.settle()
        unit.store_events()
        written = unit.events.written
        is_queued = False
        for tell, names in self._subscribers if written else ():
            heard = [each for each in written if each.name in names] if names else written
            if heard:
                is_queued |= await tell(unit, heard)
        return is_queued

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

    async def next_position(
        self, tenant_id: TenantId, collection: Collection, listing: tuple[str, str], after: str
    ) -> str:
        """Where the listing's next record after a position stands; '' if there is none. Of a list
        by date, this is when the list changes by itself."""
        statement = self._queries.next_position(collection, listing[0])
        values = {"tenant": tenant_id, "listing_value": listing[1], "after": after}
        rows = await self.database.fetch(scope_of(tenant_id), statement, statement.bind(values))
        return str(rows[0][0]) if rows else ""

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

    def reveal(self, collection: Collection, record: Record, name: str) -> str:
        """Decrypts a secret field."""
        stored = record[name]
        if not stored:
            return ""
        return self._keyring.decrypt(
            ENCRYPTION_PURPOSE, stored, secret_context(collection, record, name)
        )

    async def secrets_readability(self) -> tuple[int, int]:
        """How many stored secrets of all tenants can be read, and how many can't."""
        return await self._rotation.readability()

    async def reencrypt_secrets(self) -> Rotated:
        """Encrypts all stored secrets with the newest root secret. Older ones can then go."""
        return await self._rotation.run()

    async def related(
        self,
        caller: Caller,
        collection: Collection,
        by: str,
        keys: Sequence[str],
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
        rows = await self._fetch(caller, prepared, values, Context(caller, self.clock()), max_bytes)
        return await _shown(caller, collection, [prepared.rows.record(row) for row in rows])

    async def validate_async(self, collection: Collection, given: Mapping[str, Any]) -> None:
        """What needs the network, before a transaction opens."""
        if validator := self._async_validators.get(collection.name):
            await validator(given)

    async def _items(
        self,
        caller: Caller,
        shape: Shape,
        parsed: ParsedFilter | None,
        context: Context,
        wanted: ListRequest,
    ) -> tuple[list[Record], int]:
        prepared = await self._queries.page(shape, parsed, context)
        collection = self.registry[shape.collection]
        if wanted.offset > MAX_OFFSET:
            return [], 0
        values = page_values(caller, wanted, prepared, parsed)
        rows = await self._fetch(caller, prepared, values, context, wanted.max_bytes)
        to_record = prepared.rows.record
        records = await _shown(caller, collection, [to_record(row) for row in rows])
        return records, rows.size if isinstance(rows, SizedRows) else 0

    async def _fetch(
        self,
        caller: Caller,
        prepared: Prepared,
        values: dict[str, Any],
        context: Context,
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

    async def _may_change(
        self, caller: Caller, collection: Collection, record_id: str, action: Action
    ) -> Caller:
        """Refuses before the tenant's write lock is taken."""
        allow(caller, collection, action)
        check_id(record_id)
        return await self.in_tenant_of(caller, collection, record_id)

    async def in_tenant_of(self, caller: Caller, collection: Collection, record_id: str) -> Caller:
        """An operator without a tenant acts in the tenant that the record belongs to."""
        if caller.tenant_id is not None:
            return caller
        if not caller.is_platform:
            raise no_tenant(caller)
        found = await self.find(collection, {"id": record_id}, limit=2)
        if not found:
            raise NotFound
        if len(found) > 1:
            raise BadRequest(_SEVERAL_TENANTS)
        return in_tenant(caller, TenantId(found[0]["tenant_id"]))


async def _shown(caller: Caller, collection: Collection, records: list[Record]) -> list[Record]:
    if collection.rendering is not None:
        await _render_old(collection.rendering, records)
    if caller.kind is not Kind.SITE or collection.site is None:
        return records
    show = collection.site.show
    return [show(record, caller.audience) for record in records]


async def _render_old(rendering: Rendering, records: list[Record]) -> None:
    """What older rules have made, or none, is made while it is read."""
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
