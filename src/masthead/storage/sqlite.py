"""The embedded database: one SQLite file, which several processes may open.

An indexed read takes about 15 µs and a hop to a thread more than that, so short reads run right on
the event loop. Nothing long may block the loop: a read that outgrows its budget of steps is
interrupted and run again in a thread, under a time limit. Writes are in `sqlite_writer`.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec
from sqlalchemy.sql import ClauseElement

from masthead.errors import StatementTimeout, Unavailable
from masthead.storage.database import Row, Scope, Statement, Transaction
from masthead.storage.dialects import SQLITE, compile_statement
from masthead.storage.sqlite_connection import BUSY, code_of, connect, translated
from masthead.storage.sqlite_writer import Writer

READER_THREADS = 4
PING_SECONDS = 1.5
_STEPS_PER_TICK = 25_000
"""SQLite counts the steps of a prepared statement over all of its runs, so the first tick may come
at any moment of a run; the second one is at least this far, about half a millisecond, into it."""


def open_sqlite(path: Path, *, statement_seconds: float = 5.0) -> SqliteDatabase:
    try:
        return SqliteDatabase(path, statement_seconds=statement_seconds)
    except sqlite3.Error as error:
        raise translated(error) from error


class SqliteDatabase:
    name = "sqlite"

    def __init__(self, path: Path, *, statement_seconds: float) -> None:
        self._path = path
        self._statement_seconds = statement_seconds
        self._writer = Writer(path, patience_seconds=statement_seconds)
        self._reader = connect(path, busy_seconds=0, query_only=True)
        self._reader.set_progress_handler(self._tick, _STEPS_PER_TICK)
        self._ticks = 0
        self._threads = ThreadPoolExecutor(READER_THREADS, thread_name_prefix="sqlite-reader")
        self._idle: list[sqlite3.Connection] = []
        self._file = _identity(path)

    def compile(self, statement: ClauseElement) -> Statement:
        return compile_statement(statement, SQLITE)

    def list_value(self, values: Sequence[object]) -> object:
        return msgspec.json.encode(values).decode()

    async def fetch(
        self,
        scope: Scope,  # no row-level security here; the statement holds the tenant
        statement: Statement,
        values: Sequence[object] = (),
        *,
        slow: bool = False,
    ) -> list[Row]:
        if slow:
            return await self._fetch_in_thread(statement, values)
        try:
            return self._read(statement.text, values)
        except sqlite3.Error as error:
            if code_of(error) in _TRY_IN_THREAD:
                return await self._fetch_in_thread(statement, values)
            raise translated(error) from error

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]:
        return self._writer.transaction()

    def data_version(self) -> int:
        """A number that changes whenever anyone commits, in this process or another."""
        try:
            version: int = self._read("PRAGMA data_version", ())[0][0]
        except sqlite3.Error as error:
            raise translated(error) from error
        return version

    async def ping(self) -> None:
        # What is written to a file that was removed or replaced is gone at the next start.
        if _identity(self._path) != self._file:
            raise Unavailable
        self.data_version()
        await self._writer.ping(PING_SECONDS)

    async def close(self) -> None:
        await self._writer.close()
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)
        for connection in (self._reader, *self._idle):
            connection.close()

    def _read(self, text: str, values: Sequence[object]) -> list[Row]:
        self._ticks = 0
        return self._reader.execute(text, values).fetchall()

    def _tick(self) -> bool:
        self._ticks += 1
        return self._ticks > 1

    async def _fetch_in_thread(self, statement: Statement, values: Sequence[object]) -> list[Row]:
        read = _TimedRead(statement, values, time.monotonic() + self._statement_seconds)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, self._run, read)
        except asyncio.CancelledError:
            read.deadline = 0.0
            raise

    def _run(self, read: _TimedRead) -> list[Row]:
        connection = self._take_connection()
        try:
            return read.run(connection)
        finally:
            self._idle.append(connection)

    def _take_connection(self) -> sqlite3.Connection:
        # No lock: taking from a list is atomic, and there are never more users than threads.
        try:
            return self._idle.pop()
        except IndexError:
            return connect(self._path, busy_seconds=self._statement_seconds, query_only=True)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_TRY_IN_THREAD = BUSY | {sqlite3.SQLITE_INTERRUPT}


class _TimedRead:
    """A read in a thread; setting `deadline` back stops it."""

    def __init__(self, statement: Statement, values: Sequence[object], deadline: float) -> None:
        self.statement = statement
        self.values = values
        self.deadline = deadline

    def run(self, connection: sqlite3.Connection) -> list[Row]:
        if self._is_late():
            raise StatementTimeout
        connection.set_progress_handler(self._is_late, _STEPS_PER_TICK)
        try:
            return connection.execute(self.statement.text, self.values).fetchall()
        except sqlite3.Error as error:
            raise translated(error) from error

    def _is_late(self) -> bool:
        return time.monotonic() > self.deadline
