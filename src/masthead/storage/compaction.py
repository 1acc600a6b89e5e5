"""Removes deleted data from the database files after an erasure, where the engine allows it.

SQLite overwrites deleted content by itself (`secure_delete`); rewriting a small file and truncating
its WAL removes what older versions may have left. Its full-text index only marks words as deleted
until it is merged. PostgreSQL frees dead rows for reuse.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path

import sqlalchemy as sa

from masthead.base.errors import Unavailable
from masthead.storage.database import Database, Transaction
from masthead.storage.sqlite.checkpoints import checkpoint, repeat_checkpoint
from masthead.storage.sqlite.connection import connect, translated
from masthead.storage.urls import sqlite_path

MAX_VACUUM_BYTES = 64 * 1024 * 1024
"""The operator has to vacuum larger files: it blocks writers."""
_BUSY_SECONDS = 30.0
_TRUNCATE_SECONDS, _AGAIN_SECONDS = 0.02, 0.05
"""How long writers may wait for a WAL that is still being read, and the pause before a retry."""


class FullTextMerge:
    """Rewrites FTS5's index, step by step, without its deleted words."""

    def __init__(self, database: Database) -> None:
        self.is_needed = database.name == "sqlite"
        """PostgreSQL's vacuum does it."""
        # A negative number starts a merge of all segments.
        self._merge = database.compile(
            sa.text("INSERT INTO search_words (search_words, rank) VALUES ('merge', :pages)")
        )
        # FTS5's list of segments, which does not change when there is nothing left to merge.
        self._state = database.compile(sa.text("SELECT block FROM search_words_data WHERE id = 10"))

    async def step(self, tx: Transaction, pages: int, *, is_first: bool) -> bool:
        """Writes about so many pages; False when there was nothing left to do."""
        before = await tx.fetch(self._state)
        await tx.execute(self._merge, (-pages if is_first else pages,), slow=True)
        return await tx.fetch(self._state) != before


async def compact(database_url: str) -> None:
    """Raises `Unavailable` when the database is too busy; then it has to be repeated."""
    path = sqlite_path(database_url)
    if path is not None:
        await asyncio.to_thread(_rewrite, path)
    else:
        await _vacuum_postgres(database_url)


def _rewrite(path: Path) -> None:
    try:
        connection = connect(path, busy_seconds=_BUSY_SECONDS, query_only=False)
        try:
            if path.stat().st_size <= MAX_VACUUM_BYTES:
                connection.execute("VACUUM")
            _truncate_wal(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise translated(error) from error


def _truncate_wal(connection: sqlite3.Connection) -> None:
    """Truncating blocks writers, so the whole WAL is checkpointed before, which does not."""
    repeat_checkpoint(connection, checkpoint(connection))
    connection.execute(f"PRAGMA busy_timeout = {int(_TRUNCATE_SECONDS * 1000)}")
    deadline = time.monotonic() + _BUSY_SECONDS
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > deadline:
            raise Unavailable
        # SQLite has no notification to wait for. This runs in a thread.
        time.sleep(_AGAIN_SECONDS)


async def _vacuum_postgres(url: str) -> None:
    # Imported here, so that only one driver is loaded.
    from masthead.storage.postgres.connections import connect_for_command

    connection = await connect_for_command(url, timeout=10)
    try:
        # A connection of its own: the role for row-level security owns no table.
        await connection.execute("VACUUM")
    finally:
        await connection.close()
