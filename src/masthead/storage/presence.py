"""Which processes of the service run on a PostgreSQL database, and what their code knows.

Each service and worker says every few seconds that it is there. A migration that older code can't
live with asks here before it starts. SQLite needs none of this: it serves one machine, where the
service is stopped to be upgraded.
"""

from __future__ import annotations

import asyncio
from typing import Any

import sqlalchemy as sa

from masthead.base import ids
from masthead.base.errors import StatementTimeout, Unavailable
from masthead.base.logs import log
from masthead.base.version import running_version
from masthead.storage.columns import integers, texts
from masthead.storage.database import EVERY_TENANT, Database
from masthead.storage.metadata import metadata
from masthead.storage.migrate import HEAD

BEAT_SECONDS = 5.0
GONE_SECONDS = 30
"""A process that has said nothing for so long is no longer there."""

running_processes = sa.Table(
    "running_processes",
    metadata,
    *texts("id", "version", "revision"),
    # Seconds since 1970 by the server's clock, which all machines share.
    *integers("seen_at"),
    sa.PrimaryKeyConstraint("id"),
)


class Presence:
    """The heartbeat of this process in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._id = ids.new_id()
        self._beating: asyncio.Task[None] | None = None
        t = running_processes.c
        now: sa.ColumnElement[int] = sa.cast(sa.extract("epoch", sa.func.now()), sa.BigInteger)
        row = {"id": sa.bindparam("own_id"), "seen_at": now}
        row |= {"version": sa.bindparam("version"), "revision": sa.bindparam("revision")}
        self._add = database.compile(sa.insert(running_processes).values(row))
        self._update = database.compile(
            sa.update(running_processes).where(t.id == sa.bindparam("own_id")).values(seen_at=now)
        )
        self._leave = database.compile(
            sa.delete(running_processes).where(
                sa.or_(t.id == sa.bindparam("own_id"), t.seen_at < now - 100 * GONE_SECONDS)
            )
        )

    def begin(self) -> None:
        if not self._database.has_one_writer:
            self._beating = asyncio.create_task(self._beat_forever())

    async def end(self) -> None:
        if self._beating is None:
            return
        self._beating.cancel()
        await asyncio.gather(self._beating, return_exceptions=True)
        try:
            async with self._database.transaction(EVERY_TENANT) as tx:
                await tx.execute(self._leave, self._leave.bind({"own_id": self._id}))
        except (Unavailable, StatementTimeout):
            pass  # noticed after `GONE_SECONDS`

    async def _beat_forever(self) -> None:
        while True:
            try:
                await self._beat()
            except (Unavailable, StatementTimeout):
                log.warning("presence.not_recorded")
            await asyncio.sleep(BEAT_SECONDS)

    async def _beat(self) -> None:
        version = running_version().version
        values: dict[str, Any] = {"own_id": self._id, "version": version, "revision": HEAD}
        async with self._database.transaction(EVERY_TENANT) as tx:
            if not await tx.execute(self._update, self._update.bind(values)):
                await tx.execute(self._add, self._add.bind(values))
