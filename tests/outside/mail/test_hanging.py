"""A mail server that accepts a connection and never replies does not delay other jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.outside.mail.offices import everything
from tests.world import World, open_world

from masthead.base.caller import system
from masthead.features.site.address import Site
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.jobs import CONCURRENCY
from masthead.outside.mail.outbox import SEND
from masthead.service.background import job_runner

MAILS = 10


class SilentServer:
    """On a real socket."""

    def __init__(self) -> None:
        self._writers: list[asyncio.StreamWriter] = []
        self.port = 0

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _accept(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)

    async def connections(self, count: int) -> None:
        while len(self._writers) < count:
            await asyncio.sleep(0.001)

    async def close(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()


@pytest.fixture
async def silent() -> AsyncIterator[SilentServer]:
    silent = SilentServer()
    await silent.open()
    yield silent
    await silent.close()


@pytest.fixture
async def world(database_url: str, tmp_path: Path, silent: SilentServer) -> AsyncIterator[World]:
    url = f"smtp://127.0.0.1:{silent.port}"
    world = await open_world(database_url, tmp_path, MASTHEAD_SMTP_URL=url)
    yield world
    await world.parts.close()


async def test_other_jobs_are_done_while_every_mail_waits(
    world: World, silent: SilentServer
) -> None:
    tenant = await world.new_tenant()
    key = f"{tenant.id}/media/old.txt"
    await world.parts.objects.put(key, b"old")
    async with world.parts.records.unit(system(tenant.id)) as unit:
        for number in range(MAILS):
            mail = write_email(
                "confirm_email",
                Site("D", "https://d.x"),
                f"r{number}@x.example",
                link="https://d.x",
            )
            await world.parts.mail.queue(unit, mail)
    runner = job_runner(world.parts)
    running = asyncio.create_task(runner.run_forever())
    async with asyncio.timeout(100):
        await silent.connections(CONCURRENCY[SEND])
        async with world.parts.records.unit(system(tenant.id)) as unit:
            await unit.enqueue("files.remove", {"keys": [key]})
        while len((await everything(world))["jobs"]) > MAILS:
            await asyncio.sleep(0.001)
        assert [each async for each in world.parts.objects.list_keys(tenant.id)] == []
        assert len((await everything(world))["mails"]) == MAILS
        runner.stop()
        await silent.close()
        await running
    assert len((await everything(world))["mails"]) == MAILS
