"""The world that tests through the HTTP faces live in, on SQLite and on PostgreSQL."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from playwright.async_api import Browser as PlaywrightBrowser
from tests import budget, corpus, tiers
from tests.browser import REFUSED, Browser, keep_files_together, launched
from tests.cheap_passwords import cheap_passwords
from tests.compiled_templates import share_compiled_templates
from tests.databases import copied_schemas, database_url, fresh_url
from tests.loop_time import LoopTime
from tests.not_run import pytest_terminal_summary
from tests.object_stores import s3_environ, s3_server
from tests.scheduling import Scheduling
from tests.served import serving
from tests.tls import Authority
from tests.world import START, Account, RunningClock, TenantWorld, World, open_world

from masthead.base import limited_process
from masthead.engine.records.collection import Record

__all__ = ["database_url", "pytest_terminal_summary", "s3_environ", "s3_server"]


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers.add_option(parser)


def pytest_xdist_auto_num_workers() -> int:
    """Two more than cores: a process waits a quarter of its time for databases, browsers and
    others."""
    return (os.cpu_count() or 1) + 2


def pytest_configure(config: pytest.Config) -> None:
    """The environment of the tests' processes and of those that they start."""
    # An example that takes 200 ms on a busy machine is no failure. `make fuzz` tries many more.
    settings.register_profile("masthead", deadline=None, max_examples=40)
    settings.load_profile("masthead")
    tiers.configure(config)
    if config.getoption("--tier") == "test":
        budget.register(config)
    corpus.hide(config)
    share_compiled_templates()
    do_not_look_for_trio()
    if hasattr(config, "workerinput"):
        return  # inherited
    # Each of them imports the whole service; compiling it again would be a fifth of that.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Rewriting the assertions of all tests is half of what finding them takes.
    sys.dont_write_bytecode = False
    # No test calls a host outside this machine, and reading the hundreds of authorities that the
    # system trusts takes as long as a dozen requests.
    folder = tempfile.TemporaryDirectory(prefix="masthead-")
    config.add_cleanup(folder.cleanup)
    os.environ["SSL_CERT_FILE"] = str(Authority(Path(folder.name)).ca_file)
    os.environ["SSL_CERT_DIR"] = folder.name


def do_not_look_for_trio() -> None:
    """httpx looks for a module of trio in each request of an in-process client. If it is not
    installed, every folder is searched each time: a twentieth of what most tests take."""
    if find_spec("sniffio") is None:
        sys.modules["sniffio"] = None  # type: ignore[assignment]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Tests and modules stay until the end, so the garbage collector need not look at them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        # As a server does: hardly any object of a request is garbage.
        gc.set_threshold(10_000, 20, 20)
        gc.enable()


# Before pytest-xdist, which writes the group of a test into its name.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tiers.leave_out_the_other_tier(config, items)
    keep_files_together(items)
    items[:] = tiers.in_order(config.getoption("--tier"), items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    return Scheduling(config, log) if config.getoption("dist") == "loadgroup" else None


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> Iterator[None]:
    with cheap_passwords():
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_archives() -> Iterator[None]:
    with copied_schemas():
        yield


@pytest.fixture(scope="session", autouse=True)
def a_busy_machine_starts_processes_late() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(limited_process, "_START_SECONDS", 120.0)
        yield


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
async def app(service: World) -> AsyncIterator[World]:
    service.clock.moment = START
    yield service
    service.clock.moment = START
    await service.forget_work()


@pytest.fixture(scope="session")
async def chromium() -> AsyncIterator[PlaywrightBrowser]:
    async with launched() as found:
        yield found


@pytest.fixture(scope="module")
async def browser(chromium: PlaywrightBrowser) -> AsyncIterator[Browser]:
    """Pages that a module leaves open are closed at its end."""
    opened = Browser(chromium)
    yield opened
    await opened.close()


@pytest.fixture(autouse=True)
def the_policy_refuses_nothing_and_no_script_fails() -> Iterator[None]:
    yield
    found = REFUSED.copy()
    REFUSED.clear()
    assert found == []


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


@pytest.fixture(params=["sqlite", "postgresql"])
async def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    url = fresh_url(request.param, folder)
    world = await open_world(url, folder, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo")
    tenant = await world.new_tenant("demo", slug="demo")
    async with serving(world.http) as address:
        yield Server(address, world, tenant)
    await world.parts.close()
