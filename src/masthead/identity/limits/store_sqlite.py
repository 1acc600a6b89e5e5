"""Rate-limit counters in a small separate SQLite file.

Counting must neither wait for the disk nor invalidate the caches of the main database. The file
survives a restart or a crash of the service; a power cut may lose its last seconds, or all of it.
Calls in the same iteration of the event loop are counted in one transaction. Counts are cached
while no other process writes.
"""

from __future__ import annotations

import asyncio
import fcntl
import random
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec

from masthead.base import clock
from masthead.base.config import private_files
from masthead.base.errors import Unavailable
from masthead.base.ids import TenantId
from masthead.identity.limits.stores import EXPIRE_SECONDS, Change, Result
from masthead.storage.disk import DiskState
from masthead.storage.sqlite.connection import BUSY, code_of, translated

TIMEOUT_SECONDS = 5.0
BEGIN_ATTEMPTS = 20
MAX_BATCH = 32
MAX_CACHED = 20_000

_SCHEMA = """
CREATE TABLE IF NOT EXISTS counters (
    subject TEXT PRIMARY KEY, state BLOB NOT NULL, used_at INTEGER NOT NULL
) WITHOUT ROWID
"""
_SWEEP = "DELETE FROM counters WHERE used_at < ?"

_Outcome = tuple[Any, Exception | None]


class _Request(msgspec.Struct):
    names: Sequence[str]
    change: Change[Any]
    deadline: float
    result: asyncio.Future[Any]


class SqliteLimitStore:
    def __init__(self, path: Path, now: clock.Clock = clock.now) -> None:
        self._clock = now
        self._waiting: list[_Request] = []
        self._scheduled: asyncio.Handle | None = None
        self._disk = DiskState(path.parent)
        self._states: dict[str, bytes] = {}
        self._data_version: int | None = None
        """The file's data version when the states were read."""
        try:
            self._connection = _open(path)
        except sqlite3.Error as error:
            raise translated(error) from error

    async def update(
        self, tenant_id: TenantId, subjects: Sequence[str], change: Change[Result]
    ) -> Result:
        loop = asyncio.get_running_loop()
        names = [f"{tenant_id}:{each}" for each in subjects]
        deadline = time.monotonic() + TIMEOUT_SECONDS
        waiting = _Request(names, change, deadline, loop.create_future())
        self._waiting.append(waiting)
        if self._scheduled is None:
            self._scheduled = loop.call_soon(self._count_waiting)
        try:
            result: Result = await waiting.result
            return result
        finally:
            # Breaks the cycle of this frame and an exception's traceback.
            del waiting

    async def sweep(self) -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        try:
            while not self._begin():
                if time.monotonic() > deadline:
                    raise Unavailable
                await asyncio.sleep(_jitter_seconds())
            oldest = int(self._clock().timestamp()) - EXPIRE_SECONDS
            self._connection.execute(_SWEEP, (oldest,))
            self._connection.execute("COMMIT")
            self._states.clear()
        except sqlite3.Error as error:
            self._roll_back()
            raise translated(error) from error

    async def close(self) -> None:
        if self._scheduled is not None:
            self._scheduled.cancel()
        _fail(self._waiting, Unavailable())
        self._connection.close()

    def _count_waiting(self) -> None:
        """On the event loop, because it takes less time than a switch to a thread."""
        self._scheduled = None
        batch = self._next_batch()
        try:
            if self._begin():
                self._count(batch)
            else:
                self._requeue(batch)
        # Passed on to the requests of the batch.
        except Exception as error:
            self._roll_back()
            _fail(batch, translated(error) if isinstance(error, sqlite3.Error) else error)
            # Breaks the cycle of the batch and the exception's traceback.
            batch.clear()

    def _next_batch(self) -> list[_Request]:
        batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
        if self._waiting:
            self._scheduled = asyncio.get_running_loop().call_soon(self._count_waiting)
        # Cancelled requests are not counted.
        return [each for each in batch if not each.result.done()]

    def _count(self, batch: list[_Request]) -> None:
        states = self._current_states({name for each in batch for name in each.names})
        changed: dict[str, bytes] = {}
        # No comprehension: its frame would keep the last request, and with it the failure.
        outcomes = list(map(partial(_outcome, states, changed), batch))
        self._store(changed)
        # Emptied while settling: this frame is in a failure's traceback, and a reference from here
        # to the failure would be a cycle.
        while batch:
            _settle(batch.pop(0), outcomes.pop(0))

    def _store(self, changed: dict[str, bytes]) -> None:
        try:
            self._write(changed)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if code_of(error) != sqlite3.SQLITE_FULL:
                raise
            # Calls that only read go on, and are counted in the memory of this process.
            self._disk.note_full(error)
            self._abandon()

    def _begin(self) -> bool:
        for _ in range(BEGIN_ATTEMPTS):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                return True
            except sqlite3.Error as error:
                # Another process counts, which takes less time than a timer.
                if code_of(error) not in BUSY:
                    raise
        return False

    def _requeue(self, batch: Sequence[_Request]) -> None:
        """Another process has the lock: fails requests after their deadline and retries the
        others."""
        now = time.monotonic()
        _fail([each for each in batch if each.deadline < now], Unavailable())
        self._waiting[:0] = [each for each in batch if not each.result.done()]
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None
        if self._waiting:
            loop = asyncio.get_running_loop()
            self._scheduled = loop.call_later(_jitter_seconds(), self._count_waiting)

    def _current_states(self, names: set[str]) -> dict[str, bytes]:
        """The states of at least these subjects. The transaction has the write lock, so they stay
        current."""
        # Changes with commits of other connections, not with those of this one.
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._data_version or len(self._states) > MAX_CACHED:
            self._states.clear()
            self._data_version = version
        unknown = tuple(names.difference(self._states))
        if unknown:
            self._states.update(dict.fromkeys(unknown, b""))
            self._states.update(self._connection.execute(_select(len(unknown)), unknown))
        return self._states

    def _write(self, states: dict[str, bytes]) -> None:
        if states:
            used_at = int(self._clock().timestamp())
            values = [value for item in states.items() for value in (*item, used_at)]
            self._connection.execute(_upsert(len(states)), values)

    def _roll_back(self) -> None:
        self._states.clear()
        self._abandon()

    def _abandon(self) -> None:
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")


def _outcome(states: dict[str, bytes], changed: dict[str, bytes], waiting: _Request) -> _Outcome:
    before = [states[name] for name in waiting.names]
    try:
        after, result = waiting.change(before)
    # An exception of a change affects only its request.
    except Exception as error:
        del waiting  # for the same reason
        return None, error
    for name, old, new in zip(waiting.names, before, after, strict=True):
        if new != old:
            states[name] = changed[name] = new
    return result, None


def _settle(waiting: _Request, outcome: _Outcome) -> None:
    result, failure = outcome
    if failure is None:
        waiting.result.set_result(result)
    else:
        waiting.result.set_exception(failure)


def _fail(waiting: Sequence[_Request], error: Exception) -> None:
    for each in waiting:
        if not each.result.done():
            each.result.set_exception(error)


def _jitter_seconds() -> float:
    """Keeps two processes out of step."""
    return random.uniform(0.0001, 0.001)  # noqa: S311


@cache
def _select(count: int) -> str:
    return f"SELECT subject, state FROM counters WHERE subject IN ({', '.join('?' * count)})"  # noqa: S608


@cache
def _upsert(count: int) -> str:
    rows = ", ".join(["(?, ?, ?)"] * count)
    return f"INSERT OR REPLACE INTO counters (subject, state, used_at) VALUES {rows}"  # noqa: S608


def _open(path: Path) -> sqlite3.Connection:
    """Replaces a damaged file. The lock is for processes that start at the same time."""
    lock_path = path.with_name(f"{path.name}.lock")
    with open(lock_path, "w", opener=private_files.opener) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return _connect(path)
        except sqlite3.DatabaseError as error:
            if code_of(error) not in _DAMAGED:
                raise
        # After a power cut, because writes are not synced. The counts are lost.
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return _connect(path)


_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def _connect(path: Path) -> sqlite3.Connection:
    private_files.create(path)
    connection = sqlite3.connect(
        path, timeout=5, isolation_level=None, check_same_thread=False, cached_statements=512
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise _damaged()
        connection.execute(_SCHEMA)
        # A lock of another process is polled for, which does not block the event loop.
        connection.execute("PRAGMA busy_timeout = 0")
    except BaseException:
        connection.close()
        raise
    return connection


def _damaged() -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("the counters' file is damaged")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error
