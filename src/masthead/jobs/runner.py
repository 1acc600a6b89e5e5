"""Runs what was queued: claims due jobs with a lease, hands them to their handlers, retries."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec
import sqlalchemy as sa
import structlog

from masthead import clock
from masthead.errors import Unavailable
from masthead.ids import TenantId
from masthead.jobs.queue import jobs
from masthead.storage.database import EVERY_TENANT, Database

LEASE = timedelta(minutes=5)
BATCH = 20
IDLE_SECONDS = 1.0
RETRY_SECONDS = (5, 30, 120, 600, 3600, 3 * 3600, 6 * 3600, 12 * 3600)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Job:
    tenant_id: TenantId
    id: str
    kind: str
    payload: Mapping[str, Any]
    attempts: int


Handler = Callable[[Job], Awaitable[None]]


class JobRunner:
    """Handlers may run twice (a crash after the work, before the row is gone) and must not mind."""

    def __init__(
        self, database: Database, handlers: Mapping[str, Handler], now: clock.Clock = clock.now
    ) -> None:
        self._database = database
        self._handlers = handlers
        self._clock = now
        self._stopping = asyncio.Event()
        t = jobs.c
        due = sa.and_(
            t.failed_at == "",
            t.run_at <= sa.bindparam("now"),
            t.leased_until <= sa.bindparam("now"),
        )
        self._due = database.compile(
            sa.select(t.tenant_id, t.id, t.kind, t.payload, t.attempts)
            .where(due)
            .order_by(t.run_at)
            .limit(BATCH)
            # Several workers share a queue on PostgreSQL; SQLite has one writer and no such words.
            .with_for_update(skip_locked=True)
        )
        mine = (t.tenant_id == sa.bindparam("key_tenant"), t.id == sa.bindparam("key_id"))
        self._lease = database.compile(
            sa.update(jobs)
            .where(*mine)
            .values(leased_until=sa.bindparam("until"), attempts=t.attempts + 1)
        )
        self._done = database.compile(sa.delete(jobs).where(*mine))
        self._again = database.compile(
            sa.update(jobs)
            .where(*mine)
            .values(
                leased_until="",
                run_at=sa.bindparam("later"),
                failed_at=sa.bindparam("failed"),
                error=sa.bindparam("reason"),
            )
        )

    async def run_forever(self) -> None:
        while not self._stopping.is_set():
            try:
                worked = await self.run_due()
            except Unavailable:
                log.warning("jobs.database_unavailable")
                worked = 0
            if not worked:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), IDLE_SECONDS)

    def stop(self) -> None:
        """Lets the job in hand finish and takes no other."""
        self._stopping.set()

    async def run_due(self) -> int:
        """Runs what is due now, once; returns how many jobs that were."""
        claimed = await self._claim()
        for job in claimed:
            await self._run(job)
        return len(claimed)

    async def _claim(self) -> list[Job]:
        now = self._clock()
        async with self._database.transaction(EVERY_TENANT) as tx:
            rows = await tx.fetch(self._due, self._due.bind({"now": clock.to_text(now)}))
            for tenant_id, job_id, *_ in rows:
                values = {
                    "key_tenant": tenant_id,
                    "key_id": job_id,
                    "until": clock.to_text(now + LEASE),
                }
                await tx.execute(self._lease, self._lease.bind(values))
        return [
            Job(TenantId(tenant_id), job_id, kind, msgspec.json.decode(payload), attempts + 1)
            for tenant_id, job_id, kind, payload, attempts in rows
        ]

    async def _run(self, job: Job) -> None:
        try:
            await self._handlers[job.kind](job)
        # One of the service's three outermost edges: whatever a job raises is logged and retried.
        except Exception as error:
            log.exception("jobs.failed", kind=job.kind, job_id=job.id, attempt=job.attempts)
            await self._postpone(job, type(error).__name__)
            return
        async with self._database.transaction(EVERY_TENANT) as tx:
            bound = self._done.bind({"key_tenant": job.tenant_id, "key_id": job.id})
            await tx.execute(self._done, bound)

    async def _postpone(self, job: Job, reason: str) -> None:
        now = self._clock()
        gives_up = job.attempts > len(RETRY_SECONDS)
        wait = RETRY_SECONDS[min(job.attempts, len(RETRY_SECONDS)) - 1]
        values = {
            "key_tenant": job.tenant_id,
            "key_id": job.id,
            "later": clock.to_text(now + timedelta(seconds=wait)),
            "failed": clock.to_text(now) if gives_up else "",
            "reason": reason,
        }
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(self._again, self._again.bind(values))
