"""Workers that share a queue, compete with writers, lose the database or are stopped."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.databases import fresh_url
from tests.features.webhooks.hooks import Hooks, new_hooks, open_hooks_world
from tests.tls import Authority, Exchange, Receiver, answer, hang
from tests.v1.keys import key_client
from tests.world import World

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.config.values import RetryPolicy
from masthead.base.errors import Unavailable
from masthead.engine.records.derived.daily_counts import KEY, daily_counts, day_of
from masthead.features.webhooks.collection import (
    DELIVERIES_DELIVERED,
    DELIVERIES_DIED,
    webhook_deliveries,
    webhook_subscriptions,
)
from masthead.features.webhooks.deliver import DeliveryWorker
from masthead.features.webhooks.queue import LEASE, DeliveryQueue
from masthead.features.webhooks.results import QueueKey, Result
from masthead.features.webhooks.tables import webhook_lanes, webhook_leases
from masthead.outside.outbound.client import OutboundClient
from masthead.service.schema import tables
from masthead.service.services import Services, build
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT

AGAIN = RetryPolicy((60,))


@asynccontextmanager
async def running(*workers: DeliveryWorker) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(worker.run_forever()) for worker in workers]
    try:
        yield
    finally:
        for worker in workers:
            worker.stop()
        await asyncio.gather(*tasks)


@pytest.fixture(params=["sqlite", "postgresql"])
async def two_processes(
    request: pytest.FixtureRequest, tmp_path: Path, authority: Authority
) -> AsyncIterator[tuple[Hooks, Services]]:
    """The same database opened twice, as two processes have it."""
    world = await open_hooks_world(fresh_url(request.param, tmp_path), tmp_path, authority)
    other = await build(world.parts.settings, world.clock)
    async with new_hooks(world, authority) as hooks:
        yield hooks, other
    await other.close()
    await world.parts.close()


def worker_of(parts: Services, hooks: Hooks) -> DeliveryWorker:
    return DeliveryWorker(
        parts.webhooks.deliveries, parts.outbound, parts.keyring, AGAIN, now=hooks.clock
    )


async def test_two_workers_share_the_work_and_send_nothing_twice(
    two_processes: tuple[Hooks, Services],
) -> None:
    hooks, other = two_processes
    for number in range(8):
        await hooks.subscribe(url=hooks.receiver.url(f"/{number}"))
    mine, theirs = worker_of(hooks.world.parts, hooks), worker_of(other, hooks)
    async with running(mine, theirs):
        # Each post takes a second of the test's clock: together less than a lease.
        for _ in range(25):
            await hooks.tenant.post()
            mine.wake()
            theirs.wake()
        await hooks.receiver.wait_for(200)
    counts = Counter(each.headers["x-service-delivery"] for each in hooks.receiver.requests)
    assert len(counts) == 200
    assert set(counts.values()) == {1}
    assert len(await lanes(hooks.world)) <= 8


async def test_a_queue_that_closes_while_events_are_added_is_opened_again(
    two_processes: tuple[Hooks, Services],
) -> None:
    """Writers and a worker use the same queue again and again; no event is lost."""
    hooks, other = two_processes
    await hooks.subscribe()
    queue, closing = other.webhooks.deliveries, True

    async def look_all_the_time() -> None:
        (key,) = [QueueKey(hooks.tenant.id, each) for each in await webhook_ids(hooks)]
        while closing:
            claimed = await queue.claim({key: 100}, hooks.clock())
            # As if they had been delivered, so that the queue is found empty and closed.
            await finish(other, [each.id for found in claimed.values() for each in found])

    looking = asyncio.create_task(look_all_the_time())
    await asyncio.gather(*(write_posts(hooks, 25) for _ in range(4)))
    closing = False
    await looking
    hooks.clock.advance(seconds=LEASE.total_seconds())
    left = [each for each in await hooks.deliveries() if each.state == "pending"]
    assert (await hooks.deliver()) == len(left)
    assert await lanes(hooks.world) == [] or left


async def write_posts(hooks: Hooks, count: int) -> None:
    for _ in range(count):
        await hooks.tenant.post()


async def webhook_ids(hooks: Hooks) -> list[str]:
    shown = await hooks.api.get("/api/v1/webhooks")
    return [each["id"] for each in shown.json()["items"]]


async def finish(parts: Services, ids: list[str]) -> None:
    table = tables[webhook_deliveries.name]
    ended = {"state": "delivered", "next_attempt_at": ""}
    change = sa.update(table).where(table.c.id.in_(ids)).values(ended)
    statement = parts.database.compile(change)
    async with parts.database.transaction(EVERY_TENANT) as tx:
        await tx.execute(statement, statement.bind({}))


async def lanes(world: World) -> list[object]:
    database = world.parts.database
    statement = database.compile(sa.select(webhook_lanes.c.webhook_id))
    return [row[0] for row in await database.fetch(EVERY_TENANT, statement)]


async def test_deliveries_of_a_dead_worker_are_sent_after_the_lease(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    await hooks.tenant.post()
    key = QueueKey(hooks.tenant.id, subscription["id"])
    queue = hooks.world.parts.webhooks.deliveries
    claimed = await queue.claim({key: 10}, hooks.clock())
    assert len(claimed[key]) == 1
    assert await hooks.deliver() == 0
    hooks.clock.advance(seconds=LEASE.total_seconds() - 0.01)
    assert await hooks.deliver() == 0
    hooks.clock.advance(seconds=0.01)
    assert await hooks.deliver() == 1
    (received,) = hooks.receiver.requests
    assert received.headers["x-service-delivery"] == claimed[key][0].id


async def test_released_deliveries_are_sent_at_once(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    await hooks.tenant.post()
    key = QueueKey(hooks.tenant.id, subscription["id"])
    queue = hooks.world.parts.webhooks.deliveries
    claimed = await queue.claim({key: 10}, hooks.clock())
    await queue.release(claimed[key], hooks.clock())
    assert await hooks.deliver() == 1


async def test_a_lease_that_another_worker_has_taken_over_is_not_released(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    await hooks.tenant.post()
    key = QueueKey(hooks.tenant.id, subscription["id"])
    queue = hooks.world.parts.webhooks.deliveries
    slow = (await queue.claim({key: 10}, hooks.clock()))[key]
    hooks.clock.advance(seconds=LEASE.total_seconds())
    taken_over = (await queue.claim({key: 10}, hooks.clock()))[key]
    assert [each.id for each in taken_over] == [each.id for each in slow]
    await queue.release(slow, hooks.clock())
    assert await hooks.deliver() == 0


async def test_nothing_is_sent_on_a_lease_that_is_about_to_end(hooks: Hooks) -> None:
    """A worker that was held up does not send what another one may be sending already."""
    await hooks.subscribe()
    await write_posts(hooks, 40)
    left: list[float] = []
    waiting: list[int] = []

    async def answer_late_once(exchange: Exchange) -> None:
        leases = await leases_of(hooks.world)
        until = clock.from_text(leases[exchange.request.headers["x-service-delivery"]])
        left.append((until - hooks.clock()).total_seconds())
        if len(left) == 20:
            waiting.append(len(leases) - 1)
            hooks.clock.advance(seconds=LEASE.total_seconds() - hooks.attempt_seconds)
        await answer(200)(exchange)

    hooks.receiver.default = answer_late_once
    parts = hooks.world.parts
    # One call at a time: so that what is claimed ahead has to wait for the one that is late.
    settings = parts.settings
    client = OutboundClient(
        allow=settings.outbound_allow, ca_file=settings.outbound_ca_file, calls_per_host=1
    )
    worker = DeliveryWorker(
        parts.webhooks.deliveries, client, parts.keyring, AGAIN, now=hooks.clock
    )
    async with running(worker):
        seen = -1
        while set(await hooks.states()) != {"delivered"}:
            # What had no time left comes back when its lease ends. Not while calls go out: a slow
            # machine would see a lease end on their way.
            if seen == len(hooks.receiver.requests):
                hooks.clock.advance(seconds=0.1)
            seen = len(hooks.receiver.requests)
            await asyncio.sleep(0.01)
    await client.close()
    assert waiting[0] > 0
    assert min(left) > hooks.attempt_seconds
    counts = Counter(each.headers["x-service-delivery"] for each in hooks.receiver.requests)
    assert (len(counts), set(counts.values())) == (40, {1})


async def leases_of(world: World) -> dict[str, str]:
    """When they end, by delivery."""
    database, t = world.parts.database, webhook_leases.c
    statement = database.compile(sa.select(t.delivery_id, t.until))
    return {row[0]: row[1] for row in await database.fetch(EVERY_TENANT, statement)}


class Flaky(DeliveryQueue):
    """A queue whose database is away for a while when results are to be recorded."""

    failures = 0
    commits_unconfirmed = False
    """Whether results are stored although the database fails."""

    async def record(
        self,
        results: Sequence[Result],
        disable_after: int | None = None,
        *,
        is_repeated: bool = False,
    ) -> set[QueueKey]:
        fails = self.failures > 0
        if fails and not self.commits_unconfirmed:
            self.failures -= 1
            raise Unavailable
        disabled = await super().record(results, disable_after, is_repeated=is_repeated)
        if fails:
            self.failures -= 1
            raise Unavailable
        return disabled


async def test_results_are_recorded_after_a_database_outage(hooks: Hooks) -> None:
    parts = hooks.world.parts
    queue = Flaky(parts.database, tables)
    queue.failures = 3
    worker = DeliveryWorker(
        queue, parts.outbound, parts.keyring, AGAIN, now=hooks.clock, record_retry_seconds=0
    )
    await hooks.subscribe()
    await hooks.tenant.post()
    assert await worker.run_due() == 1
    assert await hooks.states() == ["delivered"]
    assert len(hooks.receiver.requests) == 1


async def test_results_whose_commit_was_not_confirmed_count_once(hooks: Hooks) -> None:
    parts = hooks.world.parts
    queue = Flaky(parts.database, tables)
    queue.failures, queue.commits_unconfirmed = 2, True
    worker = DeliveryWorker(
        queue,
        parts.outbound,
        parts.keyring,
        RetryPolicy(()),
        now=hooks.clock,
        record_retry_seconds=0,
    )
    hooks.receiver.default = answer(500)
    await hooks.subscribe()
    await hooks.tenant.post()
    await worker.run_due()
    assert await hooks.states() == ["dead"]
    [webhook] = await parts.records.find(
        webhook_subscriptions, {}, tenant_id=hooks.tenant.id, limit=2
    )
    assert webhook["failure_count"] == 1
    day = day_of(hooks.clock())
    counts = await parts.records.counts.by_day(
        system(hooks.tenant.id), webhook_deliveries, (DELIVERIES_DIED,), day
    )
    assert counts == {(DELIVERIES_DIED, ""): {day: 1}}
    assert len(await hooks.attempts(await hooks.delivery())) == 1


class LateCommit(DeliveryQueue):
    """A queue that records results again while the commit of the first time has not ended."""

    async def record(
        self,
        results: Sequence[Result],
        disable_after: int | None = None,
        *,
        is_repeated: bool = False,
    ) -> set[QueueKey]:
        tenant_id = results[0].delivery.queue_key.tenant_id
        count = self._database.compile(dialects.upsert_add(daily_counts, KEY, "total"))
        async with (
            asyncio.TaskGroup() as recordings,
            # Holds what the first writes last.
            self._database.transaction(EVERY_TENANT) as tx,
        ):
            for metric in (DELIVERIES_DELIVERED, DELIVERIES_DIED):
                await tx.execute(count, (tenant_id, metric, "", day_of(results[0].at), 0))
            first = recordings.create_task(super().record(results, disable_after))
            await self._wait_for_blocked(1)
            second = recordings.create_task(
                super().record(results, disable_after, is_repeated=True)
            )
            await self._wait_for_blocked(2)
        return first.result() | second.result()

    async def _wait_for_blocked(self, number: int) -> None:
        # Of this database: others run their own tests.
        locks = sa.table("pg_locks", sa.column("pid"), sa.column("granted"))
        sessions = sa.table("pg_stat_activity", sa.column("pid"), sa.column("datname"))
        blocked = self._database.compile(
            sa.select(sa.func.count(locks.c.pid.distinct()))
            .join_from(locks, sessions, locks.c.pid == sessions.c.pid)
            .where(sa.not_(locks.c.granted), sessions.c.datname == sa.func.current_database())
        )
        async with asyncio.timeout(120):
            while (await self._database.fetch(EVERY_TENANT, blocked))[0][0] < number:
                await asyncio.sleep(0.01)


# SQLite has one writer: no commit ends while another transaction writes.
@pytest.mark.parametrize("hooks_world", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("status", "metric"), [(200, DELIVERIES_DELIVERED), (500, DELIVERIES_DIED)]
)
async def test_results_whose_commit_ends_late_count_once(
    hooks: Hooks, status: int, metric: str
) -> None:
    parts = hooks.world.parts
    queue = LateCommit(parts.database, tables)
    worker = DeliveryWorker(queue, parts.outbound, parts.keyring, RetryPolicy(()), now=hooks.clock)
    hooks.receiver.default = answer(status)
    await hooks.subscribe()
    await hooks.tenant.post()
    await worker.run_due()
    [webhook] = await parts.records.find(
        webhook_subscriptions, {}, tenant_id=hooks.tenant.id, limit=2
    )
    assert webhook["failure_count"] == (0 if status == 200 else 1)
    day = day_of(hooks.clock())
    counts = await parts.records.counts.by_day(
        system(hooks.tenant.id), webhook_deliveries, (metric,), day
    )
    assert counts == {(metric, ""): {day: 1}}


async def test_deliveries_that_could_not_be_recorded_are_sent_again(hooks: Hooks) -> None:
    parts = hooks.world.parts
    queue = Flaky(parts.database, tables, lease=timedelta(seconds=12))
    queue.failures = 1
    worker = DeliveryWorker(queue, parts.outbound, parts.keyring, AGAIN, now=hooks.clock)
    await hooks.subscribe()
    await hooks.tenant.post()
    # A worker that is told to stop does not wait for the database.
    async with running(worker):
        await hooks.receiver.wait_for(1)
        worker.stop()
    assert await hooks.states() == ["pending"]
    hooks.clock.advance(seconds=12)
    assert await hooks.deliver() == 1
    first, second = hooks.receiver.requests
    assert first.headers["x-service-delivery"] == second.headers["x-service-delivery"]
    assert first.body == second.body


async def test_a_stopped_worker_finishes_its_calls_and_releases_the_rest(
    hooks: Hooks,
) -> None:
    await hooks.subscribe()
    for _ in range(50):
        await hooks.tenant.post()
    may_answer = asyncio.Event()

    async def answer_when_told(exchange: Exchange) -> None:
        await may_answer.wait()
        await answer(200)(exchange)

    hooks.receiver.default = answer_when_told
    worker = hooks.worker()
    task = asyncio.create_task(worker.run_forever())
    await hooks.receiver.wait_for(2)
    worker.stop()
    may_answer.set()
    await task
    sent = len(hooks.receiver.requests)
    assert sent < 50
    assert Counter(await hooks.states()) == {"delivered": sent, "pending": 50 - sent}
    assert await hooks.deliver() == 50 - sent
    counts = Counter(each.headers["x-service-delivery"] for each in hooks.receiver.requests)
    assert (len(counts), set(counts.values())) == (50, {1})


async def test_one_tenants_burst_and_dead_receivers_do_not_delay_others(
    hooks: Hooks, authority: Authority
) -> None:
    """Hundreds wait for a receiver that hangs; another tenant's delivery does not wait at all."""
    other = await hooks.world.new_tenant()
    async with Receiver(authority.certificate(), host="127.0.0.2", default=hang) as dead:
        for number in range(20):
            await hooks.subscribe(url=dead.url(f"/{number}"))
        await write_posts(hooks, 20)
        worker = hooks.worker()
        async with running(worker):
            await dead.wait_for(1)
            await hooks.subscribe(api=await key_client(other))
            await other.post(title="Alone")
            worker.wake()
            await hooks.receiver.wait_for(1)
            assert len(dead.requests) <= 8
            await dead.refuse()
    assert b"Alone" in hooks.receiver.requests[0].body


async def test_a_burst_to_the_same_host_does_not_delay_other_subscriptions(hooks: Hooks) -> None:
    """All subscriptions of one platform share a host; each gets its share of it."""
    other = await hooks.world.new_tenant()
    await hooks.subscribe(url=hooks.receiver.url("/storm"))
    await write_posts(hooks, 300)
    await hooks.subscribe(url=hooks.receiver.url("/single"), api=await key_client(other))
    await other.post()
    await hooks.deliver()
    paths = [each.path for each in hooks.receiver.requests]
    assert len(paths) == 301
    assert paths.index("/single") < 100
