"""A consistent snapshot of all rows, which does not block writers.

Rows have the same form on both databases (flags are booleans, JSON is text), so that a snapshot of
one can be loaded into the other.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import sqlalchemy as sa

from masthead.base.errors import Unavailable
from masthead.storage.database import EVERY_TENANT, Bound, Row
from masthead.storage.dialects import SQLITE, Flag, compile_statement
from masthead.storage.sqlite.connection import connect, translated
from masthead.storage.urls import sqlite_path

BATCH_ROWS: Final = 100
"""Rows may hold a megabyte each."""
_BUSY_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 5.0


class Snapshot(Protocol):
    def rows(
        self, *columns: sa.Column[Any], where: sa.ColumnElement[bool] | None = None
    ) -> AsyncIterator[list[Row]]:
        """The rows of one table in batches, in no order. `where` has no parameters."""
        ...

    async def fetch(self, wanted: Bound) -> list[Row]:
        """A statement that the database has compiled. Flags are as the database has them."""
        ...


class Snapshots(Protocol):
    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        """One at a time."""
        ...


@asynccontextmanager
async def open_snapshot(url: str) -> AsyncIterator[Snapshot]:
    """Raises `Unavailable` when the database does not answer, here or while reading."""
    async with open_snapshots(url) as snapshots, snapshots.snapshot() as snapshot:
        yield snapshot


@asynccontextmanager
async def open_snapshots(url: str) -> AsyncIterator[Snapshots]:
    """For short snapshots, one after another, on one connection. Raises `Unavailable` like
    `open_snapshot`."""
    path = sqlite_path(url)
    opened = _sqlite_snapshots(path) if path is not None else _postgres_snapshots(url)
    async with opened as snapshots:
        yield snapshots


@asynccontextmanager
async def _sqlite_snapshots(path: Path) -> AsyncIterator[Snapshots]:
    try:
        connection = connect(path, busy_seconds=_BUSY_SECONDS, query_only=True)
    except sqlite3.Error as error:
        raise translated(error) from error
    try:
        yield _SqliteSnapshots(connection)
    except sqlite3.Error as error:
        raise translated(error) from error
    finally:
        connection.close()


class _SqliteSnapshots:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        # The first read starts the snapshot: the transaction sees no later commit.
        self._connection.execute("BEGIN")
        try:
            self._connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            yield SqliteSnapshot(self._connection)
        finally:
            self._connection.execute("ROLLBACK")


class SqliteSnapshot:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def rows(
        self, *columns: sa.Column[Any], where: sa.ColumnElement[bool] | None = None
    ) -> AsyncIterator[list[Row]]:
        flags = [number for number, each in enumerate(columns) if isinstance(each.type, Flag)]
        statement = compile_statement(_select(columns, where), SQLITE)
        cursor = await asyncio.to_thread(self._connection.execute, statement.text)
        while found := await asyncio.to_thread(cursor.fetchmany, BATCH_ROWS):
            yield [_with_flags(row, flags) for row in found]

    async def fetch(self, wanted: Bound) -> list[Row]:
        return await asyncio.to_thread(self._fetch, wanted)

    def _fetch(self, wanted: Bound) -> list[Row]:
        return self._connection.execute(wanted.statement.text, wanted.values).fetchall()


def _select(
    columns: Sequence[sa.Column[Any]], where: sa.ColumnElement[bool] | None
) -> sa.Select[Any]:
    statement: sa.Select[Any] = sa.select(*columns)
    return statement if where is None else statement.where(where)


def _with_flags(row: Row, flags: list[int]) -> Row:
    values = list(row)
    for number in flags:
        values[number] = None if values[number] is None else bool(values[number])
    return values


@asynccontextmanager
async def _postgres_snapshots(url: str) -> AsyncIterator[Snapshots]:
    # Imported here, so that only one driver is loaded.
    import asyncpg

    from masthead.storage.postgres.connections import connect_for_command
    from masthead.storage.postgres.database import FAILURES

    # Without a statement timeout: a large table may take long.
    connection = await connect_for_command(url, timeout=_CONNECT_SECONDS)
    try:
        yield _PostgresSnapshots(connection)
    except FAILURES as error:
        if isinstance(error, OSError | asyncpg.PostgresConnectionError) or connection.is_closed():
            raise Unavailable from error
        raise
    finally:
        connection.terminate()


class _PostgresSnapshots:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        connection = self._connection
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            # Without this setting row-level security hides every row.
            await connection.execute("SELECT set_config('masthead.tenant', $1, true)", EVERY_TENANT)
            yield PostgresSnapshot(connection)


class PostgresSnapshot:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def rows(
        self, *columns: sa.Column[Any], where: sa.ColumnElement[bool] | None = None
    ) -> AsyncIterator[list[Row]]:
        from masthead.storage.postgres.database import POSTGRESQL

        statement = compile_statement(_select(columns, where), POSTGRESQL)
        # A cursor of SQL: that of asyncpg needs a prepared statement, which outlives the
        # transaction.
        await self._connection.execute(f"DECLARE batches NO SCROLL CURSOR FOR {statement.text}")
        while found := await self._connection.fetch(f"FETCH {BATCH_ROWS} FROM batches"):
            yield found
        await self._connection.execute("CLOSE batches")

    async def fetch(self, wanted: Bound) -> list[Row]:
        rows: list[Row] = await self._connection.fetch(wanted.statement.text, *wanted.values)
        return rows
