"""The WAL is checkpointed while others write, and does not grow without end."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.log_lines import capture_logs
from tests.storage.notebook import ANN, Notebook, new_url, notebook_on

from masthead.storage.sqlite.checkpoints import (
    MAX_WAL_PAGES,
    Checkpoints,
    checkpoint,
    repeat_checkpoint,
)
from masthead.storage.sqlite.connection import connect
from masthead.storage.sqlite.database import SqliteDatabase, open_sqlite
from masthead.storage.urls import sqlite_path

WHILE_WAITING = 0.02


def open_notebook(
    tmp_path: Path, *, interval_seconds: float = 0.01, max_wal_pages: int = MAX_WAL_PAGES
) -> Notebook:
    url = new_url("sqlite", tmp_path)
    path = sqlite_path(url)
    assert path is not None
    checkpoints = partial(
        Checkpoints, interval_seconds=interval_seconds, max_wal_pages=max_wal_pages
    )
    return notebook_on(SqliteDatabase(path, checkpoints=checkpoints), url)


@pytest.fixture
async def notebook(tmp_path: Path) -> AsyncIterator[Notebook]:
    opened = open_notebook(tmp_path)
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
    async with asyncio.timeout(120):
        while rows_without_the_wal(path, tmp_path / "copy") != 50:
            await asyncio.sleep(WHILE_WAITING)


async def test_a_long_wal_restarts_under_constant_writing(tmp_path: Path) -> None:
    notebook = open_notebook(tmp_path, max_wal_pages=100)
    wal = path_of(tmp_path).with_name(f"{path_of(tmp_path).name}-wal")
    starts, numbers = set(), iter(range(5_000))

    async def write() -> None:
        for number in numbers:
            await add(notebook, f"{number} {'x' * 3_000}")
            starts.add(salt_of(wal))
            if len(starts) >= 5:
                return

    # Several writers, so that there is no pause between two writes. A few hundred writes restart
    # the WAL that often; with the thread alone not even all of them would.
    await asyncio.gather(*(write() for _ in range(8)))
    await notebook.db.close()
    assert len(starts) >= 5


def salt_of(wal: Path) -> bytes:
    """Part of the WAL's header; it changes each time that the WAL starts over."""
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
        repeat_checkpoint(other, pages)
        assert rows_without_the_wal(path, tmp_path / "copy") == 1


async def test_a_removed_file_is_not_created_again(notebook: Notebook, tmp_path: Path) -> None:
    path = path_of(tmp_path)
    await add(notebook, *(f"note {number}" for number in range(50)))
    moved = path.rename(path.with_name("moved"))
    async with asyncio.timeout(120):
        while rows_without_the_wal(moved, tmp_path / "copy") != 50:
            await asyncio.sleep(WHILE_WAITING)
    assert not path.exists()


async def test_closing_during_a_checkpoint(tmp_path: Path) -> None:
    notebook = open_notebook(tmp_path, interval_seconds=0)
    for number in range(20):
        await add(notebook, f"note {number}")
    await notebook.db.close()
    path = path_of(tmp_path)
    assert rows_without_the_wal(path, tmp_path / "copy") == 20
    assert not path.with_name(f"{path.name}-wal").exists()


async def test_closing_while_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "held.db"
    database = open_sqlite(path, statement_seconds=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with capture_logs() as lines:
            await database.close()
            await asyncio.sleep(0)
    assert lines == []
