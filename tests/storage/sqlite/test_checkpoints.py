"""The WAL is checkpointed while others write, and does not grow without end."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.storage.notebook import ANN, Notebook, new_url, open_notebook

from masthead.storage.sqlite import checkpoints
from masthead.storage.sqlite.checkpoints import catch_up, checkpoint
from masthead.storage.sqlite.connection import connect
from masthead.storage.sqlite.database import open_sqlite

WHILE_WAITING = 0.02


@pytest.fixture
async def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Notebook]:
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.01)
    opened = await open_notebook(new_url("sqlite", tmp_path))
    yield opened
    await opened.db.close()


async def add(notebook: Notebook, *names: str) -> None:
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute_many(notebook.add, [(ANN, name, name) for name in names])


def rows_without_the_wal(path: Path, copy: Path) -> int:
    shutil.copy(path, copy)
    with closing(sqlite3.connect(copy)) as connection:
        return int(connection.execute("SELECT count(*) FROM notes").fetchone()[0])


def path_of(tmp_path: Path) -> Path:
    (path,) = (each for each in tmp_path.iterdir() if each.suffix == ".db")
    return path


async def test_what_is_committed_reaches_the_file(notebook: Notebook, tmp_path: Path) -> None:
    await add(notebook, *(f"note {number}" for number in range(50)))
    path = path_of(tmp_path)
    async with asyncio.timeout(60):
        while rows_without_the_wal(path, tmp_path / "copy") != 50:
            await asyncio.sleep(WHILE_WAITING)


async def test_a_wal_that_grew_long_starts_over_under_constant_writing(
    notebook: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "LONG_WAL", 100)
    wal = path_of(tmp_path).with_name(f"{path_of(tmp_path).name}-wal")
    starts, numbers = set(), iter(range(5_000))

    async def write() -> None:
        for number in numbers:
            await add(notebook, f"{number} {'x' * 3_000}")
            starts.add(salt_of(wal))
            if len(starts) >= 5:
                return

    # Several, so that there is no rest between two writes. After a few hundred of them it has begun
    # that often; left to the thread alone, not even in all of these.
    await asyncio.gather(*(write() for _ in range(8)))
    assert len(starts) >= 5


def salt_of(wal: Path) -> bytes:
    """The beginning of a WAL, and is another one each time that it starts over."""
    with wal.open("rb") as file:
        return file.read(32)[16:24]


def test_what_is_written_during_a_checkpoint_reaches_the_file_too(tmp_path: Path) -> None:
    path = tmp_path / "busy.db"
    with (
        closing(connect(path, busy_seconds=0, query_only=False)) as writer,
        closing(connect(path, busy_seconds=0, query_only=False)) as other,
    ):
        writer.execute("CREATE TABLE notes (id TEXT)")
        pages = checkpoint(other)
        writer.execute("INSERT INTO notes VALUES ('meanwhile')")
        catch_up(other, pages)
        assert rows_without_the_wal(path, tmp_path / "copy") == 1


async def test_a_file_that_is_gone_is_not_made_again(notebook: Notebook, tmp_path: Path) -> None:
    path = path_of(tmp_path)
    await add(notebook, *(f"note {number}" for number in range(50)))
    moved = path.rename(path.with_name("moved"))
    async with asyncio.timeout(60):
        while rows_without_the_wal(moved, tmp_path / "copy") != 50:
            await asyncio.sleep(WHILE_WAITING)
    assert not path.exists()


async def test_closing_during_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0)
    notebook = await open_notebook(new_url("sqlite", tmp_path))
    for number in range(20):
        await add(notebook, f"note {number}")
    await notebook.db.close()
    path = path_of(tmp_path)
    assert rows_without_the_wal(path, tmp_path / "copy") == 20
    assert not path.with_name(f"{path.name}-wal").exists()


async def test_closing_while_another_process_writes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "held.db"
    database = open_sqlite(path, statement_seconds=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await database.close()
        await asyncio.sleep(0)
    assert caplog.records == []
