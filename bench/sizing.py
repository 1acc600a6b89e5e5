"""`python -m bench.sizing`: how many bytes of the database a post, a member and a delivery take,
with their indexes, events and search entries, and how much memory a server process has then."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import platform
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench import admin_deliveries, data, process
from bench.databases import POSTGRESQL, SQLITE, databases
from bench.datasets import run_folder
from masthead.base.caller import system
from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId
from masthead.features.members.collection import blog_members
from masthead.features.posts.collection import posts
from masthead.identity.limits.plans import Plan
from masthead.identity.setup import NewTenant, create_tenant
from masthead.service.services import Services, bring_up_to_date, build

SLUG = "sized"
Fill = Callable[[Services, TenantId, int], Awaitable[None]]


@dataclass(frozen=True)
class Size:
    what: str
    per_thousand: float
    """In kilobytes."""


def main() -> None:
    options = _options()
    print(f"{os.cpu_count()} cores, {_memory_gigabytes():.1f} GB, {platform.machine()}")
    print(f"{options.rows:,} of each\n")
    with run_folder() as folder:
        for engine in options.engine or (SQLITE, POSTGRESQL):
            with databases(engine, folder) as new_database:
                _measure(folder / engine, new_database(), options.rows, engine)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.sizing", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--engine", action="append", choices=(SQLITE, POSTGRESQL))
    return parser.parse_args()


def _memory_gigabytes() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def _measure(folder: Path, url: str, count: int, engine: str) -> None:
    settings = Settings.from_environ({}, data_dir=folder, database_url=url)
    for size in asyncio.run(fill(settings, count)):
        print(f"{engine}: {size.what}: {size.per_thousand:,.0f} KB per 1,000")
    environment = {"MASTHEAD_DATABASE_URL": url}
    with process.masthead(folder, environment) as (port, server):
        print(f"{engine}: memory at the start: {process.pss_megabytes(server.pid):.0f} MB")
        headers = {"Host": f"{SLUG}.localhost:{port}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers) as client:
            for path in _pages(200):
                client.get(path).raise_for_status()
        print(f"{engine}: memory after 200 pages: {process.pss_megabytes(server.pid):.0f} MB\n")


def _pages(count: int) -> Iterator[str]:
    made = data.posts_of_one(SLUG, count * 2)
    public = [each for each in made if each.is_public]
    yield "/"
    yield from (f"/posts/{each.slug}" for each in public[: count - 1])


async def fill(settings: Settings, count: int) -> list[Size]:
    await bring_up_to_date(settings)
    parts = await build(settings)
    try:
        new = NewTenant(
            slug=SLUG,
            name="Sized",
            plan=Plan.PRO,
            owner_email="owner@sized.example",
            owner_password="correct horse battery",
        )
        tenant_id = (await create_tenant(parts.records, new)).tenant_id
        return [await _size_of(parts, tenant_id, name, count) for name in FILLS]
    finally:
        await parts.close()


async def _size_of(parts: Services, tenant_id: TenantId, what: str, count: int) -> Size:
    before = await _bytes(parts)
    await FILLS[what](parts, tenant_id, count)
    while (await parts.records.search_index.run_batch()).indexed:
        pass
    return Size(what, (await _bytes(parts) - before) / count)


async def _bytes(parts: Services) -> int:
    path = parts.settings.sqlite_path
    if path is None:
        return await parts.database.count_bytes()
    # What is still in the write-ahead log counts as the pages that it becomes.
    with contextlib.closing(sqlite3.connect(path)) as connection:
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    return int((pages - free) * size)


async def _add_posts(parts: Services, tenant_id: TenantId, count: int) -> None:
    for each in data.posts_of_one(SLUG, count):
        values = {
            "title": each.title,
            "slug": each.slug,
            "status": each.status,
            "visibility": each.visibility,
            "tags": each.tags,
            "excerpt": each.excerpt,
            "content_html": each.content_html,
        }
        await parts.records.create(system(tenant_id), posts, values)


async def _add_members(parts: Services, tenant_id: TenantId, count: int) -> None:
    for number in range(count):
        values = {"email": f"member{number}@host{number % 500}.example", "name": f"Member {number}"}
        await parts.records.create(system(tenant_id), blog_members, values)


async def _add_deliveries(parts: Services, tenant_id: TenantId, count: int) -> None:
    await admin_deliveries.seed(parts, tenant_id, count)


FILLS: dict[str, Fill] = {
    "posts": _add_posts,
    "members": _add_members,
    "deliveries": _add_deliveries,
}

if __name__ == "__main__":
    main()
