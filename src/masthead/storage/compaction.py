"""Makes the database forget what was deleted, as far as each engine allows, after an erasure.

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

from masthead.errors import Unavailable
from masthead.storage.database import Database, Transaction
from masthead.storage.sqlite.checkpoints import catch_up, checkpoint
from masthead.storage.sqlite.connection import connect, translated
from masthead.storage.urls import sqlite_path

MOST_BYTES = 64 * 1024 * 1024
"""Larger files are left to the operator: writers have to wait while one is rewritten."""
_BUSY_SECONDS = 30.0
_TRUNCATE_SECONDS, _AGAIN_SECONDS = 0.02, 0.05
"""How long writers may wait for a WAL that is still being read, and when it is tried again."""


class WordMerge:
    """Rewrites FTS5's index, step by step, without the words that it has forgotten."""

    def __init__(self, database: Database) -> None:
        self.is_needed = database.name == "sqlite"
        """PostgreSQL's vacuum sees to its own."""
        # A negative number has it merge everything into one, whatever it has done before.
        self._merge = database.compile(
            sa.text("INSERT INTO search_words (search_words, rank) VALUES ('merge', :pages)")
        )
        # What FTS5 knows about its parts; it stays the same when there is nothing left to merge.
        self._state = database.compile(sa.text("SELECT block FROM search_words_data WHERE id = 10"))

    async def step(self, tx: Transaction, pages: int, *, is_first: bool) -> bool:
        """Writes about so many pages; False when there was nothing left to do."""
        before = await tx.fetch(self._state)
        await tx.execute(self._merge, (-pages if is_first else pages,), slow=True)
        return await tx.fetch(self._state) != before


async def compact(database_url: str) -> None:
    """Raises `Unavailable` when others kept the database too busy; then it has to be repeated."""
    path = sqlite_path(database_url)
    if path is not None:
        await asyncio.to_thread(_rewrite, path)
    else:
        await _vacuum_postgres(database_url)


def _rewrite(path: Path) -> None:
    try:
        connection = connect(path, busy_seconds=_BUSY_SECONDS, query_only=False)
        try:
            if path.stat().st_size <= MOST_BYTES:
                connection.execute("VACUUM")
            _truncate_wal(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise translated(error) from error


def _truncate_wal(connection: sqlite3.Connection) -> None:
    """Writers wait while the WAL is truncated, so all of it is checkpointed before, while they
    go on."""
    catch_up(connection, checkpoint(connection))
    connection.execute(f"PRAGMA busy_timeout = {int(_TRUNCATE_SECONDS * 1000)}")
    deadline = time.monotonic() + _BUSY_SECONDS
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > deadline:
            raise Unavailable
        # There is nothing to wait on but the other's end; this is a thread of its own.
        time.sleep(_AGAIN_SECONDS)


async def _vacuum_postgres(url: str) -> None:
    # Imported here, so that a start pays for one driver only.
    import asyncpg

    try:
        connection = await asyncpg.connect(url, timeout=10)
    except (OSError, asyncpg.PostgresError) as error:
        raise Unavailable from error
    try:
        # Its own connection: not as the role that row-level security holds for, which owns nothing.
        await connection.execute("VACUUM")
    finally:
        await connection.close()
