"""Faults of the machine itself: the clock jumps, files break, the disk takes nothing more, a worker
hangs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from tests.databases import fresh_postgres_url, fresh_sqlite_url, fresh_url
from tests.faults.installation import installed
from tests.faults.invariants import SETTLE_SECONDS, Found, check, rows_of, settle
from tests.faults.ledger import Post, Unacknowledged
from tests.faults.load import Load
from tests.faults.paths import HALF_BYTES, PATHS, create_post, hang_up, upload, upload_large
from tests.faults.report import note
from tests.forking import forked_program

from masthead.base.caller import system
from masthead.service.schema import tables

HOUR = 3600.0
DISK_BYTES = 24 * 1024 * 1024
HANGS = 3
ENGINES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.sweep)]


@pytest.mark.parametrize("engine", ENGINES)
async def test_the_clock_jumps_an_hour_both_ways(engine: str, tmp_path: Path) -> None:
    async with installed(fresh_url(engine, tmp_path), tmp_path) as site:
        site.start()
        load = Load(site, random.randrange(2**32))
        load.clock_jumps = True
        tasks = await load.until(20)
        for offset in (HOUR, 0.0, -HOUR, 0.0):
            site.move_clock(offset)
            await asyncio.sleep(0.3)
        await more_acknowledged(load, 20)
        await load.finish(tasks)
        # What was planned while the clock was ahead is due an hour later.
        site.move_clock(HOUR)
        await settle(site)
        found = await check(site, load)
        note("clock an hour off, both ways", engine, 4, load, found)
    assert found.losses == []


@pytest.mark.parametrize("engine", ENGINES)
async def test_broken_files_are_found_and_break_nothing_else(engine: str, tmp_path: Path) -> None:
    """A file whose bytes have changed, one that is gone, and half of an upload."""
    async with installed(fresh_url(engine, tmp_path), tmp_path) as site:
        site.start()
        load = Load(site, random.randrange(2**32))
        tasks = await load.until(8, (upload,))
        await load.finish(tasks)
        await settle(site)
        names, table = load.ledger.files, tables["media"]
        alive = await rows_of(
            site, sa.select(table.c.id, table.c.file).where(table.c.alt.in_(names))
        )
        assert len(alive) > 1, "the load has uploaded too little"
        folder = tmp_path / "media" / site.tenant.id / "media"
        changed, gone = (folder / media_id / file for media_id, file in alive[:2])
        changed.write_bytes(changed.read_bytes()[:-10] + b"0123456789")
        gone.unlink()
        half = folder / "halfwrittenfile" / "half.png"
        half.parent.mkdir()
        half.write_bytes(b"\x89PNG\r\n\x1a\nhalf")
        # And what the checks of the other tests look for.
        load.ledger.posts.append(Post("lost", "lost" * 3 + "los", "lost", "lost", is_settled=True))
        load.ledger.files.add("lost.png")
        load.ledger.payers.add("lost@pays.example")
        load.ledger.mailings["lost mailing"] = ""
        stopped = {"kind": "post", "status": "cancelled", "newsletter": "newsletter"}
        async with site.world.parts.records.unit(system(site.tenant.id)) as unit:
            made = await unit.create(site.world.collection("mailings"), {}, stamped=stopped)
        load.ledger.mailings[made["id"]] = "lost post"
        found = await check(site, load)
        await _answers(site.url, site.host)
    kinds = sorted(each.partition("check='")[2].partition("'")[0] for each in found.losses)
    assert [each for each in kinds if each] == ["files", "files", "orphans"], found.losses
    lost = [each for each in found.losses if "lost" in each]
    assert len(lost) == 6, found.losses
    others = [each for each in found.losses if "check='" not in each and each not in lost]
    note(
        "a file changed, one gone, one half written", engine, 3, load, Found(found.records, others)
    )
    assert others == []


@pytest.mark.sweep
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_uploads_that_are_cut_off_leave_nothing(engine: str, tmp_path: Path) -> None:
    """Clients go away in the middle of a file, and so does the service."""
    async with installed(fresh_url(engine, tmp_path), tmp_path) as site:
        load = Load(site, random.randrange(2**32))
        for _ in range(2):
            site.start()
            tasks = await load.until(8, (upload, hang_up, hang_up))
            site.kill()
            await load.finish(tasks)
        site.start()
        await settle(site)
        assert load.ledger.hung_up > 10
        found = await check(site, load)
        note("uploads are cut off", engine, load.ledger.hung_up, load, found)
        kept = [each for each in (tmp_path / "media").rglob("*") if each.is_file()]
    assert found.losses == []
    assert all(each.stat().st_size < HALF_BYTES for each in kept)


async def _answers(url: str, host: str) -> None:
    async with httpx.AsyncClient(base_url=url, headers={"Host": host}) as client:
        for path in ("/", "/api/health", "/sitemap.xml"):
            assert (await client.get(path)).status_code == 200


@pytest.mark.sweep
async def test_a_process_that_hangs_for_ten_minutes(tmp_path: Path) -> None:
    """Stopped in the middle of everything, it goes on when what it had claimed is free again."""
    async with installed(fresh_sqlite_url(tmp_path), tmp_path) as site:
        site.start()
        load = Load(site, random.randrange(2**32))
        load.clock_jumps = True
        tasks = await load.until(40)
        os.kill(site.pid, signal.SIGSTOP)
        await asyncio.sleep(0.3)
        site.move_clock(600)
        os.kill(site.pid, signal.SIGCONT)
        await more_acknowledged(load, 20)
        await load.finish(tasks)
        await settle(site)
        found = await check(site, load)
        note("a process hangs for ten minutes", "sqlite", 1, load, found)
    assert found.losses == []


@pytest.mark.sweep
async def test_another_process_takes_over_from_one_that_hangs(tmp_path: Path) -> None:
    """Both answer requests and work. One is stopped in the middle of everything, perhaps within a
    transaction, and goes on when the other has done what it had claimed."""
    async with installed(fresh_postgres_url(), tmp_path) as site:
        other = replace(site)
        site.start()
        other.start()
        load = Load(site, random.randrange(2**32))
        load.clock_jumps = True
        try:
            for _ in range(HANGS):
                load.site = site
                tasks = await load.until(40)
                os.kill(site.pid, signal.SIGSTOP)
                await load.finish(tasks)
                load.site = other
                site.move_clock(float((tmp_path / "offset").read_text()) + 600)
                tasks = await load.until(40)
                await load.finish(tasks)
                await takes_writes(load)
                await settle(other)
                os.kill(site.pid, signal.SIGCONT)
            load.site = site
            await load.finish(await load.until(20))
            await settle(site)
            found = await check(site, load)
        finally:
            os.kill(site.pid, signal.SIGCONT)
            other.stop()
        note("a process hangs, another takes over", "postgresql", HANGS, load, found)
    assert found.losses == []


async def more_acknowledged(load: Load, number: int) -> None:
    enough = load.ledger.acknowledged + number
    while load.ledger.acknowledged < enough:
        await asyncio.sleep(0.02)


async def takes_writes(load: Load) -> None:
    """The server ends the transaction of a process that hangs: after half a minute, or after two if
    it hangs between two messages. Settling skips the time between attempts at a job, so that all of
    them would fall into that time."""
    async with asyncio.timeout(SETTLE_SECONDS), load.site.client() as client:
        while True:
            with contextlib.suppress(Unacknowledged):
                await create_post(client, load)
                return


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, which this test can fill."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    if subprocess.run(made, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.sweep
async def test_the_disk_is_full_and_has_room_again(small_disk: Path) -> None:
    """All of it: database, counters, uploads, temporary files."""
    async with installed(fresh_sqlite_url(small_disk), small_disk) as site:
        site.start()
        load = Load(site, random.randrange(2**32))
        tasks = await load.until(20)
        for _ in range(3):
            filler = small_disk / "filler"
            with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while True:
                    file.write(b"\0" * 65536)
            await asyncio.sleep(2)
            filler.unlink()
            await more_acknowledged(load, 20)
        await load.finish(tasks)
        await settle(site)
        found = await check(site, load)
        note("full disk", "sqlite", 3, load, found)
        assert {status for name in load.ledger.answers for status in name.split()[1:]} & {"503"}
    assert found.losses == []


@pytest.mark.sweep
async def test_a_read_only_disk_is_said_and_nothing_is_lost(small_disk: Path) -> None:
    async with installed(fresh_sqlite_url(small_disk), small_disk) as site:
        site.start()
        load = Load(site, random.randrange(2**32))
        await load.finish(await load.until(20))
        await settle(site)
        site.kill()
        await site.world.parts.close()
        await remount(small_disk, "ro")
        options = ("--data-dir", small_disk, "--database-url", f"sqlite:///{_database(small_disk)}")
        environ = {**os.environ, "MASTHEAD_LOG": "json", "MASTHEAD_SECRET_KEY": "k" * 40}
        refused = subprocess.run(
            [forked_program(), "serve", "--port", "0", *options],
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert refused.returncode == 1, refused
        assert "Traceback" not in refused.stderr
        assert "read-only" in refused.stderr.lower()
        await remount(small_disk, "rw")
        await site.reopen()
        site.start()
        await settle(site)
        found = await check(site, load)
        note("read-only disk", "sqlite", 1, load, found)
    assert found.losses == []


@pytest.mark.sweep
async def test_stored_files_can_not_be_written_for_a_while(
    tmp_path: Path, small_disk: Path
) -> None:
    """Their disk is read-only, as one with errors is. Everything else goes on."""
    storage = {"MASTHEAD_STORAGE_URL": f"file://{small_disk}/media"}
    async with installed(fresh_sqlite_url(tmp_path), tmp_path, **storage) as site:
        site.start()
        load = Load(site, random.randrange(2**32))
        load.paths = (*PATHS, upload_large)
        tasks = await load.until(20)
        for _ in range(3):
            await remount(small_disk, "ro")
            await asyncio.sleep(2)
            await remount(small_disk, "rw")
            await more_acknowledged(load, 20)
        await load.finish(tasks)
        await settle(site)
        found = await check(site, load)
        note("read-only disk of stored files", "sqlite", 3, load, found)
        assert load.ledger.answers["api 503"]
    assert found.losses == []


async def remount(disk: Path, how: str) -> None:
    """Waits for a moment in which no file is being written."""
    command = ["mount", "-o", f"remount,{how}", str(disk)]
    async with asyncio.timeout(60):
        while subprocess.run(command, capture_output=True, check=False).returncode != 0:
            await asyncio.sleep(0.01)


def _database(folder: Path) -> Path:
    (found,) = folder.glob("masthead-*.db")
    return found
