"""When keys and sign-ins were last used: recorded in memory, written a little later, many at once.

Bypasses the engine: the tenant's caches stay valid, and there is no event.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from masthead.base import clock
from masthead.base.errors import StatementTimeout, Unavailable
from masthead.base.logs import log
from masthead.identity.delayed_writes import FLUSH_SECONDS, DelayedWrites
from masthead.storage.database import EVERY_TENANT, Database

MAX_CACHED = 20_000


class LastUses:
    """Writes `column` of a row by its tenant and id, at most once in `interval`."""

    def __init__(
        self,
        database: Database,
        table: str,
        column: str,
        interval: timedelta,
        *,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self._database = database
        self._table = table
        self._interval = interval
        self._recorded: dict[tuple[str, str], tuple[datetime, datetime]] = {}
        """The last use that was taken, and until when others are not."""
        self._pending: dict[tuple[str, str], datetime] = {}
        self._writes = DelayedWrites(self._write_uses, flush_seconds)
        self._write = database.compile(_record_use(table, column))

    def record(self, tenant_id: str, row_id: str, now: datetime) -> None:
        name = (tenant_id, row_id)
        recorded = self._recorded.get(name)
        if recorded is not None and recorded[0] <= now < recorded[1]:
            return
        if len(self._recorded) >= MAX_CACHED:
            self._recorded.clear()
        self._recorded[name] = (now, now + self._interval)
        self._pending[name] = now
        self._writes.schedule()

    async def flush(self) -> None:
        await self._writes.finish()

    async def _write_uses(self) -> None:
        uses, self._pending = self._pending, {}
        if not uses:
            return
        # In a fixed order, so that two processes can't deadlock.
        rows = [self._write.bind(self._use(*name, used)) for name, used in sorted(uses.items())]
        try:
            async with self._database.transaction(EVERY_TENANT) as tx:
                await tx.execute_many(self._write, rows)
        except (Unavailable, StatementTimeout):
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
