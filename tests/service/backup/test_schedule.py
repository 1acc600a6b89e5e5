"""Backups that the worker makes by itself: when they are due, by one process of many, and kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.databases import fresh_url
from tests.log_lines import capture_logs
from tests.object_stores import S3Server
from tests.service.backup.sites import Installation
from tests.world import MovableClock, World, open_world

from masthead.base import counters
from masthead.engine.jobs.single import enqueue_once
from masthead.service.background import backup_schedule, job_runner
from masthead.service.backup.schedule import JOB_ID, TAKE_JOB
from masthead.service.backup.verify import verify_backup

pytestmark = pytest.mark.sweep


@asynccontextmanager
async def opened(url: str, folder: Path, clock: MovableClock, to: str) -> AsyncIterator[World]:
    folder.mkdir(exist_ok=True)
    given = {"MASTHEAD_BACKUP_TO": to, "MASTHEAD_BACKUP_EVERY": "6h", "MASTHEAD_BACKUP_KEEP": "2"}
    world = await open_world(url, folder, clock, **given)
    try:
        yield world
    finally:
        await world.parts.close()


async def look_and_work(world: World) -> None:
    await backup_schedule(world.parts).enqueue_due()
    await job_runner(world.parts).run_due()


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if not each.name.startswith("."))


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_one_of_two_workers_makes_what_is_due(engine: str, tmp_path: Path) -> None:
    kept, clock = tmp_path / "kept", MovableClock()
    kept.mkdir()
    (kept / "notes.txt").write_text("stays")
    url = fresh_url(engine, tmp_path)
    data = tmp_path / "data"
    async with (
        opened(url, data, clock, str(kept)) as first,
        opened(url, data, clock, str(kept)) as second,
    ):
        await first.new_tenant("demo")
        for hours in (0, 1, 5, 6, 6):
            clock.advance(hours=hours)
            await asyncio.gather(look_and_work(first), look_and_work(second))
    made = names(kept)
    # At 0, 6, 12 and 18 hours; the two newest stay.
    assert len(made) == 3
    assert made[-1] == "notes.txt"
    for name in made[:-1]:
        assert (await verify_backup(kept / name)).records > 0
        assert (kept / name).stat().st_mode & 0o777 == 0o600


async def test_a_backup_goes_into_a_bucket(tmp_path: Path, s3_environ: S3Server) -> None:
    place = f"{s3_environ.new_url()}/daily"
    clock = MovableClock()
    async with opened(fresh_url("sqlite", tmp_path), tmp_path / "data", clock, place) as world:
        await look_and_work(world)
        schedule = backup_schedule(world.parts)
        assert schedule._kept is not None
        newest = await schedule._kept.newest()
        assert newest == clock().replace(microsecond=0)
        found = await Installation(tmp_path / "data", "sqlite:///none").json(
            "backup", "verify", schedule._kept.address(newest)
        )
        assert found["unreadable_secrets"] == 0


async def test_a_failure_is_said_and_tried_again(tmp_path: Path) -> None:
    blocked = tmp_path / "kept"
    blocked.write_text("a file, where a folder should be")
    clock = MovableClock()
    async with opened(
        fresh_url("sqlite", tmp_path), tmp_path / "data", clock, str(blocked)
    ) as world:
        before = counters.BACKUPS.values[counters.FAILED,]
        with capture_logs() as lines:
            await look_and_work(world)
        [failed] = [each for each in lines if each["event"] == "backup.failed"]
        assert (failed["log_level"], failed["to"]) == ("error", str(blocked))
        assert failed["cause"]
        assert counters.BACKUPS.values[counters.FAILED,] == before + 1
        blocked.unlink()
        clock.advance(minutes=5)
        await look_and_work(world)
        assert len(names(blocked)) == 1


async def test_a_worker_that_ends_gives_up_and_leaves_no_file(tmp_path: Path) -> None:
    kept, clock = tmp_path / "kept", MovableClock()
    async with opened(fresh_url("sqlite", tmp_path), tmp_path / "data", clock, str(kept)) as world:
        await world.new_tenant("demo")
        ending = job_runner(world.parts)
        await ending.do_chores()
        ending.stop()
        await ending.run_due()
        assert not [each for each in kept.rglob("*") if each.is_file()]


async def test_a_job_is_there_once(tmp_path: Path) -> None:
    clock = MovableClock()
    async with opened(fresh_url("sqlite", tmp_path), tmp_path / "data", clock, "/none") as world:
        database = world.parts.database
        queued = [await enqueue_once(database, TAKE_JOB, JOB_ID, clock()) for _ in range(3)]
        assert queued == [True, False, False]


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_the_doctor_says_when_the_last_good_one_was(engine: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    installed = Installation.empty(engine, tmp_path, MASTHEAD_BACKUP_TO=str(kept))
    async with installed.serving() as world:

        async def found() -> tuple[str, str]:
            outcome = await installed.command("doctor", "--json")
            checks = {each["name"]: each for each in json.loads(outcome.out)["checks"]}
            return checks["backups"]["state"], checks["backups"]["detail"]

        kept.mkdir()
        assert (await found())[0] == "warn"
        await look_and_work(world)
        state, detail = await found()
        assert (state, "the last good one is of 20" in detail) == ("ok", True)
        [name] = names(kept)
        (kept / name).rename(kept / "masthead-20200101-000000.tar")
        state, detail = await found()
        assert (state, "backup.failed" in detail) == ("fail", True)
