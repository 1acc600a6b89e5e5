"""The indexer leaves the write lock to others while it indexes queued records."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import sqlalchemy as sa
from msgspec.structs import replace
from tests.loop_time import LoopTime
from tests.world import TenantWorld, World

from masthead.base.caller import system
from masthead.engine.records.search.index import (
    DEFER_SECONDS,
    FEW_RECORDS,
    OVERDUE_FACTOR,
    PAUSE_FACTOR,
    POLL_SECONDS,
    Indexer,
    IndexLimits,
    SearchIndex,
    search_queue,
)
from masthead.service.schema import registry, tables
from masthead.storage.database import EVERY_TENANT, Database, Row, Scope, Transaction, scope_of

ONE_WRITER = pytest.mark.parametrize("service", ["sqlite"], indirect=True)
LIMITS = IndexLimits(records=4)
ENDLESS = replace(LIMITS, max_idle_seconds=math.inf)
LONG = 100.0
"""Seconds, next to which it does not count how long the machine takes."""


class SlowDatabase:
    """Reads, and waits for the write lock, take as long as the test says."""

    def __init__(self, database: Database, loop_time: LoopTime) -> None:
        self.read_seconds = self.wait_seconds = 0.0
        self.after_read: Callable[[], Any] = lambda: None
        self.is_written = asyncio.Event()
        self._database = database
        self._loop_time = loop_time

    def index(self, limits: IndexLimits) -> SearchIndex:
        return SearchIndex(cast(Database, self), registry, tables, limits)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def fetch(self, *args: Any, **options: Any) -> list[Row]:
        self._loop_time.skip(self.read_seconds)
        rows = await self._database.fetch(*args, **options)
        if rows:
            self.after_read()
        return rows

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[Transaction]:
        self._loop_time.skip(self.wait_seconds)
        async with self._database.transaction(scope) as tx:
            yield tx
        self.is_written.set()


class Background:
    """An indexer whose batches take as long as the test says."""

    def __init__(
        self, tenant: TenantWorld, loop_time: LoopTime, limits: IndexLimits = ENDLESS
    ) -> None:
        self._tenant = tenant
        self._loop_time = loop_time
        self._database = SlowDatabase(tenant.world.parts.database, loop_time)
        self._indexer = Indexer(self._database.index(limits))

    async def run_batch(self, *, read: float = 0.0, wait: float = 0.0) -> tuple[Any, int]:
        """The pause after it, and how many records are then queued."""
        self._database.read_seconds, self._database.wait_seconds = read, wait
        with self._loop_time.at_most(read + wait):
            rest = await self._indexer.run_batch()
        return pytest.approx(rest, rel=0.01), await left(self._tenant)


@pytest.fixture
async def nobody_waits(tenant: TenantWorld) -> None:
    """For the index, of whichever tenant."""
    while (await tenant.world.parts.records.search_index.run_batch()).indexed:
        pass


@pytest.fixture
async def background(tenant: TenantWorld, loop_time: LoopTime, nobody_waits: None) -> Background:
    """Without a maximum pause."""
    return Background(tenant, loop_time)


async def make_posts(tenant: TenantWorld, count: int, **values: Any) -> None:
    records, posts = tenant.world.parts.records, tenant.world.collection("posts")
    async with records.unit(system(tenant.id), emit_events=False) as unit:
        for number in range(count):
            await unit.create(posts, {"title": f"Coast {number}"} | values)


async def left(tenant: TenantWorld) -> int:
    """How many wait for the index."""
    database = tenant.world.parts.database
    counted = sa.select(sa.func.count()).select_from(search_queue)
    mine = counted.where(search_queue.c.tenant_id == sa.bindparam("tenant"))
    rows = await database.fetch(scope_of(tenant.id), database.compile(mine), (tenant.id,))
    return int(rows[0][0])


class TestPauses:
    async def test_without_others_there_is_no_pause_until_the_queue_is_empty(
        self, tenant: TenantWorld, background: Background
    ) -> None:
        await make_posts(tenant, 10)

        steps = [await background.run_batch(read=LONG) for _ in range(4)]

        assert steps == [(0, 6), (0, 2), (0, 0), (POLL_SECONDS, 0)]

    async def test_a_wait_for_the_lock_makes_pauses_until_it_is_free(
        self, tenant: TenantWorld, background: Background
    ) -> None:
        await make_posts(tenant, 18)

        calm = [await background.run_batch(read=LONG)]
        busy = [await background.run_batch(wait=seconds) for seconds in (LONG, 2 * LONG)]
        ebb = [await background.run_batch(read=LONG) for _ in range(3)]

        assert calm == [(0, 14)]
        assert busy == [(LONG * PAUSE_FACTOR, 10), (2 * LONG * PAUSE_FACTOR, 6)]
        assert ebb == [(0, 2), (0, 0), (POLL_SECONDS, 0)]

    async def test_an_indexer_that_is_behind_for_too_long_makes_short_pauses(
        self, tenant: TenantWorld, background: Background, loop_time: LoopTime
    ) -> None:
        await make_posts(tenant, 13)

        before = await background.run_batch(wait=LONG)
        loop_time.skip(DEFER_SECONDS)
        overdue = [await background.run_batch(wait=LONG) for _ in range(2)]
        caught_up = await background.run_batch(wait=LONG)

        short, long = LONG * OVERDUE_FACTOR, LONG * PAUSE_FACTOR
        assert before == (long, 9)
        assert overdue == [(short, 5), (short, 1)]
        assert caught_up == (long, 0)


@pytest.mark.usefixtures("nobody_waits")
async def test_a_pause_has_a_maximum(tenant: TenantWorld, loop_time: LoopTime) -> None:
    await make_posts(tenant, 1)
    background = Background(tenant, loop_time, LIMITS)
    assert await background.run_batch(wait=LONG) == (LIMITS.max_idle_seconds, 0)


@ONE_WRITER
async def test_another_writer_is_noticed(
    tenant: TenantWorld, app: World, loop_time: LoopTime
) -> None:
    await make_posts(tenant, 1)
    database, was_read = SlowDatabase(app.parts.database, loop_time), asyncio.Event()
    database.after_read = was_read.set
    async with app.parts.database.transaction(EVERY_TENANT):
        stepping = asyncio.create_task(database.index(LIMITS).run_batch())
        # Until then, a read may be under way, whose time would run out.
        await was_read.wait()
        await loop_time.advance(LONG)
        assert not stepping.done()

    assert (await stepping).waited_seconds > LONG / 2


@ONE_WRITER
@pytest.mark.usefixtures("nobody_waits")
async def test_other_work_of_the_event_loop_is_noticed(
    tenant: TenantWorld, app: World, loop_time: LoopTime
) -> None:
    await make_posts(tenant, 1)
    database = SlowDatabase(app.parts.database, loop_time)
    database.after_read = lambda: asyncio.get_running_loop().call_soon(loop_time.skip, LONG)
    batch = await database.index(IndexLimits(read_seconds=0.0)).run_batch()

    assert batch.waited_seconds >= LONG


@pytest.mark.usefixtures("nobody_waits")
async def test_texts_that_are_long_together_are_read_a_few_at_a_time(
    tenant: TenantWorld, app: World
) -> None:
    await make_posts(tenant, FEW_RECORDS + 4, content_html=f"<p>{'shore ' * 20}</p>")
    index = SearchIndex(app.parts.database, registry, tables, IndexLimits(bytes=1_000))

    assert [(await index.run_batch()).indexed for _ in range(3)] == [FEW_RECORDS, 4, 0]


@pytest.mark.usefixtures("nobody_waits")
async def test_texts_that_do_not_fit_into_a_transaction_are_indexed_in_the_next(
    tenant: TenantWorld, app: World
) -> None:
    await make_posts(tenant, 3, content_html=f"<p>{'shore ' * 20}</p>")
    index = SearchIndex(app.parts.database, registry, tables, IndexLimits(characters=300))

    assert [(await index.run_batch()).indexed for _ in range(3)] == [2, 1, 0]


async def test_stopping_does_not_wait_for_a_pause(
    tenant: TenantWorld, app: World, loop_time: LoopTime
) -> None:
    database = SlowDatabase(app.parts.database, loop_time)
    database.wait_seconds = LONG
    indexer = Indexer(database.index(LIMITS))
    await make_posts(tenant, 1)
    working = asyncio.create_task(indexer.run_forever())
    await database.is_written.wait()

    stopped = loop_time()
    indexer.stop()
    await working

    assert loop_time() - stopped < LIMITS.max_idle_seconds


async def test_everything_is_indexed_while_others_write(
    tenant: TenantWorld, app: World, loop_time: LoopTime
) -> None:
    indexer = Indexer(SearchIndex(app.parts.database, registry, tables, LIMITS))
    working = asyncio.create_task(indexer.run_forever())

    await asyncio.gather(*(tenant.post() for _ in range(40)))
    while await left(tenant):
        await loop_time.advance(POLL_SECONDS)

    indexer.stop()
    await working


@ONE_WRITER
async def test_other_tasks_run_between_texts(tenant: TenantWorld, app: World) -> None:
    # A query over a socket yields to the event loop anyway.
    limits = IndexLimits(read_seconds=0.0)
    await make_posts(tenant, limits.records_of_a_search)
    index = SearchIndex(app.parts.database, registry, tables, limits)
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(take_turns())
    found = await index.find_waiting(app.collection("posts"), tenant.id)
    other.cancel()

    assert len(found) == limits.records_of_a_search
    assert turns >= limits.records_of_a_search
