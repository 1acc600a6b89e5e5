"""Workers and services that are killed while they send: nobody is mailed twice, and nobody is
forgotten."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
import sqlalchemy as sa
from tests.databases import fresh_url
from tests.engine.jobs.workers import Workers, workers_of
from tests.features.mailings.conftest import Press
from tests.outside.mail.postbox import Postbox
from tests.v1.keys import key_client
from tests.world import RunningClock, World, open_world

from masthead.base import ids
from masthead.features.mailings.queue import LEASE
from masthead.service.schema import tables
from masthead.storage.database import scope_of

pytestmark = pytest.mark.sweep

READERS = 500
KILLS = 10
CONNECTIONS = 4
ENDED = ("sent", "failed", "uncertain", "unsubscribed")


@pytest.fixture
async def postbox() -> AsyncIterator[Postbox]:
    async with Postbox() as postbox:
        yield postbox


@pytest.fixture(params=["sqlite", "postgresql"])
async def press(
    request: pytest.FixtureRequest, tmp_path: Path, postbox: Postbox
) -> AsyncIterator[Press]:
    world = await open_world(fresh_url(request.param, tmp_path), tmp_path, RunningClock())
    tenant = await world.new_tenant("coast")
    yield Press(world, tenant, await key_client(tenant), postbox)
    await world.parts.close()


async def add_readers(press: Press, number: int) -> None:
    """Rows, not records: only the mailing is of interest."""
    table, database = tables["blog_members"], press.world.parts.database
    insert = database.compile(sa.insert(table))
    defaults = {
        each.name: each.default_value()
        for each in press.world.collection("blog_members").all_fields
    }
    rows = [
        {
            **defaults,
            "tenant_id": press.tenant.id,
            "id": ids.new_id(),
            "email": f"reader{each}@host{each % 7}.example",
            "newsletter": True,
            "newsletters_off": "[]",
            "labels": "[]",
            "welcomed": "[]",
            "created": "2026-01-01T00:00:00.000Z",
        }
        for each in range(number)
    ]
    async with database.transaction(scope_of(press.tenant.id)) as tx:
        await tx.execute_many(insert, [insert.bind(row) for row in rows])


def workers(world: World, postbox: Postbox) -> Any:
    return workers_of(
        "tests.features.mailings.forking_worker:main",
        MASTHEAD_SECRET_KEY="k" * 40,
        MASTHEAD_BASE_URL="http://localhost",
        MASTHEAD_DATA_DIR=str(world.parts.settings.data_dir),
        MASTHEAD_DATABASE_URL=str(world.parts.settings.database_url),
        MASTHEAD_LOG="json",
        MASTHEAD_SMTP_URL=f"smtp://127.0.0.1:{postbox.port}",
        MASTHEAD_MAIL_CONNECTIONS=str(CONNECTIONS),
    )


async def until(press: Press, mailing: dict[str, Any], status: str) -> dict[str, Any]:
    async with asyncio.timeout(300):
        while (state := await press.state(mailing))["status"] != status:
            # Slower than the key's limit of calls.
            await asyncio.sleep(0.5)
    return state


async def end(process_id: int) -> None:
    os.kill(process_id, signal.SIGTERM)
    await asyncio.to_thread(psutil.Process(process_id).wait, 60)


async def kill_at(press: Press, started: Workers, number: int, sent: int) -> None:
    """Kills the next worker, or service, at a moment after so many more emails."""
    ahead = (LEASE * 2 * number).total_seconds()
    process_id = await started.start_with(str(ahead), *(["service"] if number % 2 else []))
    goal = min(len(press.postbox.letters) + sent, READERS - KILLS * CONNECTIONS)
    async with asyncio.timeout(120):
        while len(press.postbox.letters) < goal:
            await asyncio.sleep(0.001)
    os.kill(process_id, signal.SIGKILL)


async def test_nobody_is_mailed_twice_and_nobody_is_forgotten(press: Press) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201
    chance = random.Random(seed)
    await add_readers(press, READERS)
    mailing = await press.mail(await press.tenant.published())
    assert mailing["recipients"] == READERS
    with workers(press.world, press.postbox) as started:
        for number in range(KILLS):
            await kill_at(press, started, number, chance.randint(1, READERS * 2 // (3 * KILLS)))
        last = await started.start(ahead=LEASE * 2 * KILLS)
        state = await until(press, mailing, "sent")
        await end(last)
    assert sum(state[name] for name in ENDED) == READERS
    assert state["failed"] == state["unsubscribed"] == 0
    assert state["uncertain"] <= KILLS * CONNECTIONS
    by_address, by_id = (
        Counter(press.addresses),
        Counter(str(each["Message-ID"]) for each in press.postbox.letters),
    )
    assert max(by_address.values()) == max(by_id.values()) == 1
    assert state["sent"] <= len(by_address) <= state["sent"] + state["uncertain"]
    states = Counter(state for state, _ in (await press.recipients(mailing)).values())
    assert states == Counter({"sent": state["sent"], "uncertain": state["uncertain"]}) + Counter()


async def test_workers_share_a_mailing(press: Press) -> None:
    await add_readers(press, 600)
    mailing = await press.mail(await press.tenant.published())
    with workers(press.world, press.postbox) as started:
        processes = [await started.start() for _ in range(2)]
        state = await until(press, mailing, "sent")
        for each in processes:
            await end(each)
    assert state["sent"] == 600
    assert len(press.addresses) == len(set(press.addresses)) == 600


async def test_a_worker_that_is_stopped_gives_back_what_it_has_not_sent(press: Press) -> None:
    await add_readers(press, 400)
    mailing = await press.mail(await press.tenant.published())
    with workers(press.world, press.postbox) as started:
        first = await started.start()
        async with asyncio.timeout(120):
            while len(press.postbox.letters) < 50:
                await asyncio.sleep(0.005)
        await end(first)
        states = Counter(state for state, _ in (await press.recipients(mailing)).values())
        assert set(states) <= {"sent", "pending"}
        second = await started.start()
        state = await until(press, mailing, "sent")
        await end(second)
    assert (state["sent"], state["uncertain"]) == (400, 0)
    assert len(set(press.addresses)) == len(press.addresses) == 400
