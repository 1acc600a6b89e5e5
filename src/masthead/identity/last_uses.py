"""When keys and sign-ins were last used: recorded in memory, written a little later, many at once.

Bypasses the engine: the tenant's caches stay valid, and there is no event.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
import structlog

from masthead import clock
from masthead.errors import Unavailable
from masthead.storage.database import EVERY_TENANT, Database

MAX_CACHED = 20_000
FLUSH_SECONDS = 5.0

log = structlog.get_logger()


class LastUses:
    """Writes `column` of a row by its tenant and id, at most once in `interval`."""

    def __init__(
        self,
        database: Database,
        table: str,
        column: str,
        interval: timedelta,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self._database = database
        self._table = table
        self._interval = interval
        self._flush_seconds = flush_seconds
        self._recorded: dict[tuple[str, str], datetime] = {}
        self._pending: dict[tuple[str, str], datetime] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._write = database.compile(_record_use(table, column))

    def record(self, tenant_id: str, row_id: str, now: datetime) -> None:
        name = (tenant_id, row_id)
        recorded = self._recorded.get(name)
        if recorded is not None and recorded <= now < recorded + self._interval:
            return
        if len(self._recorded) >= MAX_CACHED:
            self._recorded.clear()
        self._recorded[name] = self._pending[name] = now
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._flush_seconds, self._start_writing)

    async def flush(self) -> None:
        """Writes recorded uses. Called before the database is closed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None:
            await self._writing
        await self._flush()

    def _start_writing(self) -> None:
        self._timer = None
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._flush())

    async def _flush(self) -> None:
        uses, self._pending = self._pending, {}
        if not uses:
            return
        # In a fixed order, so that two processes can't deadlock.
        rows = [self._write.bind(self._use(*name, used)) for name, used in sorted(uses.items())]
        try:
            async with self._database.transaction(EVERY_TENANT) as tx:
                await tx.execute_many(self._write, rows)
        except Unavailable:
            # A lost use is logged and does not fail a request.
            log.warning("last_uses.not_recorded", table=self._table, rows=len(uses))

    def _use(self, tenant_id: str, row_id: str, used: datetime) -> dict[str, object]:
        return {
            "tenant": tenant_id,
            "row": row_id,
            "used": clock.to_text(used),
            "due": clock.to_text(used - self._interval),
        }


def _record_use(name: str, column: str) -> sa.Update:
    # Another process may have recorded a use within the interval.
    table: Any = sa.table(name, *(sa.column(each) for each in ("tenant_id", "id", column)))
    return (
        sa.update(table)
        .where(
            table.c.tenant_id == sa.bindparam("tenant"),
            table.c.id == sa.bindparam("row"),
            table.c[column] <= sa.bindparam("due"),
        )
        .values({column: sa.bindparam("used")})
    )
