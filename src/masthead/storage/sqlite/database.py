"""An SQLite file, which several processes may open. `readers` reads, `writer` writes."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path

import msgspec
from sqlalchemy.sql import ClauseElement, Insert

from masthead.base.errors import DiskFull, Unavailable
from masthead.storage.database import LazyStatement, Row, Scope, Statement, Transaction
from masthead.storage.dialects import SQLITE, compile_statement, with_counted
from masthead.storage.disk import DiskState
from masthead.storage.sqlite.checkpoints import Checkpoints
from masthead.storage.sqlite.connection import translated
from masthead.storage.sqlite.readers import Readers
from masthead.storage.sqlite.transaction import SqliteTransaction
from masthead.storage.sqlite.writer import Writer

PING_SECONDS = 1.5


def open_sqlite(path: Path, *, statement_seconds: float = 5.0) -> SqliteDatabase:
    try:
        return SqliteDatabase(path, statement_seconds=statement_seconds)
    except sqlite3.Error as error:
        raise translated(error) from error


class SqliteDatabase:
    name = "sqlite"
    has_one_writer = True

    def __init__(
        self,
        path: Path,
        *,
        statement_seconds: float = 5.0,
        checkpoints: Callable[[Path], Checkpoints] = Checkpoints,
    ) -> None:
        self._path = path
        self._disk = DiskState(path.parent)
        self._writer = Writer(
            path, timeout_seconds=statement_seconds, disk=self._disk, checkpoints=checkpoints
        )
        self._readers = Readers(path, timeout_seconds=statement_seconds)
        self._file = _identity(path)

    def compile(self, statement: ClauseElement, counted: Sequence[str] = ()) -> Statement:
        def compile_now() -> Statement:
            compiled = compile_statement(statement, SQLITE)
            return with_counted(compiled, statement, counted) if counted else compiled

        return LazyStatement(compile_now)

    def compile_both(self, first: Insert, second: Insert) -> None:
        return None

    def list_value(self, values: Sequence[object]) -> object:
        return msgspec.json.encode(values).decode()

    async def fetch(
        self,
        scope: Scope,  # only limits the tenant's threads; the statement itself has the tenant
        statement: Statement,
        values: Sequence[object] = (),
        *,
        slow: bool = False,
        max_bytes: int | None = None,
    ) -> list[Row]:
        return await self._readers.fetch(scope, statement, values, slow, max_bytes=max_bytes)

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]:
        return SqliteTransaction(self._writer)

    async def listen(self, heard: Callable[[str], None]) -> None:
        return None

    def data_version(self) -> int:
        """A number that changes with every commit, of this process or another."""
        return self._readers.data_version()

    def connections(self) -> tuple[int, int]:
        opened, idle = self._readers.connections()
        return opened + 1, idle  # and the writer's

    async def count_bytes(self) -> int:
        return await asyncio.to_thread(_size, self._path)

    async def ping(self) -> None:
        """Returns once a transaction succeeds, or if one just has: reads would not notice another
        process's lock. Of a busy writer's transactions, the next to commit may be far away."""
        # Writes to a file that was removed or replaced would be lost at the next start.
        if _identity(self._path) != self._file:
            raise Unavailable
        self.data_version()
        if not self._writer.has_just_committed:
            try:
                async with asyncio.timeout(PING_SECONDS), SqliteTransaction(self._writer):
                    pass
            except TimeoutError as error:
                raise Unavailable from error
        if self._disk.is_full:
            raise DiskFull

    async def close(self) -> None:
        with suppress(Unavailable):
            async with SqliteTransaction(self._writer):
                pass  # it ends after all transactions before it
        await self._writer.close()
        await self._readers.close()


def _size(path: Path) -> int:
    """With the log of what is not in the file yet."""
    found = 0
    for each in (path, path.with_name(f"{path.name}-wal")):
        with suppress(OSError):
            found += each.stat().st_size
    return found


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
