"""Reads of an SQLite file, outside any transaction.

An indexed read takes about 15 µs and a switch to a thread more than that, so short reads run on the
event loop. A read that exceeds its budget of steps, or has a long value, is interrupted and runs
again in a thread, with a timeout.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from masthead.base.errors import StatementTimeout
from masthead.storage.database import Row, RowsTooLarge, Scope, SizedRows, Statement
from masthead.storage.fair_share import FairShare
from masthead.storage.sqlite.connection import (
    BUSY,
    MAIN_CACHE_KB,
    MAX_INLINE_BYTES,
    code_of,
    connect,
    limit_values,
    translated,
)

THREADS = 4
THREADS_PER_TENANT = 2
_STEPS_PER_TICK = 500
_MAX_TICKS = 100
"""About a millisecond of ordinary steps. SQLite counts a prepared statement's steps across its
runs, so the first tick may come at any moment of a run."""
_MAX_SECONDS = 0.002
"""For long steps, such as a LIKE."""
_STEPS_PER_CHECK = 25_000
_ROWS_PER_CHECK = 8

_DATA_VERSION = "PRAGMA data_version"
_ANY_TABLE = "SELECT 1 FROM sqlite_master LIMIT 1"
_RETRY_IN_THREAD = BUSY | {sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_TOOBIG}


class Readers:
    def __init__(
        self,
        path: Path,
        *,
        timeout_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._timeout_seconds = timeout_seconds
        self._on_loop = connect(path, busy_seconds=0, query_only=True, cache_kb=MAIN_CACHE_KB)
        limit_values(self._on_loop)
        self._on_loop.set_progress_handler(self._tick, _STEPS_PER_TICK)
        self._ticks = 0
        self._started = 0.0
        self._monotonic = monotonic
        self._share = FairShare(THREADS_PER_TENANT)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="sqlite-reader")
        self._idle: list[sqlite3.Connection] = []
        self._opened = 1

    async def fetch(
        self,
        scope: Scope,
        statement: Statement,
        values: Sequence[object],
        slow: bool,
        *,
        max_bytes: int | None,
    ) -> list[Row]:
        if slow:
            return await self._fetch_in_thread(scope, statement, values, max_bytes)
        try:
            most = None if max_bytes is None else min(max_bytes, MAX_INLINE_BYTES)
            return self._read(statement, values, most)
        except (RowsTooLarge, _RowsTooSlow):
            return await self._fetch_in_thread(scope, statement, values, max_bytes)
        except sqlite3.Error as error:
            if code_of(error) in _RETRY_IN_THREAD:
                self._load_schema()
                return await self._fetch_in_thread(scope, statement, values, max_bytes)
            raise translated(error) from error

    def data_version(self) -> int:
        # Without a limit: it takes a few steps, but the process may be paused in the middle.
        self._ticks, self._started = 0, math.inf
        try:
            version: int = self._on_loop.execute(_DATA_VERSION).fetchone()[0]
        except sqlite3.Error as error:
            raise translated(error) from error
        return version

    def connections(self) -> tuple[int, int]:
        """Open ones, and idle ones among those of the threads."""
        return self._opened, len(self._idle)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)
        for connection in (self._on_loop, *self._idle):
            connection.close()

    def _read(
        self, statement: Statement, values: Sequence[object], max_bytes: int | None = None
    ) -> list[Row]:
        self._ticks = 0
        self._started = self._monotonic()
        cursor = self._on_loop.execute(statement.text, values)
        return _rows(cursor, statement, max_bytes, self._is_slow)

    def _is_slow(self) -> bool:
        return self._monotonic() - self._started > _MAX_SECONDS

    def _load_schema(self) -> None:
        """Takes microseconds if it is loaded. SQLite loads it with the first read after it has
        changed, and forgets it if that read is interrupted: without this, where loading takes
        longer than a read may, every later read would be interrupted, too."""
        self._ticks, self._started = 0, math.inf
        with suppress(sqlite3.Error):
            self._on_loop.execute(_ANY_TABLE).fetchone()

    def _tick(self) -> bool:
        self._ticks += 1
        return self._ticks > _MAX_TICKS or self._is_slow()

    async def _fetch_in_thread(
        self,
        scope: Scope,
        statement: Statement,
        values: Sequence[object],
        max_bytes: int | None,
    ) -> list[Row]:
        deadline = time.monotonic() + self._timeout_seconds
        try:
            await self._share.enter(scope, self._timeout_seconds)
        except TimeoutError as error:
            raise StatementTimeout from error
        try:
            return await self._in_thread(_TimedRead(statement, values, max_bytes, deadline))
        finally:
            self._share.leave(scope)

    async def _in_thread(self, read: _TimedRead) -> list[Row]:
        loop = asyncio.get_running_loop()
        alarm = loop.call_later(read.deadline - time.monotonic(), read.stop)
        running = loop.run_in_executor(self._threads, self._run, read)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            read.stop()
            # The thread and the tenant's slot are free only when the read has ended.
            await asyncio.wait([running])
            running.exception()
            raise
        finally:
            alarm.cancel()
            # Breaks the cycle of this frame, the future and an exception's traceback.
            del running

    def _run(self, read: _TimedRead) -> list[Row]:
        connection = self._take_connection()
        try:
            return read.run(connection)
        finally:
            self._idle.append(connection)

    def _take_connection(self) -> sqlite3.Connection:
        # No lock: `pop` is atomic, and there are never more users than threads.
        try:
            return self._idle.pop()
        except IndexError:
            # Two threads at once may count one too few: it is only shown.
            self._opened += 1
            return connect(self._path, busy_seconds=self._timeout_seconds, query_only=True)


class _RowsTooSlow(Exception):
    pass


def _rows(
    cursor: sqlite3.Cursor,
    statement: Statement,
    max_bytes: int | None,
    is_slow: Callable[[], bool] | None = None,
) -> list[Row]:
    """Counts characters as bytes: a text that has more bytes takes no more memory for it.

    `is_slow` is asked between rows, because the steps of one may take long: SQLite reads all of a
    long text to find a column after it."""
    counted = () if max_bytes is None else statement.counted
    if is_slow is None and not counted:
        return cursor.fetchall()
    at_once = 1 if is_slow is None else _ROWS_PER_CHECK
    some = cursor.fetchmany(at_once)
    if len(some) < at_once and not counted:
        # As most reads.
        return some
    rows = SizedRows()
    while some:
        rows += some
        if max_bytes is not None:
            rows.size += sum(len(row[each] or "") for row in some for each in counted)
            if rows.size > max_bytes:
                # An open statement would pin its snapshot, and the error's traceback the rows.
                cursor.close()
                rows.clear()
                del some
                raise RowsTooLarge
        if len(some) < at_once:
            break
        if is_slow is not None and is_slow():
            cursor.close()
            raise _RowsTooSlow
        some = cursor.fetchmany(at_once)
    return rows


class _TimedRead:
    """A read in a thread, which ends at its deadline or when `stop` is called."""

    def __init__(
        self,
        statement: Statement,
        values: Sequence[object],
        max_bytes: int | None,
        deadline: float,
    ) -> None:
        self._max_bytes = max_bytes
        self.deadline = deadline
        self._statement = statement
        self._values = values
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def run(self, connection: sqlite3.Connection) -> list[Row]:
        # An interrupt before the first step has no effect; this handler is called repeatedly.
        connection.set_progress_handler(self._is_late, _STEPS_PER_CHECK)
        self._use(connection)
        try:
            if self._is_late():
                raise StatementTimeout
            cursor = connection.execute(self._statement.text, self._values)
            rows = _rows(cursor, self._statement, self._max_bytes)
        except sqlite3.Error as error:
            raise translated(error) from error
        finally:
            self._use(None)
        # The last step may have exceeded the limit without being interrupted.
        if self._is_late():
            raise StatementTimeout
        return rows

    def stop(self) -> None:
        """Interrupts the read, even within a long step."""
        self.deadline = 0.0
        with self._lock:
            if self._connection is not None:
                self._connection.interrupt()

    def _use(self, connection: sqlite3.Connection | None) -> None:
        with self._lock:
            self._connection = connection

    def _is_late(self) -> bool:
        return time.monotonic() > self.deadline
