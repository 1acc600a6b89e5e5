"""Makes the database forget what was deleted, as far as each engine allows, after an erasure.

SQLite overwrites deleted content by itself (`secure_delete`); rewriting a small file and cutting
its log removes what older versions may have left. PostgreSQL frees dead rows for reuse.
"""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from masthead.errors import Unavailable
from masthead.storage.sqlite_connection import connect, translated
from masthead.storage.urls import sqlite_path

MOST_BYTES = 256 * 1024 * 1024
"""Larger files are left to the operator: writers have to wait while one is rewritten."""
_BUSY_SECONDS = 30.0


async def compact(database_url: str) -> None:
    """Raises `Unavailable` when others kept the database too busy; then it has to be repeated."""
    path = sqlite_path(database_url)
    if path is not None:
        await asyncio.to_thread(_rewrite, path)
    else:
        await _vacuum_postgres(database_url)


async def fold_log(database_url: str) -> None:
    """Writes SQLite's log back into its file, beside the writers: who deletes much calls it now and
    then, so that no other's commit has to do it. Other databases see to that by themselves."""
    path = sqlite_path(database_url)
    if path is not None:
        await asyncio.to_thread(_fold, path)


def _fold(path: Path) -> None:
    try:
        connection = connect(path, busy_seconds=0, query_only=False)
        try:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise translated(error) from error


def _rewrite(path: Path) -> None:
    try:
        connection = connect(path, busy_seconds=_BUSY_SECONDS, query_only=False)
        try:
            if path.stat().st_size <= MOST_BYTES:
                connection.execute("VACUUM")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise translated(error) from error
    if busy:
        raise Unavailable


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
