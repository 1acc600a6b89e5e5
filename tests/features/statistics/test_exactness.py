"""Counts are exact: over a long access log, in several processes, and after failures."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
from tests.databases import fresh_url, run_apart
from tests.features.statistics.access_lines import Expected, Line, lines, tenant_of
from tests.features.statistics.site import PHONE, reader, stats, views
from tests.service.cli.running import serving
from tests.world import TenantWorld, World

from masthead.base.errors import DiskFull, Unavailable
from masthead.features.statistics.counting import ViewCounts
from masthead.features.statistics.storing import View, ViewStore
from masthead.features.statistics.tables import view_counts
from masthead.storage.database import Database, scope_of
from masthead.storage.urls import sqlite_path

LINES = 20_000


async def stored_counts(tenant: TenantWorld) -> dict[tuple[str, str], tuple[int, int]]:
    database, t = tenant.world.parts.database, view_counts.c
    wanted = sa.select(t.kind, t.subject, t.views, t.readers)
    statement = database.compile(wanted.where(t.tenant_id == sa.bindparam("tenant")))
    rows = await database.fetch(scope_of(tenant.id), statement, (tenant.id,))
    return {(kind, subject): (seen, readers) for kind, subject, seen, readers in rows}


def process_of(app: World) -> ViewCounts:
    """Counting of one more process: it writes when the test says."""
    return ViewCounts(ViewStore(app.parts.database, app.clock), "localhost", app.clock, 3_600)


async def replay(counts: ViewCounts, tenant: TenantWorld, log: Iterable[Line]) -> None:
    site = tenant_of(tenant.id, tenant.slug)
    for number, line in enumerate(log):
        counts.note_answer(line.request(site), line.status, 0.0)
        if number % 2_500 == 2_499:
            await counts.flush()
    await counts.flush()


@pytest.mark.both_databases
async def test_an_access_log_gives_exact_counts_in_three_processes(
    app: World, tenant: TenantWorld
) -> None:
    log = list(lines(LINES, seed=38))
    expected = Expected()
    for line in log:
        expected.add(line)
    await asyncio.gather(*(replay(process_of(app), tenant, log[part::3]) for part in range(3)))
    assert await stored_counts(tenant) == expected.rows


class BrokenStore(ViewStore):
    """A store whose next transactions end with these errors: before, or in their commits."""

    def __init__(self, database: Database, app: World) -> None:
        super().__init__(database, app.clock)
        self.before: list[Exception] = []
        self.in_commit: list[Exception] = []

    async def add(self, views: Iterable[View]) -> None:
        self._database = _Failing(self._database, self)  # type: ignore[assignment]
        try:
            await super().add(views)
        finally:
            self._database = self._database.database  # type: ignore[attr-defined]


class _Failing:
    def __init__(self, database: Database, store: BrokenStore) -> None:
        self.database = database
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    def transaction(self, scope: Any) -> Any:
        return _FailingTransaction(self.database.transaction(scope), self._store)


class _FailingTransaction:
    def __init__(self, inner: Any, store: BrokenStore) -> None:
        self._inner = inner
        self._store = store

    async def __aenter__(self) -> Any:
        if self._store.before:
            raise self._store.before.pop()
        return await self._inner.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        await self._inner.__aexit__(*error)
        if self._store.in_commit:
            raise self._store.in_commit.pop()


@pytest.mark.parametrize("failure", [Unavailable(), DiskFull()])
async def test_views_that_could_not_be_written_are_written_with_the_next(
    app: World, tenant: TenantWorld, failure: Exception
) -> None:
    store = BrokenStore(app.parts.database, app)
    counts = ViewCounts(store, "localhost", app.clock, 3_600)
    line = next(each for each in lines(100, seed=1) if each.is_view)
    store.before = [failure]
    for _ in range(2):
        counts.note_answer(line.request(tenant_of(tenant.id, tenant.slug)), 200, 0.0)
        await counts.flush()
    assert (await stored_counts(tenant))["site", ""][0] == 2


async def test_views_of_a_commit_that_may_have_succeeded_are_not_counted_again(
    app: World, tenant: TenantWorld
) -> None:
    store = BrokenStore(app.parts.database, app)
    counts = ViewCounts(store, "localhost", app.clock, 3_600)
    line = next(each for each in lines(100, seed=1) if each.is_view)
    store.in_commit = [Unavailable()]
    for _ in range(2):
        counts.note_answer(line.request(tenant_of(tenant.id, tenant.slug)), 200, 0.0)
        await counts.flush()
    assert (await stored_counts(tenant))["site", ""][0] == 2


async def test_views_are_written_by_themselves_within_ten_seconds(tenant: TenantWorld) -> None:
    counts = ViewCounts(
        ViewStore(tenant.world.parts.database, tenant.world.clock),
        "localhost",
        tenant.world.clock,
        flush_seconds=0.01,
    )
    line = next(each for each in lines(100, seed=1) if each.is_view)
    counts.note_answer(line.request(tenant_of(tenant.id, tenant.slug)), 200, 0.0)
    async with asyncio.timeout(10):
        while not await stored_counts(tenant):
            await asyncio.sleep(0.01)
    await counts.flush()


async def test_a_process_that_ends_writes_its_views(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, "--demo") as server:
        for _ in range(3):
            assert server.get("/", **{"User-Agent": PHONE}).status_code == 200
        assert server.terminate() == 0
    assert served_views(f"sqlite:///{data / 'masthead.db'}") == 3


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_a_killed_process_loses_only_what_was_not_written_yet(
    engine: str, tmp_path: Path
) -> None:
    data, url = tmp_path / "data", fresh_url(engine, tmp_path)
    with serving(data, "--demo", "--database-url", url) as server:
        server.get("/", **{"User-Agent": PHONE})
        async with asyncio.timeout(30):
            while served_views(url) != 1:
                await asyncio.sleep(0.05)
        server.get("/", **{"User-Agent": PHONE})
        server.process.kill()
        server.process.wait()
    assert served_views(url) in (1, 2)
    with serving(data, "--database-url", url) as server:
        server.get("/", **{"User-Agent": PHONE})
        server.terminate()
    assert served_views(url) in (2, 3)


def served_views(url: str) -> int:
    statement = "SELECT coalesce(sum(views), 0) FROM view_counts WHERE kind = 'site'"
    path = sqlite_path(url)
    if path is None:
        return int(run_apart(lambda: _fetch_one(url, statement)))
    with closing(sqlite3.connect(path)) as database:
        ((found,),) = database.execute(statement)
    return int(found)


async def _fetch_one(url: str, statement: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def test_two_processes_know_each_others_readers(app: World, tenant: TenantWorld) -> None:
    ann = reader(tenant, "198.19.5.5")
    await ann.get("/")
    assert await views(tenant) == (1, 1)
    other = process_of(app)
    line = next(each for each in lines(100, seed=1) if each.is_view)
    seen = line._replace(
        address="198.19.5.5", user_agent=str(ann.headers["user-agent"]), is_anonymous=False
    )
    other.note_answer(seen.request(tenant_of(tenant.id, tenant.slug)), 200, 0.0)
    await other.flush()
    found = await stats(tenant)
    assert (found["views"], found["readers"]) == (2, 1)
