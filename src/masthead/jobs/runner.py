"""Runs what was queued: claims due jobs with a lease, hands them to their handlers, retries."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
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
from masthead.storage.database import EVERY_TENANT, Database, Statement

LEASE = timedelta(minutes=5)
HEARTBEAT_SECONDS = 60.0
BATCH = 20
IDLE_SECONDS = 1.0
CHORE_RETRY = timedelta(minutes=1)
RETRY_SECONDS = (5, 30, 120, 600, 3600, 3 * 3600, 6 * 3600, 12 * 3600)
MAX_ATTEMPTS = len(RETRY_SECONDS) + 1

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Job:
    tenant_id: TenantId
    id: str
    kind: str
    payload: Mapping[str, Any]
    attempts: int


Handler = Callable[[Job], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Chore:
    """What every worker does at its start and then now and again, harmless if several do it."""

    name: str
    every: timedelta
    run: Callable[[], Awaitable[object]]


class JobRunner:
    """Handlers may run twice (a crash after the work, before the row is gone) and must not mind."""

    def __init__(
        self,
        database: Database,
        handlers: Mapping[str, Handler],
        now: clock.Clock = clock.now,
        *,
        chores: Sequence[Chore] = (),
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._handlers = handlers
        self._queue = _Queue(database, now)
        self._clock = now
        self._chores = {chore: now() for chore in chores}
        """When each is to be done next."""
        self._heartbeat_seconds = heartbeat_seconds
        self._stopping = asyncio.Event()

    async def run_forever(self) -> None:
        while not self._stopping.is_set():
            try:
                await self.do_chores()
                worked = await self.run_due()
            except Unavailable:
                log.warning("jobs.database_unavailable")
                worked = 0
            # Part of the job's edge: a worker that has died would only be noticed by what it
            # leaves undone.
            except Exception:
                log.exception("jobs.round_failed")
                worked = 0
            if not worked:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), IDLE_SECONDS)

    async def do_chores(self) -> None:
        for chore, due in self._chores.items():
            if due <= self._clock() and not self._stopping.is_set():
                wait = chore.every if await self._is_done(chore) else CHORE_RETRY
                self._chores[chore] = self._clock() + wait

    async def _is_done(self, chore: Chore) -> bool:
        try:
            await chore.run()
        # At the same edge as jobs: one chore that fails keeps nothing else from being done.
        except Exception:
            log.exception("jobs.chore_failed", chore=chore.name)
            return False
        return True

    def stop(self) -> None:
        """Lets the job in hand finish and takes no other."""
        self._stopping.set()

    async def run_due(self) -> int:
        """Runs what is due now, once; returns how many jobs that were."""
        claimed = await self._queue.claim()
        for job, lease in claimed:
            if self._stopping.is_set():
                await self._queue.give_back(job, lease)
            else:
                await self._run(job, lease)
        return len(claimed)

    async def _run(self, job: Job, lease: _Lease) -> None:
        # Those before it may have taken long: somebody else may be at it by now.
        if not await self._queue.still_holds(job, lease):
            return
        if job.attempts > MAX_ATTEMPTS:
            # It never got as far as failing, so it must be what ends the worker each time.
            await self._queue.postpone(job, lease, "the worker died while running it")
            return
        try:
            async with self._heart_beating(job, lease):
                await self._handlers[job.kind](job)
        # One of the service's three outermost edges: whatever a job raises is logged and retried.
        except Exception as error:
            log.exception("jobs.failed", kind=job.kind, job_id=job.id, attempt=job.attempts)
            await self._queue.postpone(job, lease, type(error).__name__)
            return
        await self._queue.finish(job)

    @contextlib.asynccontextmanager
    async def _heart_beating(self, job: Job, lease: _Lease) -> AsyncIterator[None]:
        """Keeps the lease for as long as the job takes."""
        # Told to end, not cancelled: a renewal cut off would leave open which lease holds.
        is_over = asyncio.Event()
        beating = asyncio.create_task(self._beat(job, lease, is_over))
        try:
            yield
        finally:
            is_over.set()
            await beating

    async def _beat(self, job: Job, lease: _Lease, is_over: asyncio.Event) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(is_over.wait(), self._heartbeat_seconds)
                return
            # Not reached this time, perhaps the next: there are several beats to a lease.
            with contextlib.suppress(Unavailable):
                await self._queue.renew(job, lease)


@dataclass(slots=True)
class _Lease:
    """Until when a claim holds; the text in the row tells one claim from a later one."""

    until: str


class _Queue:
    """The statements on the table, each in a transaction of its own."""

    def __init__(self, database: Database, now: clock.Clock) -> None:
        self._database = database
        self._clock = now
        t = jobs.c
        self._due = database.compile(
            sa.select(t.tenant_id, t.id, t.kind, t.payload, t.attempts)
            .where(
                t.failed_at == "",
                t.run_at <= sa.bindparam("now"),
                t.leased_until <= sa.bindparam("now"),
            )
            .order_by(t.run_at)
            .limit(BATCH)
            # Several workers share a queue on PostgreSQL; SQLite has one writer and no such words.
            .with_for_update(skip_locked=True)
        )
        this = (t.tenant_id == sa.bindparam("key_tenant"), t.id == sa.bindparam("key_id"))
        mine = (*this, t.leased_until == sa.bindparam("lease"))
        self._take = database.compile(
            sa.update(jobs)
            .where(*this)
            .values(leased_until=sa.bindparam("until"), attempts=t.attempts + 1)
        )
        self._extend = database.compile(
            sa.update(jobs).where(*mine).values(leased_until=sa.bindparam("until"))
        )
        self._release = database.compile(
            sa.update(jobs).where(*mine).values(leased_until="", attempts=t.attempts - 1)
        )
        self._remove = database.compile(sa.delete(jobs).where(*this))
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

    async def claim(self) -> list[tuple[Job, _Lease]]:
        now = self._clock()
        until = clock.to_text(now + LEASE)
        async with self._database.transaction(EVERY_TENANT) as tx:
            rows = await tx.fetch(self._due, self._due.bind({"now": clock.to_text(now)}))
            for tenant_id, job_id, *_ in rows:
                values = {"key_tenant": tenant_id, "key_id": job_id, "until": until}
                await tx.execute(self._take, self._take.bind(values))
        return [
            (
                Job(TenantId(tenant_id), job_id, kind, msgspec.json.decode(payload), attempts + 1),
                _Lease(until),
            )
            for tenant_id, job_id, kind, payload, attempts in rows
        ]

    async def still_holds(self, job: Job, lease: _Lease) -> bool:
        left = clock.from_text(lease.until) - self._clock()
        return left > LEASE / 2 or await self.renew(job, lease)

    async def renew(self, job: Job, lease: _Lease) -> bool:
        """False when the lease is lost: it ran out, and another worker has the job."""
        until = clock.to_text(self._clock() + LEASE)
        if not await self._execute(self._extend, job, lease=lease.until, until=until):
            return False
        lease.until = until
        return True

    async def give_back(self, job: Job, lease: _Lease) -> None:
        """As if it had never been claimed."""
        await self._execute(self._release, job, lease=lease.until)

    async def finish(self, job: Job) -> None:
        # Whoever holds the lease by now: the work is done.
        await self._execute(self._remove, job)

    async def postpone(self, job: Job, lease: _Lease, reason: str) -> None:
        """Queues it again, later each time; in the end it stays for a person to look at."""
        now = self._clock()
        gives_up = job.attempts >= MAX_ATTEMPTS
        wait = RETRY_SECONDS[min(job.attempts, len(RETRY_SECONDS)) - 1]
        await self._execute(
            self._again,
            job,
            lease=lease.until,
            later=clock.to_text(now + timedelta(seconds=wait)),
            failed=clock.to_text(now) if gives_up else "",
            reason=reason,
        )

    async def _execute(self, statement: Statement, job: Job, **values: str) -> int:
        key = {"key_tenant": job.tenant_id, "key_id": job.id}
        async with self._database.transaction(EVERY_TENANT) as tx:
            return await tx.execute(statement, statement.bind(key | values))
