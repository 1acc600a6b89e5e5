"""Worker processes share a queue: when one is killed, another takes over."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from tests.engine.jobs.workers import forked_workers
from tests.outside.mail.postbox import Postbox
from tests.world import RunningClock, TenantWorld, World, open_world

from masthead.base.caller import system
from masthead.engine.jobs.runner import LEASE
from masthead.features.site.address import Site
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.jobs import CONCURRENCY
from masthead.outside.mail.outbox import SEND

pytestmark = pytest.mark.sweep

MAILS = 60


@pytest.fixture
async def postbox() -> AsyncIterator[Postbox]:
    async with Postbox() as postbox:
        yield postbox


@pytest.fixture
async def world(database_url: str, tmp_path: Path) -> AsyncIterator[World]:
    """In real time: the workers are processes with clocks of their own."""
    world = await open_world(database_url, tmp_path, RunningClock())
    yield world
    await world.parts.close()


async def queue_mails(tenant: TenantWorld) -> None:
    parts = tenant.world.parts
    async with parts.records.unit(system(tenant.id)) as unit:
        for number in range(MAILS):
            mail = write_email(
                "confirm_email",
                Site("Demo", "https://demo.example.org"),
                f"reader{number}@example.com",
                link="https://demo.example.org/",
            )
            await parts.mail.queue(unit, mail)


async def received(postbox: Postbox, count: int) -> None:
    async with asyncio.timeout(120):
        while len({mail["to"] for mail in postbox.letters}) < count:
            await asyncio.sleep(0.005)


async def test_every_mail_is_sent_although_a_worker_was_killed(
    world: World, postbox: Postbox
) -> None:
    await queue_mails(await world.new_tenant())
    with forked_workers(world, MASTHEAD_SMTP_URL=f"smtp://127.0.0.1:{postbox.port}") as workers:
        killed = await workers.start()
        other = psutil.Process(await workers.start())
        await received(postbox, MAILS // 4)
        os.kill(killed, signal.SIGKILL)
        await received(postbox, MAILS // 2)
        other.terminate()
        await asyncio.to_thread(other.wait, 20)
        # The jobs of the killed worker were leased until then.
        last = await workers.start(ahead=LEASE)
        await received(postbox, MAILS)
        os.kill(last, signal.SIGTERM)
    sent = Counter(str(mail["message-id"]) for mail in postbox.letters)
    assert len(sent) == MAILS
    # Only what was in the hands of the killed one came again.
    assert sum(sent.values()) - MAILS <= CONCURRENCY[SEND]
