"""Transactions that need not look at the database before they write to it.

To create a record takes no reading where the next number of its tenant is known: all its rows can
wait for the thread that commits, and the event loop never touches the file. Such transactions are
collected while an earlier batch is being committed, and written together. What was taken for
granted is checked then, under the lock: that nobody else has written since the numbers were
learned, and that no constraint is violated. If not, all of them have to be tried again one by one,
as ordinary transactions.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from masthead.errors import Unavailable
from masthead.storage.database import Overtaken, Row, Statement
from masthead.storage.deferred import table_of
from masthead.storage.sqlite_connection import BUSY, code_of
from masthead.storage.sqlite_deferred import Deferred

DATA_VERSION = "PRAGMA data_version"
"""Changes when another connection commits, and not when this one does."""

Acknowledgement = asyncio.Future[BaseException | None]
"""Done once the commit is; its result is what made the commit fail."""


class Numbers:
    """The rows that were last returned for counting up, by key: those of one table."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._table = ""

    def get(self, key: str) -> Row | None:
        return self._rows.get(key)

    def put(self, table: str, key: str, row: Row) -> None:
        self._table = table
        self._rows[key] = row

    def forget(self, key: str) -> None:
        self._rows.pop(key, None)

    def forget_all(self) -> None:
        self._rows.clear()

    def heed(self, text: str) -> None:
        """A statement that names the table may change what is known."""
        if self._rows and self._table in text:
            self._rows.clear()


class BlindBatch:
    def __init__(self) -> None:
        self.deferred = Deferred()
        self.members: list[Acknowledgement] = []

    def run(self, connection: sqlite3.Connection, seen: int, patience_seconds: float) -> None:
        """In the thread that commits. `seen` is the version of the data that the numbers are of."""
        _begin(connection, time.monotonic() + patience_seconds)
        try:
            if connection.execute(DATA_VERSION).fetchone()[0] != seen:
                raise Overtaken
            self.deferred.run(connection)
            connection.execute("COMMIT")
        except sqlite3.IntegrityError as error:
            raise Overtaken from error


class Collector(Protocol):
    numbers: Numbers

    def join(self, deferred: Deferred) -> Acknowledgement:
        """Makes the rows part of the next batch."""
        ...


class BlindTransaction:
    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._deferred = Deferred()
        self._table = self._key = ""
        self._known: Row | None = None
        self._next: Row = ()

    async def __aenter__(self) -> BlindTransaction:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            return
        numbers = self._collector.numbers
        if self._known is None or numbers.get(self._key) is not self._known:
            # Another one has taken the number while this one was waiting for something.
            raise Overtaken
        numbers.put(self._table, self._key, self._next)
        failure = await self._collector.join(self._deferred)
        if isinstance(failure, Overtaken):
            raise Overtaken from failure
        if failure is not None:
            raise Unavailable from failure

    async def count_up(self, statement: Statement, key: str) -> Row:
        known = self._collector.numbers.get(key)
        if known is None:
            raise Overtaken
        self._known, self._key, self._next = known, key, (known[0] + 1, *known[1:])
        self._table = table_of(statement.text)
        self._deferred.add_up(statement, [(key, 1)])
        return self._next

    async def fetch(self, statement: Statement, values: Sequence[object] = ()) -> list[Row]:
        raise Overtaken

    async def execute(
        self, statement: Statement, values: Sequence[object] = (), *, slow: bool = False
    ) -> int:
        if not statement.text.startswith("INSERT"):
            raise Overtaken
        self._deferred.add(statement, (values,))
        return 1

    async def execute_many(self, statement: Statement, rows: Sequence[Sequence[object]]) -> None:
        raise Overtaken

    async def defer(
        self, statement: Statement, rows: Sequence[Sequence[object]], *, adding: bool = False
    ) -> None:
        (self._deferred.add_up if adding else self._deferred.add)(statement, rows)


def _begin(connection: sqlite3.Connection, deadline: float) -> None:
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.Error as error:
            if code_of(error) not in BUSY or time.monotonic() > deadline:
                raise
            # Another process writes; uneven steps, so that two never keep missing each other.
            time.sleep(random.uniform(0.0005, 0.004))  # noqa: S311
