"""A separate reader for reading the whole database, for example in an export.

A long read on one of SQLite's other readers would replace the pages in its cache, and would block
the event loop.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from sqlalchemy.sql import ClauseElement, Insert

from masthead.storage.database import Database, Listening, Row, Scope, Statement, Transaction
from masthead.storage.sqlite.connection import connect, translated
from masthead.storage.urls import sqlite_path

_BUSY_SECONDS = 5.0


@asynccontextmanager
async def long_reads(database: Database, database_url: str) -> AsyncIterator[Database]:
    """PostgreSQL needs no separate reader."""
    path = sqlite_path(database_url)
    if path is None:
        yield database
        return
    reader = _LongReads(database, path)
    try:
        yield reader
    finally:
        await reader.close()


class _LongReads:
    """Reads in a thread on a separate connection; everything else goes to the database."""

    name = "sqlite"
    has_one_writer = True

    def __init__(self, database: Database, path: Path) -> None:
        self._database = database
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-long-reads")
        self._connection: sqlite3.Connection | None = None

    def compile(self, statement: ClauseElement, counted: Sequence[str] = ()) -> Statement:
        return self._database.compile(statement, counted)

    def compile_both(self, first: Insert, second: Insert) -> Statement | None:
        return self._database.compile_both(first, second)

    def list_value(self, values: Sequence[object]) -> object:
        return self._database.list_value(values)

    def data_version(self) -> int | None:
        return self._database.data_version()

    async def fetch(
        self,
        scope: Scope,
        statement: Statement,
        values: Sequence[object] = (),
        *,
        slow: bool = False,
        max_bytes: int | None = None,  # whole tables are read here, in small pages
    ) -> list[Row]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._read, statement.text, values)

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]:
        return self._database.transaction(scope)

    async def listen(self, heard: Callable[[str], None]) -> Listening | None:
        return await self._database.listen(heard)

    def connections(self) -> tuple[int, int]:
        return self._database.connections()

    async def count_bytes(self) -> int:
        return await self._database.count_bytes()

    async def ping(self) -> None:
        await self._database.ping()

    async def close(self) -> None:
        """Closes the reader, not the database."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown()

    def _read(self, text: str, values: Sequence[object]) -> list[Row]:
        try:
            return self._connected().execute(text, values).fetchall()
        except sqlite3.Error as error:
            raise translated(error) from error

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connect(self._path, busy_seconds=_BUSY_SECONDS, query_only=True)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
