"""The records engine: the one way to read and change what a tenant owns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, NamedTuple

import sqlalchemy as sa

from masthead.base import clock
from masthead.base.caller import Caller, in_tenant
from masthead.base.config.keyring import KeyRing
from masthead.base.errors import BadRequest, Forbidden, NotFound
from masthead.base.ids import TenantId
from masthead.engine.records.access import (
    Action,
    access_of,
    allow,
    allow_record,
    check_id,
    no_tenant,
    require_tenant,
)
from masthead.engine.records.changes import NOTHING_PREPARED, PreparedTexts
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.derived.rows import DerivedRows
from masthead.engine.records.read.record_reader import SEVERAL_TENANTS, RecordReader
from masthead.engine.records.registry import Registry
from masthead.engine.records.rotation import Rotated, Rotation
from masthead.engine.records.write.context import SETTINGS, Settings, WriteContext
from masthead.engine.records.write.record_rows import (
    ENCRYPTION_PURPOSE,
    WriteStatements,
    secret_context,
)
from masthead.engine.records.write.unit import Observer, Unit
from masthead.engine.records.write.unit_changes import LocalChange
from masthead.engine.records.write.unit_events import WrittenEvent
from masthead.engine.records.write.validation import NewRecord
from masthead.storage.database import EVERY_TENANT, Database, Transaction, scope_of


class Subscriber(NamedTuple):
    """Receives a unit's events at its end, in the unit's transaction."""

    tell: Callable[[Unit, Sequence[WrittenEvent]], Awaitable[bool]]
    """Returns whether it has queued deliveries."""
    names: frozenset[str] = frozenset()
    """The events that it receives; if empty, all."""


ChangeListener = Callable[[TenantId, Sequence[LocalChange]], None]

AsyncValidator = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Checks given values that need the network. Raises `Invalid`."""


class Records(RecordReader):
    def __init__(
        self,
        database: Database,
        registry: Registry,
        tables: Mapping[str, sa.Table],
        keyring: KeyRing,
        *,
        now: clock.Clock = clock.now,
        subscribers: Sequence[Subscriber] = (),
        on_deliveries_queued: Callable[[], None] | None = None,
        on_changes: ChangeListener | None = None,
        async_validators: Mapping[str, AsyncValidator] | None = None,
        observe: Observer | None = None,
        origin_of: Callable[[str, str], str],
    ) -> None:
        """`on_deliveries_queued` is called after a commit that queued deliveries, `on_changes`
        after one that logged changes, with these.

        `async_validators` are by collection. They run before the transaction opens, because it must
        not wait for the network; so changes made directly through `unit` skip them. `observe`
        receives every change that a caller requests. `origin_of` is the scheme and host of a
        tenant's one address, by its slug and its own domain."""
        settings = registry[SETTINGS]
        statements = WriteStatements(database, tables, settings)
        super().__init__(database, registry, tables, statements, now=now)
        self._subscribers = subscribers
        self._on_deliveries_queued = on_deliveries_queued
        self._on_changes = on_changes
        self._async_validators = async_validators or {}
        self._observe = observe
        self.keyring = keyring
        self._write_context = WriteContext(
            registry=registry,
            queries=self._queries,
            statements=statements,
            derived=DerivedRows(database, self.daily),
            keyring=keyring,
            clock=now,
            origin_of=origin_of,
            settings=Settings(settings),
        )
        self._rotation = Rotation(database, registry, tables, keyring)

    def check_may_create(self, caller: Caller, collection: Collection) -> None:
        """For faces: refuses before a large body is read."""
        allow(caller, collection, Action.CREATE)
        if collection.made_by:
            raise Forbidden(f"Only these create such a record: {collection.made_by}.")

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
        prepared = await self.prepare(collection, checked.fields)
        async with self.unit(caller, prepared=prepared) as unit:
            return await unit.store(collection, checked, stamped=stamped)

    def as_seen_by(self, caller: Caller, collection: Collection, record: Record) -> Record:
        """A record that the caller has just written, reduced to the fields the caller may read."""
        return {name: record[name] for name in collection.readable(access_of(caller))}

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
        prepared = await self.prepare(collection, given)
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

    async def prepare(self, collection: Collection, values: Mapping[str, Any]) -> PreparedTexts:
        """Makes the texts of a change with these values before its `unit`, because they may take
        long."""
        if collection.rendering is None:
            return NOTHING_PREPARED
        return await collection.rendering.prepare(values)

    def unit(
        self,
        caller: Caller,
        *,
        emit_events: bool | tuple[str, ...] = True,
        prepared: PreparedTexts | None = None,
    ) -> OpenUnit:
        """Several changes of one tenant in one transaction.

        A platform caller without a tenant changes the platform's own records. `emit_events=False`
        is for imports, which must not notify every subscriber; a set of names emits only those
        events."""
        require_tenant(caller)
        return OpenUnit(self, caller, emit_events, prepared)

    async def _write_events(self, unit: Unit) -> bool:
        await unit.settle()
        unit.store_events()
        written = unit.events.written
        is_queued = False
        for tell, names in self._subscribers if written else ():
            heard = [each for each in written if each.name in names] if names else written
            if heard:
                is_queued |= await tell(unit, heard)
        unit.store_changes()
        return is_queued

    def _tell(self, unit: Unit, is_queued: bool) -> None:
        """After the commit."""
        if is_queued and self._on_deliveries_queued is not None:
            self._on_deliveries_queued()
        if unit.changes.made and self._on_changes is not None:
            self._on_changes(unit.tenant_id, unit.changes.made)

    def reveal(self, collection: Collection, record: Record, name: str) -> str:
        """Decrypts a secret field."""
        stored = record[name]
        if not stored:
            return ""
        return self.keyring.decrypt(
            ENCRYPTION_PURPOSE, stored, secret_context(collection, record, name)
        )

    async def count_readable_secrets(self) -> tuple[int, int]:
        """How many stored secrets of all tenants can be read, and how many can't."""
        return await self._rotation.count_readable()

    async def reencrypt_secrets(self) -> Rotated:
        """Encrypts all stored secrets with the newest root secret. Older ones can then go."""
        return await self._rotation.run()

    async def validate_async(self, collection: Collection, given: Mapping[str, Any]) -> None:
        """Runs the checks that need the network, before a transaction opens."""
        if validator := self._async_validators.get(collection.name):
            await validator(given)

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
        statement = self._statements.tenants_of(collection)
        found = await self.database.fetch(EVERY_TENANT, *statement({"id": record_id}))
        if not found:
            raise NotFound
        if len(found) > 1:
            raise BadRequest(SEVERAL_TENANTS)
        return in_tenant(caller, TenantId(found[0][0]))


class OpenUnit:
    """The block of a unit: begins its transaction, and writes its events at the end. A class,
    because a context manager that is a generator costs a change several times as much."""

    __slots__ = ("_block", "_caller", "_emit_events", "_prepared", "_records", "_unit")

    def __init__(
        self,
        records: Records,
        caller: Caller,
        emit_events: bool | tuple[str, ...],
        prepared: PreparedTexts | None,
    ) -> None:
        self._records = records
        self._caller = caller
        self._emit_events = emit_events
        self._prepared = prepared
        self._block: AbstractAsyncContextManager[Transaction]
        self._unit: Unit

    async def __aenter__(self) -> Unit:
        tenant_id = self._caller.tenant_id or TenantId("")
        self._block = self._records.database.transaction(scope_of(tenant_id))
        transaction = await self._block.__aenter__()
        self._unit = Unit(
            transaction,
            self._caller,
            tenant_id,
            self._records._write_context,
            emit_events=self._emit_events,
            prepared=self._prepared,
            observe=self._records._observe,
        )
        try:
            await self._unit.begin()
        except BaseException as error:
            await self._end(error)
            raise
        return self._unit

    async def __aexit__(
        self,
        _: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            await self._end(error)
            return
        try:
            is_queued = await self._records._write_events(self._unit)
        except BaseException as failure:
            await self._end(failure)
            raise
        await self._end(None)
        self._records._tell(self._unit, is_queued)

    async def _end(self, error: BaseException | None) -> None:
        """Commits, or rolls back what has failed."""
        try:
            if error is None:
                await self._block.__aexit__(None, None, None)
            else:
                await self._block.__aexit__(type(error), error, error.__traceback__)
        except BaseException as failure:
            error = failure
            raise
        finally:
            if error is not None:
                # The unit may have cached the tenant under a version that was rolled back and
                # that another change will take.
                self._records._write_context.tenants.discard(self._unit.tenant_id)
