"""Rate-limit counters of an install on SQLite: a small file of their own beside the database.

Counting must not wait for the disk, nor tell the caches of the main database that something has
changed. The file survives a restart or a crash of the service; a power cut may lose its last
seconds, or all of it.
"""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from masthead import clock
from masthead.ids import TenantId
from masthead.storage.sqlite_connection import BUSY, code_of, translated

KEPT_SECONDS = 2 * 24 * 3600
PATIENCE_SECONDS = 5.0
QUICK_ATTEMPTS = 20

_SCHEMA = """
CREATE TABLE IF NOT EXISTS counters (
    subject TEXT PRIMARY KEY, state BLOB NOT NULL, used_at INTEGER NOT NULL
) WITHOUT ROWID
"""
_READ = "SELECT state FROM counters WHERE subject = ?"
_WRITE = "INSERT OR REPLACE INTO counters (subject, state, used_at) VALUES (?, ?, ?)"
_SWEEP = "DELETE FROM counters WHERE used_at < ?"

Result = TypeVar("Result")


class SqliteLimitStore:
    def __init__(self, path: Path, now: clock.Clock = clock.now) -> None:
        self._clock = now
        try:
            self._connection = _open(path)
        except sqlite3.Error as error:
            raise translated(error) from error

    async def update(
        self,
        tenant_id: TenantId,
        subjects: Sequence[str],
        change: Callable[[Sequence[bytes]], tuple[Sequence[bytes], Result]],
    ) -> Result:
        names = [f"{tenant_id}:{each}" for each in subjects]
        await self._begin()
        # From here to the commit nothing is awaited: some tens of µs, less than a hop to a thread.
        try:
            states = [self._read(name) for name in names]
            changed, result = change(states)
            used_at = int(self._clock().timestamp())
            for name, before, after in zip(names, states, changed, strict=True):
                if after != before:
                    self._connection.execute(_WRITE, (name, after, used_at))
            self._connection.execute("COMMIT")
        except BaseException as error:
            self._roll_back()
            if isinstance(error, sqlite3.Error):
                raise translated(error) from error
            raise
        return result

    async def sweep(self) -> None:
        await self._begin()
        try:
            oldest = int(self._clock().timestamp()) - KEPT_SECONDS
            self._connection.execute(_SWEEP, (oldest,))
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise translated(error) from error

    async def close(self) -> None:
        self._connection.close()

    async def _begin(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        for attempt in itertools.count(1):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.Error as error:
                if code_of(error) not in BUSY or time.monotonic() > deadline:
                    raise translated(error) from error
            # Another process counts, which takes it less time than a timer needs to come round;
            # then uneven steps, so that two never keep missing each other.
            if attempt > QUICK_ATTEMPTS:
                await asyncio.sleep(random.uniform(0.0001, 0.001))  # noqa: S311

    def _read(self, name: str) -> bytes:
        row = self._connection.execute(_READ, (name,)).fetchone()
        return row[0] if row else b""

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")


def _open(path: Path) -> sqlite3.Connection:
    """Several processes start at once: one at a time looks at the file and mends it."""
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return _connect(path)
        except sqlite3.DatabaseError as error:
            if code_of(error) not in _DAMAGED:
                raise
        # Unsynced writes and a power cut: the counts are gone, the service must not be.
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return _connect(path)


_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise _damaged()
        connection.execute(_SCHEMA)
        # A lock of another process is waited for by asking again, never by blocking the loop.
        connection.execute("PRAGMA busy_timeout = 0")
    except BaseException:
        connection.close()
        raise
    return connection


def _damaged() -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("the counters' file is damaged")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error
