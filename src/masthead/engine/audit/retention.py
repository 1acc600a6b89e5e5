"""How long the audit log is stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import sqlalchemy as sa

from masthead.base import clock
from masthead.base.clock import Clock
from masthead.engine.audit.collection import audit_log
from masthead.storage.batches import remove_in_batches
from masthead.storage.database import Database

RETENTION = timedelta(days=400)
"""A year and a little more, so that this month can be compared with the same one a year ago."""
BATCH = 500
"""Writes of others need not wait for all of it."""


class AuditRetention:
    def __init__(self, database: Database, tables: Mapping[str, sa.Table], now: Clock) -> None:
        self._database = database
        self._clock = now
        table = tables[audit_log.name]
        key = sa.tuple_(table.c.tenant_id, table.c.id)
        old = sa.select(table.c.tenant_id, table.c.id).where(
            table.c.created < sa.bindparam("before")
        )
        oldest = old.order_by(table.c.created, table.c.id).limit(BATCH)
        self._remove = database.compile(sa.delete(table).where(key.in_(oldest)))

    async def sweep(self) -> None:
        bound = self._remove({"before": clock.to_text(self._clock() - RETENTION)})
        await remove_in_batches(self._database, bound, BATCH)
