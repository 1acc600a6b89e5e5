"""Versions of tenants: on SQLite, one check of the database serves an iteration of the event loop;
on PostgreSQL, one read serves all who ask before it is sent. A later request sees every commit
before it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from tests.counting import CountingDatabase
from tests.world import TenantWorld, World

from masthead.base.errors import Unavailable
from masthead.engine.records.versions import SHARED_READS, TenantVersions, Versions
from masthead.storage.database import Database
from masthead.storage.postgres.database import open_postgres

BUMP = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as database:
    database.execute(
        "UPDATE tenant_states SET version = version + 1 WHERE tenant_id = ?", (sys.argv[2],)
    )
"""


async def test_a_read_after_a_change_sees_it(tenant: TenantWorld) -> None:
    versions = TenantVersions(tenant.world.parts.database)
    before = await versions.of(tenant.id)
    await tenant.create("posts", {"title": "New"})
    after = await versions.of(tenant.id)
    assert after.content > before.content
    assert after.identity == before.identity


async def test_a_read_after_another_processs_commit_sees_it(
    app: World, tenant: TenantWorld
) -> None:
    versions = TenantVersions(app.parts.database)
    seen = []

    async def ask() -> None:
        seen.append((await versions.of(tenant.id)).content)

    await ask()
    await _bump(app, tenant)
    # A request that comes in is a callback at the end of the loop's queue, as this one is.
    await asyncio.create_task(ask())
    assert seen[1] == seen[0] + 1


@pytest.mark.parametrize(("few_tenants", "read_singly"), [(1, 1), (10_000, 1), (10_000, 2)])
async def test_prefetched_versions_are_current(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld, few_tenants: int, read_singly: int
) -> None:
    versions = TenantVersions(app.parts.database, few_tenants=few_tenants, read_singly=read_singly)

    async def ask() -> list[int]:
        return [(await versions.of(each.id)).content for each in (tenant, other_tenant)]

    before = await ask()
    assert await ask() == before
    await other_tenant.create("posts", {"title": "New"})
    assert await ask() == [before[0], before[1] + 1]
    await _bump(app, tenant)
    assert await asyncio.create_task(ask()) == [before[0] + 1, before[1] + 1]


@pytest.mark.parametrize("few_tenants", [1, 10_000])
async def test_a_tenant_without_a_state_has_the_first_version(
    app: World, tenant: TenantWorld, few_tenants: int
) -> None:
    versions = TenantVersions(app.parts.database, few_tenants=few_tenants, read_singly=1)
    await versions.of(tenant.id)
    assert await versions.of("nobody") == await versions.of("nobody") == Versions(0, 0)


ON_POSTGRESQL = pytest.mark.parametrize("service", ["postgresql"], indirect=True)


@ON_POSTGRESQL
async def test_requests_share_a_read(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    database = CountingDatabase(app.parts.database)
    versions = TenantVersions(cast("Database", database))
    both = (tenant.id, other_tenant.id)
    alone = [await versions.of(each) for each in both]
    assert database.reads == 2
    assert await asyncio.gather(*map(versions.of, both * 10)) == alone * 10
    assert database.reads == 3


@ON_POSTGRESQL
async def test_no_request_gets_what_was_read_before_it(app: World, tenant: TenantWorld) -> None:
    versions = TenantVersions(app.parts.database)
    is_over = False

    async def ask_on() -> None:
        while not is_over:
            await versions.of(tenant.id)

    async with asyncio.TaskGroup() as others:
        for _ in range(2 * SHARED_READS):
            others.create_task(ask_on())
        before = await versions.of(tenant.id)
        for number in range(5):
            await tenant.create("posts", {"title": "New", "slug": f"new-{number}"})
            after = await versions.of(tenant.id)
            assert after.content > before.content
            before = after
        is_over = True


@ON_POSTGRESQL
async def test_a_request_that_ends_early_leaves_the_read_to_the_others(
    app: World, tenant: TenantWorld
) -> None:
    versions = TenantVersions(app.parts.database)
    first, second = (asyncio.create_task(versions.of(tenant.id)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == await versions.of(tenant.id)
    assert first.cancelled()


async def test_a_read_that_fails_fails_for_all_who_share_it(tmp_path: Path) -> None:
    database = await open_postgres(f"postgresql:///nothing?host={tmp_path}")
    versions = TenantVersions(database)
    asked = await asyncio.gather(*(versions.of("a") for _ in range(2)), return_exceptions=True)
    assert [type(each) for each in asked] == [Unavailable, Unavailable]
    with pytest.raises(Unavailable):
        await versions.of("a")
    await database.close()


async def _bump(app: World, tenant: TenantWorld) -> None:
    if app.engine == "sqlite":
        path = str(app.parts.settings.database_url).removeprefix("sqlite:///")
        # Blocking on purpose: nothing else runs between the check and the commit.
        subprocess.run([sys.executable, "-c", BUMP, path, tenant.id], check=True)
        return
    await tenant.create("posts", {"title": "New"})
