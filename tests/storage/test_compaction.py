"""Compaction removes deleted data without blocking writers."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.storage.notebook import ANN, new_url, open_notebook

from masthead.storage.compaction import compact
from masthead.storage.urls import sqlite_path

NOTES = 200


async def test_a_wal_that_is_still_read_is_truncated_later_without_blocking_writers(
    tmp_path: Path,
) -> None:
    notebook = await open_notebook(new_url("sqlite", tmp_path))
    path = sqlite_path(notebook.url)
    assert path is not None
    log = path.with_name(f"{path.name}-wal")
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM notes").fetchone()
            compacting = asyncio.create_task(compact(notebook.url))
            # Within the few seconds for which a change waits at most.
            for number in range(NOTES):
                async with notebook.db.transaction(ANN) as tx:
                    await tx.execute(notebook.add, (ANN, str(number), str(number)))
            assert not compacting.done()
        await compacting
        assert len(await notebook.ids_of(ANN)) == NOTES
    finally:
        await notebook.db.close()
    assert not log.exists()


async def test_the_wal_is_truncated_while_the_database_is_open(tmp_path: Path) -> None:
    notebook = await open_notebook(new_url("sqlite", tmp_path))
    path = sqlite_path(notebook.url)
    assert path is not None
    log = path.with_name(f"{path.name}-wal")
    try:
        for number in range(NOTES):
            async with notebook.db.transaction(ANN) as tx:
                await tx.execute(notebook.add, (ANN, str(number), "x" * 3_000 + str(number)))
        before = log.stat().st_size
        await compact(notebook.url)
        assert log.stat().st_size < before
    finally:
        await notebook.db.close()
