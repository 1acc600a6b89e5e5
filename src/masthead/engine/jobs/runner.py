"""The job worker: claims due jobs with a lease, calls their handlers, retries failures.

Each kind of job has its own concurrency limit, so that emails are sent during a large export, and
exports run while a mail server hangs."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec
import sqlalchemy as sa

from masthead.base import clock, counters
from masthead.base.errors import Unavailable
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.jobs.tables import jobs
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Statement, Transaction

LEASE = timedelta(minutes=2)
"""How long after a worker's death other workers take over its jobs."""
HEARTBEAT_SECONDS = 20.0
CONCURRENCY = 2
"""Concurrent jobs of a kind per process, by default."""
IDLE_SECONDS = 1.0
CHORE_RETRY = timedelta(minutes=1)
RETRY_SECONDS = (5, 30, 120, 600, 3600, 3 * 3600, 6 * 3600, 12 * 3600)
MAX_ATTEMPTS = len(RETRY_SECONDS) + 1


class Stopped(Exception):
    """The worker ends. A long job raises it between two steps; another worker goes on with it."""


class Job(msgspec.Struct, frozen=True):
    tenant_id: TenantId
    id: str
    kind: str
    payload: Mapping[str, Any]
    attempts: int
    is_stopping: Callable[[], bool] = lambda: False

    def check(self) -> None:
        """Called between the steps of long work. Raises `Stopped`."""
        if self.is_stopping():
            raise Stopped


Handler = Callable[[Job], Awaitable[None]]


class Chore(msgspec.Struct, frozen=True):
    """Periodic work of every worker, which also runs at its start. Several workers may do it at
    once."""

    name: str
    every: timedelta
    run: Callable[[], Awaitable[object]]


class JobRunner:
    """A job may run twice (after a crash between the work and the removal of its row), so handlers
    must be idempotent. It never runs twice at the same time."""

    def __init__(
        self,
        database: Database,
        handlers: Mapping[str, Handler],
        now: clock.Clock = clock.now,
        *,
        chores: Sequence[Chore] = (),
        concurrency: Mapping[str, int] | None = None,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._handlers = handlers
        self._concurrency = {kind: (concurrency or {}).get(kind, CONCURRENCY) for kind in handlers}
        self._clock = now
        self._chores = {chore: now() for chore in chores}
        """With the time of the next run."""
        self._heartbeat_seconds = heartbeat_seconds
        self._running: dict[asyncio.Task[None], Job] = {}
        self._wake = asyncio.Event()
        self._stopping = asyncio.Event()
        self._queue = _Queue(database, tuple(handlers), now, self._stopping.is_set)

    async def run_forever(self) -> None:
        """Returns after `stop`, when all running jobs are finished."""
        chores = asyncio.create_task(self._do_chores_forever())
        while not self._stopping.is_set():
            self._wake.clear()
            if not await self._try_start_due():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), IDLE_SECONDS)
        await asyncio.gather(chores, *self._running)

    def stop(self) -> None:
        """Running jobs finish, or put the rest of their work back; no other is started."""
        self._stopping.set()
        self._wake.set()

    async def run_due(self) -> int:
        """Runs one round of due jobs; returns how many."""
        started = await self._start_due()
        await asyncio.gather(*started)
        return len(started)

    async def _try_start_due(self) -> int:
        try:
            return len(await self._start_due())
        except Unavailable:
            log.warning("jobs.database_unavailable")
        # Part of the job's edge: the worker must not die.
        except Exception:
            log.exception("jobs.round_failed")
        return 0

    async def _start_due(self) -> list[asyncio.Task[None]]:
        taken = Counter(job.kind for job in self._running.values())
        free = {kind: limit - taken[kind] for kind, limit in self._concurrency.items()}
        running = [job.id for job in self._running.values()]
        claimed = await self._queue.claim(
            {kind: free[kind] for kind in free if free[kind] > 0}, running
        )
        return [self._start(job, lease) for job, lease in claimed]

    def _start(self, job: Job, lease: _Lease) -> asyncio.Task[None]:
        task = asyncio.create_task(self._run(job, lease))
        self._running[task] = job
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._wake.set()

    async def _run(self, job: Job, lease: _Lease) -> None:
        try:
            await self._run_and_record(job, lease)
        except Unavailable:
            # The job runs again when its lease has expired.
            log.warning("jobs.database_unavailable")
        except Exception:
            log.exception("jobs.not_recorded", kind=job.kind, job_id=job.id)

    async def _run_and_record(self, job: Job, lease: _Lease) -> None:
        if job.attempts > MAX_ATTEMPTS:
            # It never failed, so it must have killed the worker each time.
            await self._queue.postpone(job, lease, "the worker died while running it")
            return
        try:
            await self._handle(job, lease)
        except _LeaseLost:
            log.warning("jobs.lease_lost", kind=job.kind, job_id=job.id)
            return
        except Stopped:
            await self._queue.put_back(job, lease)
            return
        # One of the three edges with a broad catch: any exception of a job is logged and retried.
        except Exception as error:
            log.exception("jobs.failed", kind=job.kind, job_id=job.id, attempt=job.attempts)
            counters.JOBS.add(job.kind, counters.FAILED)
            await self._queue.postpone(job, lease, type(error).__name__)
            return
        await self._queue.finish(job)
        counters.JOBS.add(job.kind, counters.DONE)

    async def _handle(self, job: Job, lease: _Lease) -> None:
        """Renews the lease while the job runs."""
        work = asyncio.ensure_future(self._handlers[job.kind](job))
        try:
            while not (await asyncio.wait({work}, timeout=self._heartbeat_seconds))[0]:
                if not await self._queue.renew(job, lease):
                    raise _LeaseLost
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait({work})
        try:
            work.result()
        finally:
            # Breaks the cycle of this frame and the exception's traceback.
            del work

    async def _do_chores_forever(self) -> None:
        """Runs concurrently with the jobs."""
        while not self._stopping.is_set():
            await self.do_chores()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), IDLE_SECONDS)

    async def do_chores(self) -> None:
        for chore in self._chores:
            if self._is_due(chore) and not self._stopping.is_set():
                wait = chore.every if await self._is_done(chore) else CHORE_RETRY
                self._chores[chore] = self._clock() + wait

    def _is_due(self, chore: Chore) -> bool:
        """Also if the clock was ahead when it last ran."""
        wait = self._chores[chore] - self._clock()
        return not timedelta() < wait <= max(chore.every, CHORE_RETRY)

    async def _is_done(self, chore: Chore) -> bool:
        try:
            await chore.run()
        # The same edge as for jobs: a failed chore must not stop the others.
        except Exception:
            log.exception("jobs.chore_failed", chore=chore.name)
            return False
        return True


class _LeaseLost(Exception):
    """Another worker may have the job by now, so this one stops it."""


class _Lease(msgspec.Struct):
    """The end of a claim. The same text in the row identifies the claim."""

    until: str


class _Queue:
    """Statements on the table of jobs, each in a transaction of its own."""

    def __init__(
        self,
        database: Database,
        kinds: Sequence[str],
        now: clock.Clock,
        is_stopping: Callable[[], bool],
    ) -> None:
        self._database = database
        self._kinds = kinds
        self._clock = now
        self._is_stopping = is_stopping
        t = jobs.c
        due = (
            t.failed_at == "",
            t.run_at <= sa.bindparam("now"),
            t.leased_until <= sa.bindparam("now"),
        )
        self._has_due = database.compile(
            sa.select(*(sa.exists().where(t.kind == kind, *due) for kind in kinds))
        )
        self._next = database.compile(
            sa.select(t.tenant_id, t.id, t.payload, t.attempts)
            .where(
                t.kind == sa.bindparam("kind"),
                *due,
                sa.not_(dialects.any_of(t.id, sa.bindparam("running"))),
            )
            .order_by(t.run_at)
            # A literal, so that the planner does not sort a long queue.
            .limit(sa.literal_column("1"))
            # For several workers on PostgreSQL; SQLite, with its one writer, ignores it.
            .with_for_update(skip_locked=True)
        )
        this = (t.tenant_id == sa.bindparam("key_tenant"), t.id == sa.bindparam("key_id"))
        mine = (*this, t.leased_until == sa.bindparam("lease"))
        self._claim = database.compile(
            sa.update(jobs)
            .where(*this)
            .values(leased_until=sa.bindparam("until"), attempts=t.attempts + 1)
        )
        self._extend = database.compile(
            sa.update(jobs).where(*mine).values(leased_until=sa.bindparam("until"))
        )
        self._put_back = database.compile(
            sa.update(jobs).where(*mine).values(leased_until="", attempts=t.attempts - 1)
        )
        self._remove = database.compile(sa.delete(jobs).where(*this))
        self._postpone = database.compile(
            sa.update(jobs)
            .where(*mine)
            .values(
                leased_until="",
                run_at=sa.bindparam("later"),
                failed_at=sa.bindparam("failed"),
                error=sa.bindparam("reason"),
            )
        )

    async def claim(
        self, free_slots: Mapping[str, int], running: Sequence[str]
    ) -> list[tuple[Job, _Lease]]:
        """Claims the longest due jobs of each kind, as many as there are free slots. `running`:
        those of this worker, which goes on with them if a clock that jumps ends their leases."""
        now = self._clock()
        due = [kind for kind in await self._due_kinds(clock.to_text(now)) if kind in free_slots]
        if not due:
            return []
        lease, listed = clock.to_text(now + LEASE), self._database.list_value(running)
        claimed: list[tuple[Job, _Lease]] = []
        async with self._database.transaction(EVERY_TENANT) as tx:
            for kind in due:
                for _ in range(free_slots[kind]):
                    values = {"now": clock.to_text(now), "running": listed, "kind": kind}
                    job = await self._claim_one(tx, values, lease)
                    if job is None:
                        break
                    claimed.append((job, _Lease(lease)))
        return claimed

    async def _due_kinds(self, now: str) -> list[str]:
        """A read without the write lock: mostly there is nothing to do."""
        (row,) = await self._database.fetch(EVERY_TENANT, *self._has_due({"now": now}))
        return [kind for kind, is_due in zip(self._kinds, row, strict=True) if is_due]

    async def _claim_one(
        self, tx: Transaction, wanted: Mapping[str, Any], lease: str
    ) -> Job | None:
        rows = await tx.fetch(*self._next(wanted))
        if not rows:
            return None
        ((tenant_id, job_id, payload, attempts),) = rows
        values = {"key_tenant": tenant_id, "key_id": job_id, "until": lease}
        await tx.execute(*self._claim(values))
        return Job(
            TenantId(tenant_id),
            job_id,
            wanted["kind"],
            _payload(payload),
            attempts + 1,
            self._is_stopping,
        )

    async def renew(self, job: Job, lease: _Lease) -> bool:
        """False when the lease has expired, so that another worker may have the job."""
        now = self._clock()
        until = clock.to_text(now + LEASE)
        try:
            is_renewed = await self._execute(self._extend, job, lease=lease.until, until=until)
        except Unavailable:
            # The next heartbeat may succeed: a lease lasts for several.
            return clock.to_text(now) < lease.until
        lease.until = until
        return bool(is_renewed)

    async def finish(self, job: Job) -> None:
        # Even if another worker has the lease by now: the work is done.
        await self._execute(self._remove, job)

    async def put_back(self, job: Job, lease: _Lease) -> None:
        """Due at once, as if this attempt had not been."""
        await self._execute(self._put_back, job, lease=lease.until)

    async def postpone(self, job: Job, lease: _Lease, reason: str) -> None:
        """Queues it again with a backoff. After the last attempt the failed row stays."""
        now = self._clock()
        gives_up = job.attempts >= MAX_ATTEMPTS
        wait = RETRY_SECONDS[min(job.attempts, len(RETRY_SECONDS)) - 1]
        await self._execute(
            self._postpone,
            job,
            lease=lease.until,
            later=clock.to_text(now + timedelta(seconds=wait)),
            failed=clock.to_text(now) if gives_up else "",
            reason=reason,
        )

    async def _execute(self, statement: Statement, job: Job, **values: str) -> int:
        key = {"key_tenant": job.tenant_id, "key_id": job.id}
        async with self._database.transaction(EVERY_TENANT) as tx:
            return await tx.execute(*statement(key | values))


def _payload(stored: str) -> Mapping[str, Any]:
    """Empty if it can't be read: then its handler fails, and not the claim of all due jobs."""
    try:
        return msgspec.json.decode(stored, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}
