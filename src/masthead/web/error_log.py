"""The last errors of the service itself, by request id, for operators.

Written a little later and many at once, like the last uses of keys: the answer does not wait, and a
database that is the reason for the errors gets no more work from them.
"""

from __future__ import annotations

import traceback
from datetime import timedelta

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.base.errors import StatementTimeout, Unavailable
from masthead.base.logs import log
from masthead.identity.delayed_writes import FLUSH_SECONDS, DelayedWrites
from masthead.storage.batches import remove_in_batches
from masthead.storage.database import EVERY_TENANT, Database
from masthead.web.tables import request_errors

RETENTION = timedelta(days=30)
MAX_PENDING = 100
"""The first errors of a burst are enough."""
MAX_ROWS = 5_000
"""Each may have a long trace, and a fault in every request must not fill the disk."""
MAX_TEXT = 20_000
MAX_LISTED = 100
BATCH = 500
"""Rows of one sweep: writes of others need not wait for all of it."""


class RequestError(msgspec.Struct, frozen=True):
    request_id: str
    tenant_id: str
    created: str
    method: str
    path: str
    error: str
    trace: str
    """Files, lines and functions, no values."""


class ErrorLog:
    def __init__(
        self, database: Database, now: clock.Clock, flush_seconds: float = FLUSH_SECONDS
    ) -> None:
        self._database = database
        self._clock = now
        self._pending: list[RequestError] = []
        self._writes = DelayedWrites(self._write, flush_seconds)
        t = request_errors.c
        self._insert = database.compile(sa.insert(request_errors))
        newest = sa.select(*t).order_by(t.created.desc()).limit(MAX_LISTED)
        self._newest = database.compile(newest)
        self._one = database.compile(
            sa.select(*t).where(t.request_id == sa.bindparam("request_id"))
        )
        old = sa.select(t.request_id).where(t.created < sa.bindparam("before")).limit(BATCH)
        self._sweep = database.compile(sa.delete(request_errors).where(t.request_id.in_(old)))
        rest = sa.select(t.request_id).order_by(t.created.desc())
        rest = rest.limit(_number(BATCH)).offset(_number(MAX_ROWS))
        self._drop_oldest = database.compile(
            sa.delete(request_errors).where(t.request_id.in_(rest))
        )

    def record(
        self, error: BaseException, request_id: str, tenant_id: str, method: str, *, path: str
    ) -> None:
        if len(self._pending) >= MAX_PENDING:
            return
        frames = traceback.format_list(traceback.extract_tb(error.__traceback__))
        self._pending.append(
            RequestError(
                request_id,
                tenant_id,
                clock.to_text(self._clock()),
                method,
                path.replace("\0", "\ufffd")[:MAX_TEXT],
                type(error).__name__,
                "".join(frames)[-MAX_TEXT:],
            )
        )
        self._writes.schedule()

    async def flush(self) -> None:
        await self._writes.finish()

    async def newest(self) -> list[RequestError]:
        rows = await self._database.fetch(EVERY_TENANT, *self._newest())
        return [RequestError(*row) for row in rows]

    async def find(self, request_id: str) -> RequestError | None:
        rows = await self._database.fetch(EVERY_TENANT, *self._one({"request_id": request_id}))
        return RequestError(*rows[0]) if rows else None

    async def sweep(self) -> None:
        bound = self._sweep({"before": clock.to_text(self._clock() - RETENTION)})
        await remove_in_batches(self._database, bound, BATCH)

    async def _write(self) -> None:
        errors, self._pending = self._pending, []
        if not errors:
            return
        rows = [self._insert.bind(msgspec.structs.asdict(each)) for each in errors]
        try:
            async with self._database.transaction(EVERY_TENANT) as tx:
                await tx.execute_many(self._insert, rows)
                await tx.execute(*self._drop_oldest(), slow=True)
        except (Unavailable, StatementTimeout):
            log.warning("request_errors.not_recorded", rows=len(rows))


def _number(number: int) -> sa.ColumnElement[int]:
    # A literal: for a parameter PostgreSQL would plan to read a tenth of the table.
    return sa.literal_column(str(number))
