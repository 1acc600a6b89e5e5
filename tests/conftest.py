"""The world that tests through the HTTP faces live in; each of them runs on both databases."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from structlog.dev import ConsoleRenderer, plain_traceback
from tests.databases import database_url, fresh_url
from tests.loop_time import LoopTime
from tests.object_stores import s3_environ, s3_server
from tests.tls import Authority
from tests.world import START, Account, RunningClock, TenantWorld, World, open_world

from masthead.records.collection import Record

__all__ = ["database_url", "s3_environ", "s3_server"]


def pytest_configure(config: pytest.Config) -> None:
    """The environment of the tests' processes and of those that they start."""
    # The default shows the values of every frame, which takes a second.
    ConsoleRenderer.get_active().exception_formatter = plain_traceback
    if hasattr(config, "workerinput"):
        return  # inherited
    # Each of them imports the whole service; compiling it again would be a fifth of that.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # No test calls a host outside this machine, and reading the hundreds of authorities that the
    # system trusts takes as long as a dozen requests.
    folder = tempfile.TemporaryDirectory(prefix="masthead-")
    config.add_cleanup(folder.cleanup)
    os.environ["SSL_CERT_FILE"] = str(Authority(Path(folder.name)).ca_file)
    os.environ["SSL_CERT_DIR"] = folder.name


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
async def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    """One service for the whole run; tests use `app`, which also resets its clock."""
    folder = tmp_path_factory.mktemp("service")
    world = await open_world(fresh_url(request.param, folder), folder)
    yield world
    await world.parts.close()


@pytest.fixture
def app(service: World) -> Iterator[World]:
    service.clock.moment = START
    yield service
    service.clock.moment = START


@pytest.fixture
async def loop_time() -> LoopTime:
    return LoopTime.for_running_loop()


@pytest.fixture
async def tenant(app: World) -> TenantWorld:
    return await app.new_tenant("demo")


@pytest.fixture
async def other_tenant(app: World) -> TenantWorld:
    return await app.new_tenant("other")


@pytest.fixture
async def owner(tenant: TenantWorld) -> Account:
    return await tenant.owner()


@pytest.fixture
async def operator(app: World) -> Account:
    return await app.operator()


@pytest.fixture
async def member(tenant: TenantWorld) -> Account:
    return await tenant.member()


@pytest.fixture
async def published_post(tenant: TenantWorld) -> Record:
    return await tenant.published()


@pytest.fixture
async def draft(tenant: TenantWorld) -> Record:
    return await tenant.post(title="A draft")


@dataclass(frozen=True)
class Server:
    """The service on a real port; its bare host serves `tenant`."""

    url: str
    world: World
    tenant: TenantWorld


class _QuietServer(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # They belong to the test run.
        yield


@pytest.fixture(params=["sqlite", "postgresql"])
async def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    url = fresh_url(request.param, folder)
    world = await open_world(url, folder, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo")
    tenant = await world.new_tenant("demo", slug="demo")
    async with serving(world) as port:
        yield Server(f"http://127.0.0.1:{port}", world, tenant)
    await world.parts.close()


@contextlib.asynccontextmanager
async def serving(world: World, port: int = 0) -> AsyncIterator[int]:
    """The service on a port of this machine: a free one, or the given one."""
    config: Any = uvicorn.Config(world.http, port=port, log_config=None, lifespan="off", ws="none")
    running = _QuietServer(config)
    task = asyncio.create_task(running.serve())
    while not running.started:
        await asyncio.sleep(0)
    yield running.servers[0].sockets[0].getsockname()[1]
    running.should_exit = True
    await task
