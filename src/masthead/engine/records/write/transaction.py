"""The transaction of one tenant: its lock and version, its settings, and what is read and queued in
it. `Unit` changes records in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from masthead.base import clock
from masthead.base.caller import Caller
from masthead.base.errors import Forbidden, NotFound
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.jobs.tables import new_job
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.read.decoding import engine_decoder
from masthead.engine.records.registry import Registry
from masthead.engine.records.write.context import UNKNOWN, CachedTenant, WriteContext
from masthead.storage.database import Row, Statement, Transaction

_NONE: Final[set[str]] = set()
Values = Mapping[str, Any] | Sequence[object]
"""Values by name, or already in the statement's order."""


class TenantTransaction:
    def __init__(
        self, transaction: Transaction, caller: Caller, tenant_id: TenantId, context: WriteContext
    ) -> None:
        self.tenant_id = tenant_id
        self.tenant = UNKNOWN
        self._tx = transaction
        self._caller = caller
        self.context = context
        self._moment: datetime
        self._now: str
        self._version = 0
        self._is_watched = False

    @property
    def now(self) -> str:
        return self._now

    async def begin(self) -> None:
        """Takes the tenant's next version, and with it the tenant's write lock."""
        state = await self._tx.fetch(self.context.statements.next_version, (self.tenant_id,))
        if not state:
            first = self.context.statements.first_version
            state = await self._tx.fetch(first, (self.tenant_id, 1))
        ((self._version, identity_version, watched_until),) = state
        self._is_watched = bool(watched_until)
        # Read after the lock is held, so that later versions have later times.
        self._moment = self.context.clock()
        self._now = clock.to_text(self._moment)
        self.tenant = await self._read_tenant(identity_version)

    async def _read_tenant(self, identity_version: int) -> CachedTenant:
        cached = self.context.tenants.get(self.tenant_id, identity_version)
        if cached is None:
            rows = await self.fetch(self.context.statements.site, {"tenant": self.tenant_id})
            cached = CachedTenant(identity_version, self.context.settings.site(rows))
            self.context.tenants.put(self.tenant_id, cached)
        return cached

    @property
    def is_read_only(self) -> bool:
        """The site can't be changed by this caller."""
        return self.tenant.site.read_only and not self._caller.is_platform

    def refuse_if_read_only(self) -> None:
        """Called after validation, whose errors come first."""
        if self.is_read_only:
            raise Forbidden(
                words("This site is read-only. Nothing can be changed until it is writable again.")
            )

    async def enqueue(self, kind: str, payload: Mapping[str, Any], run_at: str = "") -> str:
        """Adds a job that becomes visible to workers with the commit of this change."""
        job = new_job(self.tenant_id, kind, payload, self._now, run_at=run_at)
        statement = self.context.statements.job
        await self._tx.execute(statement, statement.bind(job))
        return str(job["id"])

    async def cancel(self, job_id: str) -> bool:
        """Takes a job back, if no worker has ever had it; then none will."""
        key = {"tenant": self.tenant_id, "id": job_id}
        return bool(await self.execute(self.context.statements.unstarted_job, key))

    async def waiting_jobs(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of the tenant's jobs of the kind that wait or run."""
        values = {"tenant": self.tenant_id, "kind": kind}
        rows = await self.fetch(self.context.statements.waiting_jobs, values)
        return [msgspec.json.decode(payload) for (payload,) in rows]

    async def has_turn(self, job_id: str, attempt: int) -> bool:
        """False once another worker has had the job, because this one was stopped for longer than
        its lease or the clock has jumped. The next attempt waits for this transaction."""
        key = {"tenant": self.tenant_id, "id": job_id}
        rows = await self.fetch(self.context.statements.attempts, key)
        return bool(rows) and rows[0][0] == attempt

    async def fetch(self, statement: Statement, values: Values) -> list[Row]:
        """Reads a capability's own tables in this change's transaction."""
        return await self._tx.fetch(statement, _bound(statement, values))

    async def execute(self, statement: Statement, values: Values, *, slow: bool = False) -> int:
        """Writes a capability's own tables in this change's transaction. `slow`: its cost grows
        with the site."""
        return await self._tx.execute(statement, _bound(statement, values), slow=slow)

    async def execute_many(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        await self._tx.execute_many(statement, [statement.bind(each) for each in rows])

    async def mark_identity(self) -> None:
        """Invalidates what is cached of the tenant's accounts, sessions, keys and settings."""
        # Also for the unit of which this one is a copy: see `Unit.by_service`.
        self.tenant.existing.clear()
        # Other units must not see what this one has not committed yet.
        self.tenant = CachedTenant(-1, self.tenant.site)
        await self.execute(self.context.statements.mark_identity, {"tenant": self.tenant_id})

    async def find(
        self, collection: Collection, equals: Mapping[str, Any], limit: int
    ) -> list[Record]:
        """Records of this tenant by equality, hidden fields included."""
        statement = self.context.statements.find(collection, tuple(equals), True)
        values = {**equals, "tenant": self.tenant_id, "limit": limit}
        rows = await self._tx.fetch(statement, statement.bind(values))
        to_record = engine_decoder(collection).record
        return [to_record(row) for row in rows]

    async def find_one(self, collection: Collection, equals: Mapping[str, Any]) -> Record | None:
        found = await self.find(collection, equals, 1)
        return found[0] if found else None

    async def require(
        self, collection: Collection, equals: Mapping[str, Any], *, missing: str | None = None
    ) -> Record:
        """Raises NotFound if there is none."""
        for found in await self.find(collection, equals, 1):
            return found
        raise NotFound(missing)

    async def find_some(self, collection: Collection, record_ids: Sequence[str]) -> list[Record]:
        """Those of the tenant's records that have one of these ids, in no order."""
        statements = self.context.statements
        values = {"tenant": self.tenant_id, "keys": statements.list_value(record_ids)}
        rows = await self.fetch(statements.find_some(collection), values)
        return [engine_decoder(collection).record(row) for row in rows]

    async def existing(
        self, collection: Collection, keys: Sequence[str], *, by: str = "id"
    ) -> set[str]:
        """Those of the keys that are ids of the tenant's records, or values of another field."""
        if not collection.is_identity:
            return await self._read_existing(collection, keys, by)
        known = self.tenant.existing.get((collection.name, by), _NONE).intersection(keys)
        if len(known) == len(keys):
            return known
        found = await self._read_existing(collection, [k for k in keys if k not in known], by)
        self.tenant.remember(collection.name, by, found)
        return known | found

    async def _read_existing(
        self, collection: Collection, keys: Sequence[str], by: str
    ) -> set[str]:
        statements = self.context.statements
        values = {"tenant": self.tenant_id, "keys": statements.list_value(keys)}
        rows = await self.fetch(statements.existing(collection, by), values)
        return {key for (key,) in rows}

    async def count_listed(
        self, listing: str, values: Sequence[str], collections: Sequence[str]
    ) -> list[Row]:
        """How many records of which collection a listing has by each of the values: rows of value,
        collection and total."""
        statements = self.context.statements
        bound = {
            "tenant": self.tenant_id,
            "listing": listing,
            "keys": statements.list_value(values),
            "collections": statements.list_value(collections),
        }
        return await self.fetch(statements.listed_totals, bound)

    @property
    def registry(self) -> Registry:
        return self.context.registry


def _bound(statement: Statement, values: Values) -> Sequence[object]:
    return statement.bind(values) if isinstance(values, Mapping) else values
