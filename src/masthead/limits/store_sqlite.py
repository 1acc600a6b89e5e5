"""Rate-limit counters of an install on SQLite: a small file of their own beside the database.

Counting must not wait for the disk, nor tell the caches of the main database that something has
changed. The file survives a restart or a crash of the service; a power cut may lose its last
seconds, or all of it. What comes in the same turn of the event loop is counted in one transaction.
Counts that nobody else can have changed meanwhile are taken from memory.
"""

from __future__ import annotations

import asyncio
import fcntl
import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from masthead import clock
from masthead.config import private_files
from masthead.errors import Unavailable
from masthead.ids import TenantId
from masthead.storage.sqlite.connection import BUSY, code_of, translated

KEPT_SECONDS = 2 * 24 * 3600
PATIENCE_SECONDS = 5.0
QUICK_ATTEMPTS = 20
MAX_BATCH = 32
MAX_REMEMBERED = 20_000

_SCHEMA = """
CREATE TABLE IF NOT EXISTS counters (
    subject TEXT PRIMARY KEY, state BLOB NOT NULL, used_at INTEGER NOT NULL
) WITHOUT ROWID
"""
_SWEEP = "DELETE FROM counters WHERE used_at < ?"

Result = TypeVar("Result")
Change = Callable[[Sequence[bytes]], tuple[Sequence[bytes], Result]]
_Outcome = tuple[Any, Exception | None]


@dataclass(slots=True)
class _Waiting:
    names: Sequence[str]
    change: Change[Any]
    deadline: float
    result: asyncio.Future[Any]


class SqliteLimitStore:
    def __init__(self, path: Path, now: clock.Clock = clock.now) -> None:
        self._clock = now
        self._waiting: list[_Waiting] = []
        self._turn: asyncio.Handle | None = None
        self._states: dict[str, bytes] = {}
        self._seen: int | None = None
        """The version of the file that these states are of."""
        try:
            self._connection = _open(path)
        except sqlite3.Error as error:
            raise translated(error) from error

    async def update(
        self, tenant_id: TenantId, subjects: Sequence[str], change: Change[Result]
    ) -> Result:
        loop = asyncio.get_running_loop()
        names = [f"{tenant_id}:{each}" for each in subjects]
        deadline = time.monotonic() + PATIENCE_SECONDS
        waiting = _Waiting(names, change, deadline, loop.create_future())
        self._waiting.append(waiting)
        if self._turn is None:
            self._turn = loop.call_soon(self._count_waiting)
        try:
            result: Result = await waiting.result
            return result
        finally:
            # Else this frame, which is in an exception's traceback, would keep the exception.
            del waiting

    async def sweep(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        try:
            while not self._has_begun():
                if time.monotonic() > deadline:
                    raise Unavailable
                await asyncio.sleep(_uneven_seconds())
            oldest = int(self._clock().timestamp()) - KEPT_SECONDS
            self._connection.execute(_SWEEP, (oldest,))
            self._connection.execute("COMMIT")
            self._states.clear()
        except sqlite3.Error as error:
            self._roll_back()
            raise translated(error) from error

    async def close(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
        _fail(self._waiting, Unavailable())
        self._connection.close()

    def _count_waiting(self) -> None:
        """On the loop on purpose: some tens of µs, less than a hop to a thread."""
        self._turn = None
        batch = self._next_batch()
        try:
            if self._has_begun():
                self._count(batch)
            else:
                self._put_back(batch)
        # Whatever it is, only those who wait for their turn can tell it.
        except Exception as error:
            self._roll_back()
            _fail(batch, translated(error) if isinstance(error, sqlite3.Error) else error)
            # The traceback has the frames that know the batch, which would keep the exception.
            batch.clear()

    def _next_batch(self) -> list[_Waiting]:
        batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
        if self._waiting:
            self._turn = asyncio.get_running_loop().call_soon(self._count_waiting)
        # Whoever was cancelled meanwhile is not counted.
        return [each for each in batch if not each.result.done()]

    def _count(self, batch: list[_Waiting]) -> None:
        states = self._current_states({name for each in batch for name in each.names})
        changed: dict[str, bytes] = {}
        outcomes = list(map(partial(_outcome, states, changed), batch))
        self._write(changed)
        self._connection.execute("COMMIT")
        # Nothing is left here that knows a failure: this frame is behind those of its traceback,
        # and what refers to itself stays in memory until a collection.
        while batch:
            _settle(batch.pop(0), outcomes.pop(0))

    def _has_begun(self) -> bool:
        for _ in range(QUICK_ATTEMPTS):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                return True
            except sqlite3.Error as error:
                # Another process counts, and is done sooner than a timer would come round.
                if code_of(error) not in BUSY:
                    raise
        return False

    def _put_back(self, batch: Sequence[_Waiting]) -> None:
        """Another process goes on counting: those who have waited too long are told so."""
        now = time.monotonic()
        _fail([each for each in batch if each.deadline < now], Unavailable())
        self._waiting[:0] = [each for each in batch if not each.result.done()]
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        if self._waiting:
            loop = asyncio.get_running_loop()
            self._turn = loop.call_later(_uneven_seconds(), self._count_waiting)

    def _current_states(self, names: set[str]) -> dict[str, bytes]:
        """Of these subjects at least. Nobody else can count before this transaction ends."""
        # Moves when another connection has committed, not when this one has.
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._seen or len(self._states) > MAX_REMEMBERED:
            self._states.clear()
            self._seen = version
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
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")


def _outcome(states: dict[str, bytes], changed: dict[str, bytes], waiting: _Waiting) -> _Outcome:
    before = [states[name] for name in waiting.names]
    try:
        after, result = waiting.change(before)
    # What a change raises is its caller's alone.
    except Exception as error:
        del waiting  # for the same reason
        return None, error
    for name, old, new in zip(waiting.names, before, after, strict=True):
        if new != old:
            states[name] = changed[name] = new
    return result, None


def _settle(waiting: _Waiting, outcome: _Outcome) -> None:
    result, failure = outcome
    if failure is None:
        waiting.result.set_result(result)
    else:
        waiting.result.set_exception(failure)


def _fail(waiting: Sequence[_Waiting], error: Exception) -> None:
    for each in waiting:
        if not each.result.done():
            each.result.set_exception(error)


def _uneven_seconds() -> float:
    """So that two processes never keep missing each other."""
    return random.uniform(0.0001, 0.001)  # noqa: S311


@cache
def _select(count: int) -> str:
    return f"SELECT subject, state FROM counters WHERE subject IN ({', '.join('?' * count)})"  # noqa: S608


@cache
def _upsert(count: int) -> str:
    rows = ", ".join(["(?, ?, ?)"] * count)
    return f"INSERT OR REPLACE INTO counters (subject, state, used_at) VALUES {rows}"  # noqa: S608


def _open(path: Path) -> sqlite3.Connection:
    """Several processes start at once: one at a time looks at the file and mends it."""
    beside = path.with_name(f"{path.name}.lock")
    with open(beside, "w", opener=private_files.opener) as lock:
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
