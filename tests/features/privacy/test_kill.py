"""A worker that is killed at any moment of an export or an erasure: the next one finishes it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import signal
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import msgspec
import psutil  # type: ignore[import-untyped]
import pytest
from tests.databases import fresh_url
from tests.engine.jobs.workers import Workers, forked_workers
from tests.features.privacy.people import member_with_records
from tests.features.privacy.requests import DELETE, EXPORT, deletion, request_of
from tests.features.privacy.test_erasure import rows_of
from tests.world import Account, RunningClock, TenantWorld, World, open_world, records_of

from masthead.base.caller import system
from masthead.engine.jobs.runner import LEASE, MAX_ATTEMPTS
from masthead.engine.records.collection import Record
from masthead.features.privacy.export import archive_key

pytestmark = pytest.mark.sweep

KILLS = 3
"""For each database and each of the two."""
POSTS, MEMBERS, FILES = 150, 150, 6
FILE = random.Random(7).randbytes(2**20)
EMAIL = "engines.example"
LOOKED_AT = ("media", "posts", "blog_members", "search_documents", "events")
"""Tables whose rows show the progress of an erasure."""


@pytest.fixture(params=["sqlite", "postgresql"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """In real time: the workers are processes with clocks of their own."""
    world = await open_world(fresh_url(request.param, tmp_path), tmp_path, RunningClock())
    # Nothing is built while the caller waits.
    world.parts.privacy.exports.inline_timeout_seconds = 0
    yield world
    await world.parts.close()


@pytest.fixture
def rng() -> random.Random:
    # Printed by pytest with a failure; put it in here to see the same moments again.
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201
    return random.Random(seed)


async def a_large_tenant(world: World) -> tuple[TenantWorld, Account]:
    tenant = await world.new_tenant("large")
    owner = await tenant.owner(email=f"owner@{EMAIL}")
    await member_with_records(tenant, f"ada@{EMAIL}")
    async with world.parts.records.unit(system(tenant.id)) as unit:
        for number in range(MEMBERS):
            await unit.create(
                world.collection("blog_members"), {"email": f"member{number}@{EMAIL}"}
            )
        for number in range(POSTS):
            values = {"title": f"Post {number}", "content_html": "<p>Words.</p>" * 100}
            await unit.create(world.collection("posts"), values)
    for number in range(FILES):
        file = (f"film-{number}.mp4", FILE, "video/mp4")
        uploaded = await owner.api.post(records_of("media"), files={"file": file})
        assert uploaded.status_code == 200
    return tenant, owner


async def kill_and_finish(
    workers: Workers,
    ahead: timedelta,
    is_time: list[Callable[[], Awaitable[bool]]],
    is_over: Callable[[], Awaitable[bool]],
) -> None:
    """A worker is killed at each of the moments; one more stays until everything is done."""
    for moment in is_time:
        worker = await workers.start(ahead)
        await _until(moment, is_over)
        os.kill(worker, signal.SIGKILL)
        # The next worker finds the dead worker's lease expired.
        ahead += LEASE
    last = psutil.Process(await workers.start(ahead))
    await _until(is_over)
    last.terminate()
    await asyncio.to_thread(last.wait, 20)


async def _until(*conditions: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(120):
        while not any([await each() for each in conditions]):
            await asyncio.sleep(0.002)


# Exports


async def test_an_export_is_whole_however_often_its_worker_was_killed(
    world: World, tmp_path: Path, rng: random.Random
) -> None:
    _, owner = await a_large_tenant(world)
    unfinished = tmp_path / "media" / ".unfinished"
    killed = 0
    with forked_workers(world) as workers:
        while killed < KILLS:
            times = min(KILLS - killed, MAX_ATTEMPTS - 1)
            answer = await owner.api.post(EXPORT, json={"type": "tenant"})
            assert answer.status_code == 202
            asked = await request_of(world, answer.json()["request_id"])
            moments = [
                _written(unfinished, rng.randint(0, FILES * len(FILE))) for _ in range(times)
            ]
            await kill_and_finish(workers, timedelta(), moments, _has(world, asked, "ready"))
            check_archive(tmp_path / "media" / archive_key(asked))
            killed += times


def _written(unfinished: Path, size: int) -> Callable[[], Awaitable[bool]]:
    """So much more than the killed workers have written."""
    before = -1

    async def is_written() -> bool:
        nonlocal before
        if before < 0:
            before = _size(unfinished)
        return _size(unfinished) >= before + size

    return is_written


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.exists())


def _has(world: World, asked: Record, status: str) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        return bool((await request_of(world, asked["id"]))["status"] == status)

    return is_so


def check_archive(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        manifest = msgspec.json.decode(archive.read("manifest.json"))
        for each in (*manifest["collections"], *manifest["files"]):
            content = archive.read(each["path"])
            assert hashlib.sha256(content).hexdigest() == each["sha256"]
    counts = {each["name"]: each["records"] for each in manifest["collections"]}
    assert counts["posts"] == POSTS + 1
    assert counts["blog_members"] == MEMBERS + 1
    assert (len(manifest["files"]), manifest["missing_files"]) == (FILES, [])


# Erasures


async def test_an_erasure_ends_however_often_its_worker_was_killed(
    world: World, tmp_path: Path, rng: random.Random
) -> None:
    kept = await world.new_tenant("kept")
    await member_with_records(kept, f"kept@{EMAIL}")
    before = await records_of_each(world, kept)
    killed = 0
    with forked_workers(world) as workers:
        while killed < KILLS:
            times = min(KILLS - killed, MAX_ATTEMPTS - 1)
            tenant, owner = await a_large_tenant(world)
            answer = await owner.api.post(DELETE, json=deletion(tenant))
            asked = await request_of(world, answer.json()["request_id"])
            rows = sum((await rows_of(world, tenant.id, *LOOKED_AT)).values())
            moments = [_left(world, tenant, rng.randint(1, rows)) for _ in range(times)]
            in_grace = timedelta(days=30, minutes=1)
            await kill_and_finish(workers, in_grace, moments, _has(world, asked, "completed"))
            assert await rows_of(world, tenant.id) == {"gdpr_requests": 1}
            assert [key async for key in world.parts.objects.list_keys(tenant.id)] == []
            await check_receipt(world, asked)
            killed += times
    assert await records_of_each(world, kept) == before


async def records_of_each(world: World, tenant: TenantWorld) -> dict[str, int]:
    found = await rows_of(world, tenant.id)
    names = [each.name for each in world.parts.records.registry.collections]
    # The worker of these tests is a month ahead, so what is in the trash expires.
    return {name: found.get(name, 0) for name in names if not name.startswith("trash")}


def _left(world: World, tenant: TenantWorld, rows: int) -> Callable[[], Awaitable[bool]]:
    async def is_left() -> bool:
        return sum((await rows_of(world, tenant.id, *LOOKED_AT)).values()) <= rows

    return is_left


async def check_receipt(world: World, asked: Record) -> None:
    """Every row is counted once, whichever worker deleted it; a file that was deleted when
    its count was to be written is not."""
    erased = (await request_of(world, asked["id"]))["receipt"]["erased"]
    assert erased["posts"] == POSTS + 1
    assert erased["blog_members"] == MEMBERS + 1
    assert erased["media"] == FILES
    assert erased["tenants"] == 1
    assert erased.get("files", 0) <= FILES
