"""One transaction of the SQLite writer: a savepoint in the batch that is being made."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING

from masthead.errors import Unavailable
from masthead.storage.database import Row, Statement
from masthead.storage.sqlite.connection import code_of, translated
from masthead.storage.sqlite.deferred import Deferred, in_one

if TYPE_CHECKING:
    from masthead.storage.sqlite.writer import Acknowledgement, Writer

INLINE_ROWS = 100
"""More of them are written in a thread."""
_INLINE_READ_SECONDS = 0.001
_ROWS_IN_ONE = 8


class SqliteTransaction:
    """A statement that fails spoils its transaction, as on PostgreSQL: nothing of it is kept."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._connection = writer.connection
        self._deferred = Deferred()
        self._failure: Exception | None = None

    async def __aenter__(self) -> SqliteTransaction:
        deadline = time.monotonic() + self._writer.patience_seconds
        await self._writer.take_turn()
        try:
            await self._writer.begin(deadline)
        except BaseException:
            self._writer.pass_on()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        acknowledged = self._finish() if error is None else None
        if acknowledged is None:
            self._writer.undo()
        self._writer.pass_on()
        try:
            if acknowledged is None and error is None:
                self._check()
        finally:
            self._failure = RuntimeError("the transaction has ended")
        if acknowledged is not None:
            await _durable(acknowledged)

    async def fetch(self, statement: Statement, values: Sequence[object] = ()) -> list[Row]:
        self._check()
        try:
            if self._meets_deferred(statement.text):
                await self._write_deferred()
            if not statement.text.startswith("SELECT"):
                return self._connection.execute(statement.text, values).fetchall()
            return await self._read(statement, values)
        except sqlite3.Error as error:
            raise self._spoiled_by(error) from error

    async def execute(
        self, statement: Statement, values: Sequence[object] = (), *, slow: bool = False
    ) -> int:
        self._check()
        try:
            if self._meets_deferred(statement.text):
                await self._write_deferred()
            if not slow:
                return self._connection.execute(statement.text, values).rowcount
            run = partial(self._connection.execute, statement.text, values)
            return (await self._writer.in_thread(run)).rowcount
        except sqlite3.Error as error:
            raise self._spoiled_by(error) from error

    async def execute_many(self, statement: Statement, rows: Sequence[Sequence[object]]) -> None:
        self._check()
        try:
            if self._meets_deferred(statement.text):
                await self._write_deferred()
            if len(rows) > INLINE_ROWS:
                run = partial(self._connection.executemany, statement.text, rows)
                await self._writer.in_thread(run)
            elif 0 < len(rows) <= _ROWS_IN_ONE and (text := in_one(statement.text, len(rows))):
                self._connection.execute(text, list(chain.from_iterable(rows)))
            else:
                self._connection.executemany(statement.text, rows)
        except sqlite3.Error as error:
            raise self._spoiled_by(error) from error

    async def defer(
        self, statement: Statement, rows: Sequence[Sequence[object]], *, adding: bool = False
    ) -> None:
        self._check()
        (self._deferred.add_up if adding else self._deferred.add)(statement, rows)

    async def _read(self, statement: Statement, values: Sequence[object]) -> list[Row]:
        read = self._writer.read
        try:
            return read(statement, values, _INLINE_READ_SECONDS)
        except sqlite3.OperationalError as error:
            if code_of(error) != sqlite3.SQLITE_INTERRUPT:
                raise
        return await self._writer.in_thread(
            partial(read, statement, values, self._writer.patience_seconds)
        )

    def _finish(self) -> Acknowledgement | None:
        if self._failure is not None:
            return None
        try:
            return self._writer.finish(self._deferred)
        except sqlite3.Error as error:
            self._failure = translated(error)
            return None

    async def _write_deferred(self) -> None:
        try:
            await self._writer.write_deferred(self._deferred)
        except BaseException:
            # Some of it may be missing, whoever catches this.
            self._failure = Unavailable()
            raise

    def _meets_deferred(self, text: str) -> bool:
        return self._deferred.is_asked_for_by(text) or self._writer.is_deferred(text)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _spoiled_by(self, error: sqlite3.Error) -> Exception:
        self._failure = translated(error)
        return self._failure


async def _durable(acknowledged: Acknowledgement) -> None:
    # The commit goes on, for the others too, when this task is cancelled.
    failure = await acknowledged
    if failure is not None:
        raise Unavailable from failure
