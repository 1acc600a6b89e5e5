"""Rate-limit counters on PostgreSQL, with row locks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.identity.limits.batches import BatchedStore
from masthead.identity.limits.stores import EXPIRE_SECONDS, Change
from masthead.identity.limits.tables import rate_limit_counters
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Row, Transaction, scope_of


class PostgresLimitStore(BatchedStore):
    def __init__(self, database: Database, now: clock.Clock = clock.now) -> None:
        super().__init__()
        self._database = database
        self._clock = now
        t = rate_limit_counters.c
        of_tenant = t.tenant_id == sa.bindparam("tenant")
        self._lock = database.compile(
            # Not synced to disk: a crash of the server loses less than a second. Set for this
            # transaction only, without a separate round trip.
            sa.select(t.subject, t.state, sa.func.set_config("synchronous_commit", "off", True))
            .where(of_tenant, dialects.any_of(t.subject, sa.bindparam("subjects")))
            .order_by(t.subject)
            .with_for_update()
        )
        self._write = database.compile(
            sa.update(rate_limit_counters)
            .where(of_tenant, t.subject == sa.bindparam("name"))
            .values(state=sa.bindparam("after"), used_at=sa.bindparam("moment"))
        )
        self._add = database.compile(
            dialects.insert_missing(
                rate_limit_counters, ("tenant_id", "subject"), ("state", "used_at")
            )
        )
        self._sweep = database.compile(
            sa.delete(rate_limit_counters).where(t.used_at < sa.bindparam("oldest"))
        )

    async def sweep(self) -> None:
        oldest = {"oldest": self._now() - EXPIRE_SECONDS}
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(*self._sweep(oldest), slow=True)

    async def _update_locked(
        self, tenant_id: TenantId, subjects: tuple[str, ...], change: Change[list[Any]]
    ) -> list[Any]:
        while True:
            # In the tenant's scope, as the other statements of the request.
            async with self._database.transaction(scope_of(tenant_id)) as tx:
                rows = await self._lock_rows(tx, tenant_id, subjects)
                states = {row[0]: bytes(row[1]) for row in rows}
                if len(states) == len(subjects):
                    before = [states[each] for each in subjects]
                    after, results = change(before)
                    await self._store(tx, tenant_id, subjects, before, after=after)
                    return results
            await self._add_rows(tenant_id, subjects)

    async def _lock_rows(
        self, tx: Transaction, tenant_id: TenantId, subjects: tuple[str, ...]
    ) -> list[Row]:
        values = {"tenant": tenant_id, "subjects": self._database.list_value(subjects)}
        return await tx.fetch(*self._lock(values))

    async def _store(
        self,
        tx: Transaction,
        tenant_id: TenantId,
        subjects: Sequence[str],
        before: Sequence[bytes],
        *,
        after: Sequence[bytes],
    ) -> None:
        moment = self._now()
        for name, old, new in zip(subjects, before, after, strict=True):
            if new != old:
                values = {"tenant": tenant_id, "name": name, "after": new, "moment": moment}
                await tx.execute(*self._write(values))

    async def _add_rows(self, tenant_id: TenantId, subjects: Sequence[str]) -> None:
        """A missing row can't be locked. Committed separately, so that no lock is held
        meanwhile."""
        moment = self._now()
        async with self._database.transaction(scope_of(tenant_id)) as tx:
            for subject in sorted(subjects):
                row = {"tenant_id": tenant_id, "subject": subject, "state": b"", "used_at": moment}
                await tx.execute(*self._add(row))

    def _now(self) -> int:
        return int(self._clock().timestamp())
