"""A worker that is killed loses no delivery; one that is stopped repeats none."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from tests.databases import fresh_url
from tests.engine.jobs.workers import workers_of
from tests.features.webhooks.hooks import Hooks, new_hooks, open_hooks_world
from tests.tls import Authority
from tests.world import RunningClock

pytestmark = pytest.mark.sweep

WORKER = "tests.features.webhooks.forking_worker:main"
KILLS = 8
"""For each database."""
STOPS = 3
EVENTS_A_ROUND = 25


@dataclass(frozen=True)
class Times:
    """The times of a worker, in seconds."""

    lease: float
    attempt: float
    retries: str


WHEN_KILLED = Times(2.5, 1.0, ",".join(["1"] * 20))
"""Short, so that what a killed worker held comes back soon. An attempt that is late on a slow
machine is made again, which is allowed here."""
WHEN_STOPPED = Times(120.0, 60.0, "1")
"""Long, because here nothing may be sent twice: no attempt may be given up for being late."""


@pytest.fixture(params=["sqlite", "postgresql"])
async def hooks(
    request: pytest.FixtureRequest, tmp_path: Path, authority: Authority
) -> AsyncIterator[Hooks]:
    """In real time: the workers are processes with clocks of their own."""
    url = fresh_url(request.param, tmp_path)
    world = await open_hooks_world(url, tmp_path, authority, RunningClock())
    async with new_hooks(world, authority) as hooks:
        yield hooks
    await world.parts.close()


def environment(hooks: Hooks, times: Times) -> dict[str, str]:
    settings = hooks.world.parts.settings
    return {
        "MASTHEAD_SECRET_KEY": "k" * 40,
        "MASTHEAD_DATA_DIR": str(settings.data_dir),
        "MASTHEAD_DATABASE_URL": str(settings.database_url),
        "MASTHEAD_OUTBOUND_ALLOW": "127.0.0.0/8",
        "MASTHEAD_OUTBOUND_CA_FILE": str(hooks.authority.ca_file),
        "MASTHEAD_LOG": "json",
        "MASTHEAD_RETRY_POLICY": times.retries,
    }


async def end_workers(hooks: Hooks, how: signal.Signals, ends: int, times: Times) -> None:
    """Under load, workers that end in the middle of it, one after the other; then one that stays
    until everything is delivered."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201
    rng = random.Random(seed)
    for number in range(3):
        await hooks.subscribe(url=hooks.receiver.url(f"/{number}"))
    durations = (str(times.lease), str(times.attempt))
    with workers_of(WORKER, **environment(hooks, times)) as workers:
        for _ in range(ends):
            worker = await workers.start_with(*durations)
            before = len(hooks.receiver.requests)
            writing = asyncio.create_task(write_posts(hooks))
            await hooks.receiver.wait_for(before + rng.randint(1, EVENTS_A_ROUND))
            for _ in range(rng.randint(0, 50)):
                await asyncio.sleep(0)
            os.kill(worker, how)
            await writing
        last = psutil.Process(await workers.start_with(*durations))
        # What a killed worker had sent and not recorded comes once more, when its lease ends.
        while "pending" in (await all_deliveries(hooks)).values():
            await asyncio.sleep(0.1)
        last.terminate()
        await asyncio.to_thread(last.wait, 60)


async def write_posts(hooks: Hooks) -> None:
    for _ in range(EVENTS_A_ROUND):
        await hooks.tenant.post()


def bodies_by_delivery(hooks: Hooks) -> dict[str, list[bytes]]:
    bodies: dict[str, list[bytes]] = {}
    for received in hooks.receiver.requests:
        bodies.setdefault(received.headers["x-service-delivery"], []).append(received.body)
    return bodies


async def all_deliveries(hooks: Hooks) -> dict[str, str]:
    log = hooks.world.parts.webhooks.deliveries.log
    return {each.id: each.state for each in await log.list(hooks.tenant.id, limit=1_000_000)}


async def test_killed_workers_lose_nothing(hooks: Hooks) -> None:
    await end_workers(hooks, signal.SIGKILL, KILLS, WHEN_KILLED)
    deliveries = await all_deliveries(hooks)
    bodies = bodies_by_delivery(hooks)
    assert len(deliveries) == KILLS * EVENTS_A_ROUND * 3
    assert set(deliveries.values()) == {"delivered"}
    assert bodies.keys() == deliveries.keys()
    assert {len(set(each)) for each in bodies.values()} == {1}


async def test_stopped_workers_repeat_nothing(hooks: Hooks) -> None:
    await end_workers(hooks, signal.SIGTERM, STOPS, WHEN_STOPPED)
    deliveries = await all_deliveries(hooks)
    bodies = bodies_by_delivery(hooks)
    assert set(deliveries.values()) == {"delivered"}
    assert bodies.keys() == deliveries.keys()
    assert Counter(map(len, bodies.values())) == {1: STOPS * EVENTS_A_ROUND * 3}
