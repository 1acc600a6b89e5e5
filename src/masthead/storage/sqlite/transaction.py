"""A transaction of the SQLite writer: a part of its current batch."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import TypeVar

from masthead.base.errors import DiskFull, Unavailable
from masthead.storage.database import Deferral, Row, Statement
from masthead.storage.sqlite.connection import code_of
from masthead.storage.sqlite.deferred import INLINE_ROWS, Deferred, run_rows
from masthead.storage.sqlite.writer import Commit, Writer

_RETRY_IN_THREAD = {sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_TOOBIG}

Result = TypeVar("Result")


class SqliteTransaction:
    """A failed statement fails the transaction, as on PostgreSQL: nothing of it is stored."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._connection = writer.connection
        self._deferred = Deferred()
        self._failure: Exception | None = None

    async def __aenter__(self) -> SqliteTransaction:
        await self._writer.begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        commit = self._finish() if error is None else None
        if commit is None:
            self._writer.roll_back()
        self._writer.end_turn()
        try:
            if commit is None and error is None:
                self._check()
        finally:
            self._failure = RuntimeError("the transaction has ended")
        if commit is not None:
            await _durable(commit)

    async def fetch(self, statement: Statement, values: Sequence[object] = ()) -> list[Row]:
        if self._needs_preparation(statement):
            await self._write_deferred()
        try:
            if statement.text.startswith("SELECT"):
                return await self._read(statement, values)
            return self._connection.execute(statement.text, values).fetchall()
        except sqlite3.Error as error:
            raise self._failed_by(error) from error

    async def execute(
        self, statement: Statement, values: Sequence[object] = (), *, slow: bool = False
    ) -> int:
        if self._needs_preparation(statement):
            await self._write_deferred()
        if slow:
            run = partial(self._connection.execute, statement.text, values)
            return (await self._run(run, slow=True)).rowcount
        try:
            return self._connection.execute(statement.text, values).rowcount
        except sqlite3.Error as error:
            raise self._failed_by(error) from error

    async def execute_many(self, statement: Statement, rows: Sequence[Sequence[object]]) -> None:
        if self._needs_preparation(statement):
            await self._write_deferred()
        run = partial(run_rows, self._connection, statement, list(rows))
        await self._run(run, slow=len(rows) > INLINE_ROWS)

    async def avoid_sorting(self) -> None:
        """SQLite's planner always prefers an index that has the order."""

    def notify(self, text: str) -> None:
        """Other processes see it by `data_version`."""

    def defer(self, *deferrals: Deferral) -> None:
        self._check()
        self._deferred.add(deferrals)

    def _needs_preparation(self, statement: Statement) -> bool:
        """Whether the statement's tables have deferred rows."""
        if self._failure is not None:
            raise self._failure
        is_own = self._deferred.count > 0 and self._deferred.affects(statement)
        return is_own or self._writer.has_deferred(statement)

    async def _write_deferred(self) -> None:
        try:
            await self._writer.write_deferred(self._deferred)
        except BaseException as error:
            # Some rows may be missing, so the transaction fails even if the caller catches this.
            self._failure = Unavailable()
            if isinstance(error, sqlite3.Error):
                raise self._failed_by(error) from error
            raise

    async def _run(self, work: Callable[[], Result], *, slow: bool) -> Result:
        try:
            return await self._writer.in_thread(work) if slow else work()
        except sqlite3.Error as error:
            raise self._failed_by(error) from error

    async def _read(self, statement: Statement, values: Sequence[object]) -> list[Row]:
        try:
            return self._writer.read_inline(statement, values)
        except sqlite3.Error as error:
            if code_of(error) not in _RETRY_IN_THREAD:
                raise
        again = partial(self._writer.read, statement, values, self._writer.timeout_seconds)
        return await self._writer.in_thread(again)

    def _finish(self) -> Commit | None:
        if self._failure is not None:
            return None
        try:
            return self._writer.finish(self._deferred)
        except sqlite3.Error as error:
            self._failed_by(error)
            return None

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _failed_by(self, error: sqlite3.Error) -> Exception:
        self._failure = self._writer.translated(error)
        return self._failure


async def _durable(commit: Commit) -> None:
    # When this task is cancelled the commit continues.
    failure = await commit
    if failure is not None:
        raise (DiskFull if isinstance(failure, DiskFull) else Unavailable) from failure
