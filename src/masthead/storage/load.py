"""Loads the rows of a snapshot into an empty database with the snapshot's schema.

It is atomic: PostgreSQL loads in one transaction, SQLite into a file that is renamed at the end. An
older schema is migrated before that.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy.sql import ClauseElement

from masthead.base.errors import MastheadError, Unavailable
from masthead.base.whole_file import sync_folder
from masthead.storage.database import EVERY_TENANT, Row
from masthead.storage.dialects import SQLITE, compile_statement
from masthead.storage.migrate import postgres_connection, postgres_schema, sqlite_schema
from masthead.storage.sqlite.connection import translated
from masthead.storage.urls import sqlite_path


class NotEmpty(MastheadError):
    message = "The database is not empty. Restore into an empty one."


class Inconsistent(MastheadError):
    message = "A row of the archive refers to a row that is not in it."


class BadRows(MastheadError):
    message = "A row of the archive does not fit the schema."


class Loading(Protocol):
    async def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None: ...

    async def bring_up_to_date(self) -> None:
        """Migrates to the current schema. Called after the last row."""
        ...

    async def execute(self, statement: ClauseElement) -> None: ...


async def require_empty(url: str) -> None:
    """Raises `NotEmpty` where the database has tables already."""
    path = sqlite_path(url)
    if path is not None:
        if path.exists() and path.stat().st_size:
            raise NotEmpty
        return
    connection = await postgres_connection(url)
    try:
        async with connection.transaction():
            if await connection.fetchval(_HAS_TABLES):
                raise NotEmpty
    finally:
        await connection.close()


_HAS_TABLES = """
SELECT EXISTS (
  SELECT FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
  AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
)"""
"""Ignores the tables of extensions."""


@asynccontextmanager
async def open_loading(url: str, revision: str) -> AsyncIterator[Loading]:
    """An empty database with the schema of `revision`. Leaving the block commits."""
    path = sqlite_path(url)
    opened = _sqlite_loading(path, revision) if path is not None else _postgres(url, revision)
    async with opened as loading:
        yield loading


@asynccontextmanager
async def _sqlite_loading(path: Path, revision: str) -> AsyncIterator[Loading]:
    temporary = path.with_name(f".{path.name}.restoring")
    try:
        _remove_file(temporary)
        await asyncio.to_thread(sqlite_schema, temporary, revision)
        loading = SqliteLoading(temporary)
        try:
            yield loading
        finally:
            loading.close()
        await asyncio.to_thread(_publish, temporary, path)
    except sqlite3.Error as error:
        raise translated(error) from error
    finally:
        _remove_file(temporary)


class SqliteLoading:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = self._connect()
        self._is_open = True

    async def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        names = ", ".join(f'"{name}"' for name in columns)
        marks = ", ".join("?" * len(columns))
        text = f'INSERT INTO "{table}" ({names}) VALUES ({marks})'  # noqa: S608 - of our schema
        try:
            await asyncio.to_thread(self._connection.executemany, text, rows)
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError, OverflowError) as error:
            raise BadRows from error
        except sqlite3.OperationalError as error:
            # An unknown table or column.
            if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
                raise BadRows from error
            raise

    async def bring_up_to_date(self) -> None:
        if self._connection.execute("PRAGMA foreign_key_check").fetchone():
            raise Inconsistent
        self.close()
        await asyncio.to_thread(sqlite_schema, self._path, "head")
        self._connection = self._connect()
        self._is_open = True

    async def execute(self, statement: ClauseElement) -> None:
        compiled = compile_statement(statement, SQLITE)
        await asyncio.to_thread(self._connection.execute, compiled.text, compiled.bind({}))

    def close(self) -> None:
        # A second time after a migration that failed, whose error must not be hidden by another.
        if not self._is_open:
            return
        self._is_open = False
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
        self._connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        # The file is not in use before `_publish` renames it, which syncs it first.
        connection.execute("PRAGMA synchronous = OFF")
        # Rows may refer to later ones.
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("BEGIN")
        return connection


def _publish(temporary: Path, path: Path) -> None:
    with open(temporary, "rb") as file:
        os.fchmod(file.fileno(), 0o600)
        os.fsync(file.fileno())
    if path.exists() and path.stat().st_size:
        raise NotEmpty
    os.replace(temporary, path)
    sync_folder(path.parent)


def _remove_file(path: Path) -> None:
    for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with suppress(FileNotFoundError):
            each.unlink()


@asynccontextmanager
async def _postgres(url: str, revision: str) -> AsyncIterator[Loading]:
    from masthead.storage.postgres.database import FAILURES

    connection = await postgres_connection(url)
    try:
        async with connection.transaction():
            await postgres_schema(connection, revision)
            loading = PostgresLoading(connection)
            await loading.begin()
            yield loading
    except FAILURES as error:
        if isinstance(error, OSError) or connection.is_closed():
            raise Unavailable from error
        raise
    finally:
        connection.terminate()


class PostgresLoading:
    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._keys: list[tuple[str, str, str]] = []
        self._forced: list[str] = []

    async def begin(self) -> None:
        connection = self._connection
        await connection.execute("SELECT set_config('masthead.tenant', $1, true)", EVERY_TENANT)
        # COPY refuses a table whose policies bind the caller; the owner is bound only by FORCE.
        self._forced = [row[0] for row in await connection.fetch(_FORCED_TABLES)]
        for table in self._forced:
            await connection.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
        # Rows may refer to later ones.
        self._keys = [tuple(row) for row in await connection.fetch(_FOREIGN_KEYS)]
        for table, name, _ in self._keys:
            await connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")

    async def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        await self._connection.copy_records_to_table(table, columns=columns, records=rows)

    async def bring_up_to_date(self) -> None:
        import asyncpg

        connection = self._connection
        try:
            for table, name, definition in self._keys:
                await connection.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
        except asyncpg.ForeignKeyViolationError as error:
            raise Inconsistent from error
        for table in self._forced:
            await connection.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        await postgres_schema(connection, "head")

    async def execute(self, statement: ClauseElement) -> None:
        from masthead.storage.postgres.database import POSTGRESQL

        compiled = compile_statement(statement, POSTGRESQL)
        await self._connection.execute(compiled.text, *compiled.bind({}))


_FORCED_TABLES = """
SELECT oid::regclass::text FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relforcerowsecurity
"""

_FOREIGN_KEYS = """
SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid)
FROM pg_constraint
WHERE connamespace = current_schema()::regnamespace AND contype = 'f'
"""
