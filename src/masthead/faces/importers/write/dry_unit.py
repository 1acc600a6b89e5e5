"""The unit of a dry run: it reads and checks like `Unit` and writes nothing. So a preview takes the
steps of the import itself."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from masthead.base import clock, ids
from masthead.base.caller import Caller
from masthead.base.ids import TenantId
from masthead.engine.records.access import access_of
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.engine.records.write.validation import NewRecord, check_changes
from masthead.storage.database import Row, Statement, scope_of


class DryUnit:
    def __init__(self, records: Records, caller: Caller, tenant_id: TenantId) -> None:
        self.tenant_id = tenant_id
        self.now = clock.to_text(records.clock())
        self._records = records
        self._caller = caller

    async def create(
        self,
        collection: Collection,
        given: Mapping[str, Any],
        *,
        stamped: Mapping[str, Any] | None = None,
    ) -> Record:
        checked = NewRecord.checked(self._caller, collection, given)
        return await self.store(collection, checked, stamped=stamped)

    async def store(
        self, _: Collection, new: NewRecord, *, stamped: Mapping[str, Any] | None = None
    ) -> Record:
        return {"id": ids.new_id(), "version": 1, **new.fields, **(stamped or {})}

    async def update(
        self,
        collection: Collection,
        record_id: str,
        given: Mapping[str, Any],
        *,
        stamped: Mapping[str, Any] | None = None,
    ) -> Record:
        [old] = await self.find(collection, {"id": record_id}, limit=1)
        changes = check_changes(collection, given, access_of(self._caller), old)
        return {**old, **changes, **(stamped or {})}

    async def find(
        self, collection: Collection, equals: Mapping[str, Any], limit: int
    ) -> list[Record]:
        return await self._records.find(collection, equals, tenant_id=self.tenant_id, limit=limit)

    async def fetch(self, statement: Statement, values: Mapping[str, Any]) -> list[Row]:
        return await self._records.database.fetch(scope_of(self.tenant_id), *statement(values))

    def batched_inserts(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()


AnyUnit = Unit | DryUnit
