"""Jobs survive crashes, slow handlers, failures and concurrent workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from tests.log_lines import capture_logs
from tests.world import World

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.errors import Unavailable
from masthead.engine.jobs.runner import LEASE, MAX_ATTEMPTS, RETRY_SECONDS, Chore, Job, JobRunner
from masthead.engine.jobs.tables import jobs
from masthead.service.background import job_runner
from masthead.storage.database import EVERY_TENANT, Database, Statement


class Crash(BaseException):
    """Ends a runner where a power cut would: nothing after it happens."""


async def enqueue(world: World, count: int = 1, *, kind: str = "count") -> None:
    tenant = await world.new_tenant()
    async with world.parts.records.unit(system(tenant.id)) as unit:
        for number in range(count):
            await unit.enqueue(kind, {"number": number})


async def queued(world: World) -> list[dict[str, Any]]:
    columns = (jobs.c.run_at, jobs.c.attempts, jobs.c.leased_until, jobs.c.failed_at, jobs.c.error)
    statement = world.parts.database.compile(sa.select(*columns))
    rows = await world.parts.database.fetch(EVERY_TENANT, statement)
    return [dict(zip((each.name for each in columns), row, strict=True)) for row in rows]


class Counted:
    """A handler that remembers what it was given."""

    def __init__(self, work: Callable[[], Awaitable[None]] | None = None) -> None:
        self.numbers: list[int] = []
        self._work = work

    async def __call__(self, job: Job) -> None:
        self.numbers.append(job.payload["number"])
        if self._work:
            await self._work()


def runner(world: World, handler: Callable[[Job], Awaitable[None]], **options: Any) -> JobRunner:
    return JobRunner(world.parts.database, {"count": handler}, world.clock, **options)


async def crash() -> None:
    raise Crash


async def fail() -> None:
    raise ValueError("not today")


async def test_a_job_whose_worker_crashed_runs_again_after_the_lease(world: World) -> None:
    await enqueue(world)
    with pytest.raises(Crash):
        await runner(world, Counted(crash)).run_due()
    survivor = Counted()
    world.clock.advance(seconds=LEASE.total_seconds() - 1)
    assert await runner(world, survivor).run_due() == 0
    world.clock.advance(seconds=1)
    assert await runner(world, survivor).run_due() == 1
    assert survivor.numbers == [0]
    assert await queued(world) == []


async def test_runners_share_the_work_and_run_nothing_twice(world: World) -> None:
    await enqueue(world, 100)
    handler = Counted(lambda: asyncio.sleep(0))

    async def run_all(one: JobRunner) -> int:
        shares = 0
        while share := await one.run_due():
            shares += share
        return shares

    shares = await asyncio.gather(*(run_all(runner(world, handler)) for _ in range(3)))
    assert sorted(handler.numbers) == list(range(100))
    assert sum(shares) == 100
    assert await queued(world) == []


async def test_the_lease_of_a_slow_job_is_renewed(world: World) -> None:
    await enqueue(world)
    other = Counted()

    async def slowly() -> None:
        for _ in range(3):
            before = (await queued(world))[0]["leased_until"]
            world.clock.advance(seconds=LEASE.total_seconds() - 60)
            while (await queued(world))[0]["leased_until"] == before:
                await asyncio.sleep(0.001)
            assert await runner(world, other).run_due() == 0

    slow = Counted(slowly)
    await runner(world, slow, heartbeat_seconds=0.005).run_due()
    assert (slow.numbers, other.numbers) == ([0], [])
    assert await queued(world) == []


async def test_a_worker_that_lost_its_lease_stops_the_job(world: World) -> None:
    await enqueue(world)
    second = Counted()
    others: list[asyncio.Task[int]] = []

    async def outlast_the_lease() -> None:
        # As if the whole process was suspended until another worker has taken over the job.
        while not second.numbers:
            world.clock.advance(seconds=LEASE.total_seconds() + 1)
            # The first one's end does not end the second one.
            other = asyncio.create_task(runner(world, second).run_due())
            others.append(other)
            await asyncio.shield(other)
        await asyncio.Event().wait()

    first = Counted(outlast_the_lease)
    with capture_logs() as lines:
        await asyncio.wait_for(runner(world, first, heartbeat_seconds=0.05).run_due(), 120)
        await asyncio.gather(*others)
    assert (first.numbers, second.numbers) == ([0], [0])
    assert [line["event"] for line in lines] == ["jobs.lease_lost"]
    assert await queued(world) == []


async def test_a_clock_that_jumps_ahead_starts_no_job_a_second_time(world: World) -> None:
    await enqueue(world)
    may_end = asyncio.Event()
    slow = Counted(may_end.wait)  # type: ignore[arg-type]
    working = runner(world, slow)
    first = asyncio.create_task(working.run_due())
    while not slow.numbers:
        await asyncio.wait({first}, timeout=0.001)
        assert not first.done()
    world.clock.advance(hours=1)
    assert await asyncio.wait_for(working.run_due(), 120) == 0
    may_end.set()
    assert await first == 1
    assert (slow.numbers, await queued(world)) == ([0], [])


async def test_a_worker_that_cannot_renew_its_lease_in_time_stops_the_job(world: World) -> None:
    """A queue that is out of reach for longer than the lease may have given the job away."""
    await enqueue(world)
    unreachable = Unreachable(world.parts.database)

    async def lose_touch() -> None:
        unreachable.is_down = True
        world.clock.advance(seconds=LEASE.total_seconds() + 1)
        await asyncio.Event().wait()

    losing = JobRunner(
        unreachable, {"count": Counted(lose_touch)}, world.clock, heartbeat_seconds=0.005
    )
    with capture_logs() as lines:
        await asyncio.wait_for(losing.run_due(), 120)
    assert [line["event"] for line in lines] == ["jobs.lease_lost"]
    survivor = Counted()
    assert await runner(world, survivor).run_due() == 1


class Unreachable:
    """A database behind a network that can be cut."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.is_down = False

    def __getattr__(self, name: str) -> Any:
        if self.is_down:
            raise Unavailable
        return getattr(self._database, name)


async def test_a_kind_runs_up_to_its_concurrency_limit(world: World) -> None:
    await enqueue(world, 7)
    at_once: list[int] = []
    running = 0

    async def work() -> None:
        nonlocal running
        running += 1
        at_once.append(running)
        await asyncio.sleep(0)
        running -= 1
        if len(at_once) == 7:
            working.stop()

    working = runner(world, Counted(work), concurrency={"count": 3})
    await asyncio.wait_for(working.run_forever(), 120)
    assert (len(at_once), max(at_once)) == (7, 3)
    assert await queued(world) == []


async def test_no_kind_waits_for_another_and_chores_wait_for_none(world: World) -> None:
    await enqueue(world, 5)
    await enqueue(world, 5, kind="slow")
    may_end = asyncio.Event()
    quick, chores_done = Counted(), 0

    async def chore() -> None:
        nonlocal chores_done
        chores_done += 1

    async def wait(_job: Job) -> None:
        await may_end.wait()

    working = JobRunner(
        world.parts.database,
        {"slow": wait, "count": quick},
        world.clock,
        chores=[Chore("often", timedelta(), chore)],
    )
    running = asyncio.create_task(working.run_forever())
    while len(quick.numbers) < 5 or chores_done < 2:
        await asyncio.wait({running}, timeout=0.01)
        assert not running.done()
    assert len(await queued(world)) == 5
    working.stop()
    may_end.set()
    await asyncio.wait_for(running, 120)
    # Running jobs were finished, no other was started.
    assert [row["attempts"] for row in await queued(world)] == [0, 0, 0]


async def test_jobs_of_unknown_kinds_stay_queued(world: World) -> None:
    await enqueue(world, kind="of a newer version")
    assert await runner(world, Counted()).run_due() == 0
    assert [row["attempts"] for row in await queued(world)] == [0]


async def test_a_failing_job_is_retried_with_a_backoff_and_then_stays_failed(world: World) -> None:
    await enqueue(world)
    failing = Counted(fail)
    for attempt, wait in enumerate(RETRY_SECONDS, start=1):
        assert await runner(world, failing).run_due() == 1
        (row,) = await queued(world)
        due = world.clock() + timedelta(seconds=wait)
        assert (row["attempts"], row["run_at"]) == (attempt, clock.to_text(due))
        assert (row["error"], row["failed_at"]) == ("ValueError", "")
        world.clock.advance(seconds=wait - 0.001)
        assert await runner(world, failing).run_due() == 0
        world.clock.advance(seconds=0.001)
    assert await runner(world, failing).run_due() == 1
    (row,) = await queued(world)
    assert row["failed_at"] == clock.to_text(world.clock())
    world.clock.advance(days=30)
    assert await runner(world, failing).run_due() == 0
    assert len(failing.numbers) == MAX_ATTEMPTS


async def test_a_job_that_kills_its_worker_every_time_is_given_up(world: World) -> None:
    await enqueue(world)
    deadly = Counted(crash)
    for _ in range(MAX_ATTEMPTS):
        with pytest.raises(Crash):
            await runner(world, deadly).run_due()
        world.clock.advance(seconds=LEASE.total_seconds())
    await runner(world, deadly).run_due()
    assert len(deadly.numbers) == MAX_ATTEMPTS
    (row,) = await queued(world)
    assert row["failed_at"] == clock.to_text(world.clock())


async def test_stopping_starts_no_further_job(world: World) -> None:
    await enqueue(world, 3)

    async def stop() -> None:
        stopping.stop()

    handler = Counted(stop)
    stopping = runner(world, handler, concurrency={"count": 1})
    await asyncio.wait_for(stopping.run_forever(), 120)
    assert len(handler.numbers) == 1
    assert {(row["attempts"], row["leased_until"]) for row in await queued(world)} == {(0, "")}


async def test_an_unforeseen_error_does_not_end_the_worker(world: World) -> None:
    await enqueue(world)
    errors = [ValueError("a clock that is off")]

    def unreliable() -> datetime:
        if errors:
            raise errors.pop()
        return world.clock()

    async def stop() -> None:
        working.stop()

    handler = Counted(stop)
    working = JobRunner(world.parts.database, {"count": handler}, unreliable)
    await asyncio.wait_for(working.run_forever(), 120)
    assert handler.numbers == [0]


async def test_chores_run_at_the_start_and_then_periodically(world: World) -> None:
    done: list[str] = []

    async def do(name: str) -> None:
        done.append(name)
        if name == "broken":
            raise ValueError("not today")

    chores = [Chore(name, timedelta(hours=1), partial(do, name)) for name in ("broken", "sweep")]
    working = runner(world, Counted(), chores=chores)
    await working.do_chores()
    await working.do_chores()
    assert done == ["broken", "sweep"]
    world.clock.advance(minutes=1)
    await working.do_chores()
    assert done == ["broken", "sweep", "broken"]
    world.clock.advance(minutes=59)
    await working.do_chores()
    assert sorted(done) == ["broken", "broken", "broken", "sweep", "sweep"]


async def test_chores_run_on_when_the_clock_goes_back(world: World) -> None:
    done: list[datetime] = []

    async def sweep() -> None:
        done.append(world.clock())

    world.clock.advance(hours=2)
    working = runner(world, Counted(), chores=[Chore("sweep", timedelta(minutes=5), sweep)])
    await working.do_chores()
    world.clock.advance(hours=-1)
    await working.do_chores()
    await working.do_chores()
    assert done == [world.clock() + timedelta(hours=1), world.clock()]


async def test_the_service_s_own_chores_run(world: World) -> None:
    working = job_runner(world.parts)
    with capture_logs() as lines:
        await working.do_chores()
    assert lines == []


async def test_polling_one_kind_does_not_scan_the_queue_of_another(world: World) -> None:
    looking = runner(world, Counted())
    for statement in (looking._queue._has_due, looking._queue._next):
        assert "ix_jobs__kind_failed_at_run_at" in await plan_of(world, statement)


async def plan_of(world: World, statement: Statement) -> str:
    database = world.parts.database
    is_sqlite = database.name == "sqlite"
    # By default PostgreSQL scans an empty table.
    explain = "EXPLAIN QUERY PLAN " if is_sqlite else "EXPLAIN "
    running = database.list_value([])
    values = statement.bind(
        {"now": clock.to_text(world.clock()), "kind": "count", "running": running}
    )
    async with database.transaction(EVERY_TENANT) as tx:
        if not is_sqlite:
            await tx.fetch(Statement("SELECT set_config('enable_seqscan', 'off', true)", (), {}))
        rows = await tx.fetch(Statement(explain + statement.text, statement.names, {}), values)
    return repr([tuple(row) for row in rows])


async def test_a_long_job_of_a_worker_that_ends_is_put_back_as_if_it_had_not_begun(
    world: World,
) -> None:
    await enqueue(world, 1)
    steps: list[int] = []

    async def work(job: Job) -> None:
        for number in range(3):
            job.check()
            steps.append(number)
            ending.stop()

    def worker() -> JobRunner:
        return JobRunner(world.parts.database, {"count": work}, world.clock)

    ending = worker()
    await ending.run_due()
    [row] = await queued(world)
    assert steps == [0]
    assert (row["attempts"], row["leased_until"], row["error"]) == (0, "", "")

    steps.clear()
    assert await worker().run_due() == 1
    assert (steps, await queued(world)) == ([0, 1, 2], [])
