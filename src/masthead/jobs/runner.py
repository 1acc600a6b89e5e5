"""Runs what was queued: claims due jobs with a lease, hands them to their handlers, retries.

Each kind of job has places of its own, so that none waits for another: mails are sent while a large
export is made, and exports are made while a mail server hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec
import sqlalchemy as sa
import structlog

from masthead import clock
from masthead.errors import Unavailable
from masthead.ids import TenantId
from masthead.jobs.tables import jobs
from masthead.storage.database import EVERY_TENANT, Database, Statement, Transaction

LEASE = timedelta(minutes=2)
"""How long after a worker's death its jobs are left alone."""
HEARTBEAT_SECONDS = 20.0
PLACES = 2
"""How many jobs of a kind a process runs at once, if nothing else is said about the kind."""
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
    """Handlers may run twice (a crash after the work, before the row is gone) and must not mind;
    they never run twice at the same time."""

    def __init__(
        self,
        database: Database,
        handlers: Mapping[str, Handler],
        now: clock.Clock = clock.now,
        *,
        chores: Sequence[Chore] = (),
        places: Mapping[str, int] | None = None,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._handlers = handlers
        self._places = {kind: (places or {}).get(kind, PLACES) for kind in handlers}
        self._queue = _Queue(database, tuple(handlers), now)
        self._clock = now
        self._chores = {chore: now() for chore in chores}
        """When each is to be done next."""
        self._heartbeat_seconds = heartbeat_seconds
        self._in_hand: dict[asyncio.Task[None], str] = {}
        """The kind of each job that is being run."""
        self._wake = asyncio.Event()
        self._stopping = asyncio.Event()

    async def run_forever(self) -> None:
        """Returns some time after `stop`, when everything in hand is finished."""
        chores = asyncio.create_task(self._do_chores_forever())
        while not self._stopping.is_set():
            self._wake.clear()
            if not await self._start_what_is_due():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), IDLE_SECONDS)
        await asyncio.gather(chores, *self._in_hand)

    def stop(self) -> None:
        """Lets the jobs in hand finish and takes no other."""
        self._stopping.set()
        self._wake.set()

    async def run_due(self) -> int:
        """Runs as many of the due jobs as there are places, once; returns how many that were."""
        started = await self._start_due()
        await asyncio.gather(*started)
        return len(started)

    async def _start_what_is_due(self) -> int:
        try:
            return len(await self._start_due())
        except Unavailable:
            log.warning("jobs.database_unavailable")
        # Part of the job's edge: a worker that has died would only be noticed by what it leaves
        # undone.
        except Exception:
            log.exception("jobs.round_failed")
        return 0

    async def _start_due(self) -> list[asyncio.Task[None]]:
        taken = Counter(self._in_hand.values())
        room = {kind: places - taken[kind] for kind, places in self._places.items()}
        claimed = await self._queue.claim({kind: most for kind, most in room.items() if most > 0})
        return [self._start(job, lease) for job, lease in claimed]

    def _start(self, job: Job, lease: _Lease) -> asyncio.Task[None]:
        task = asyncio.create_task(self._run(job, lease))
        self._in_hand[task] = job.kind
        task.add_done_callback(self._is_over)
        return task

    def _is_over(self, task: asyncio.Task[None]) -> None:
        del self._in_hand[task]
        self._wake.set()

    async def _run(self, job: Job, lease: _Lease) -> None:
        try:
            await self._run_and_record(job, lease)
        except Unavailable:
            # The lease runs out, and the job is run again.
            log.warning("jobs.database_unavailable")
        except Exception:
            log.exception("jobs.not_recorded", kind=job.kind, job_id=job.id)

    async def _run_and_record(self, job: Job, lease: _Lease) -> None:
        if job.attempts > MAX_ATTEMPTS:
            # It never got as far as failing, so it must be what ends the worker each time.
            await self._queue.postpone(job, lease, "the worker died while running it")
            return
        try:
            await self._handle(job, lease)
        except _LeaseLost:
            log.warning("jobs.lease_lost", kind=job.kind, job_id=job.id)
            return
        # One of the service's three outermost edges: whatever a job raises is logged and retried.
        except Exception as error:
            log.exception("jobs.failed", kind=job.kind, job_id=job.id, attempt=job.attempts)
            await self._queue.postpone(job, lease, type(error).__name__)
            return
        await self._queue.finish(job)

    async def _handle(self, job: Job, lease: _Lease) -> None:
        """Keeps the lease for as long as the job takes."""
        work = asyncio.ensure_future(self._handlers[job.kind](job))
        try:
            while not (await asyncio.wait({work}, timeout=self._heartbeat_seconds))[0]:
                if not await self._queue.keeps(job, lease):
                    raise _LeaseLost
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait({work})
        try:
            work.result()
        finally:
            # Else this frame, which is in the traceback, would keep the exception.
            del work

    async def _do_chores_forever(self) -> None:
        """Beside the jobs, however long those take."""
        while not self._stopping.is_set():
            await self.do_chores()
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


class _LeaseLost(Exception):
    """Another worker has the job by now, or may have it: this one lets go."""


@dataclass(slots=True)
class _Lease:
    """Until when a claim holds; the text in the row tells one claim from a later one."""

    until: str


class _Queue:
    """The statements on the table, each in a transaction of its own."""

    def __init__(self, database: Database, kinds: Sequence[str], now: clock.Clock) -> None:
        self._database = database
        self._kinds = kinds
        self._clock = now
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
            .where(t.kind == sa.bindparam("kind"), *due)
            .order_by(t.run_at)
            # In the text, so that no plan is made that would sort a long queue.
            .limit(sa.literal_column("1"))
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

    async def claim(self, room: Mapping[str, int]) -> list[tuple[Job, _Lease]]:
        """Of each kind that is due, as many as there is room for, those that are due longest."""
        now = self._clock()
        due = [kind for kind in await self._due_kinds(clock.to_text(now)) if kind in room]
        if not due:
            return []
        lease = clock.to_text(now + LEASE)
        claimed = []
        async with self._database.transaction(EVERY_TENANT) as tx:
            for kind in due:
                for _ in range(room[kind]):
                    job = await self._claim_one(tx, kind, clock.to_text(now), lease)
                    if job is None:
                        break
                    claimed.append((job, _Lease(lease)))
        return claimed

    async def _due_kinds(self, now: str) -> list[str]:
        """A look that takes no turn to write: mostly there is nothing to do."""
        bound = self._has_due.bind({"now": now})
        (row,) = await self._database.fetch(EVERY_TENANT, self._has_due, bound)
        return [kind for kind, is_due in zip(self._kinds, row, strict=True) if is_due]

    async def _claim_one(self, tx: Transaction, kind: str, now: str, lease: str) -> Job | None:
        rows = await tx.fetch(self._next, self._next.bind({"kind": kind, "now": now}))
        if not rows:
            return None
        ((tenant_id, job_id, payload, attempts),) = rows
        values = {"key_tenant": tenant_id, "key_id": job_id, "until": lease}
        await tx.execute(self._take, self._take.bind(values))
        return Job(TenantId(tenant_id), job_id, kind, msgspec.json.decode(payload), attempts + 1)

    async def keeps(self, job: Job, lease: _Lease) -> bool:
        """Renews the lease; False when it ran out, and another worker has the job or may have."""
        now = self._clock()
        until = clock.to_text(now + LEASE)
        try:
            is_renewed = await self._execute(self._extend, job, lease=lease.until, until=until)
        except Unavailable:
            # Not reached this time, perhaps the next: there are several beats to a lease.
            return clock.to_text(now) < lease.until
        lease.until = until
        return bool(is_renewed)

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
