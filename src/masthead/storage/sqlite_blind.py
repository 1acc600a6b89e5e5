"""Transactions that need not look at the database before they write to it.

To create a record takes no reading where the next number of its tenant is known: all its rows can
wait for whoever commits, and the event loop never touches the file. Such transactions are collected
while an earlier batch is being committed, and written together. What was taken for granted is
checked then, under the lock: that the numbers have not been counted up by anyone else, and that no
constraint is violated. If not, all of them have to be tried again one by one, as ordinary
transactions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple, Protocol

from masthead.errors import Unavailable
from masthead.storage.database import Overtaken, Row, Statement
from masthead.storage.deferred import table_of
from masthead.storage.scribe_process import Order
from masthead.storage.sqlite_deferred import Deferred, in_few, in_one

Acknowledgement = asyncio.Future[BaseException | None]
"""Done once the commit is; its result is what made the commit fail."""

MAX_MEMBERS = 128
MAX_LETTERS = 2_000_000
"""All texts of a batch together; they are in memory, and copied for whoever writes them."""
MAX_LETTERS_OF_ONE = 256_000


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

    def heed(self, text: str, values: Sequence[object]) -> None:
        """A statement that names the table may change what is known. Were something missed, the
        commit would notice; so this only saves work that would be for nothing."""
        if not self._rows or self._table not in text:
            return
        changed = [key for key in values if isinstance(key, str) and key in self._rows]
        for key in changed:
            self.forget(key)
        if not changed:
            self.forget_all()


class Trust:
    """Whether to take for granted that what is known still holds.

    Where others write as well that fails again and again, and each time the work was for nothing:
    so it takes ever longer until it is tried again."""

    FIRST, LONGEST, PROVEN = 4, 1_024, 64
    """Commits."""

    def __init__(self) -> None:
        self._patience = self.FIRST
        self._until = self.FIRST
        self._kept = 0

    def __bool__(self) -> bool:
        return self._until == 0

    def commit_went_well(self) -> None:
        if self._until:
            self._until -= 1
            return
        self._kept += 1
        if self._kept == self.PROVEN:
            self._patience = self.FIRST

    def was_disappointed(self) -> None:
        self._kept = 0
        self._until = self._patience
        self._patience = min(2 * self._patience, self.LONGEST)


class Counted(NamedTuple):
    """A number counted up without asking the database."""

    statement: Statement
    key: str
    before: Row
    after: Row


Work = tuple[Statement, Sequence[Sequence[object]], bool]
"""A statement with rows to run it with, and whether their last values are added up."""


class BlindBatch:
    def __init__(self) -> None:
        self.members: list[Acknowledgement] = []
        self.letters = 0
        self._deferred = Deferred()
        self._added: dict[str, int] = {}
        self._expected: dict[str, Row] = {}
        self._counting: Statement | None = None

    def add(self, counted: Counted, works: Sequence[Work], letters: int) -> None:
        self.letters += letters
        self._counting = counted.statement
        self._added[counted.key] = self._added.get(counted.key, 0) + 1
        self._expected[counted.key] = counted.after
        for statement, rows, adding in works:
            (self._deferred.add_up if adding else self._deferred.add)(statement, rows)

    @property
    def is_full(self) -> bool:
        return len(self.members) >= MAX_MEMBERS or self.letters >= MAX_LETTERS

    def orders(self) -> list[Order]:
        return [self._numbers(), *self._rows()]

    def _numbers(self) -> Order:
        assert self._counting is not None
        # Numbers only grow, so where others are returned somebody else has written.
        expected = sorted(tuple(row) for row in self._expected.values())
        values: list[object] = [value for item in self._added.items() for value in item]
        return in_one(self._counting.text, len(self._added)), values, expected

    def _rows(self) -> list[Order]:
        return [
            (whole, values, None)
            for text, rows in self._deferred.works()
            for whole, values in in_few(text, rows)
        ]


class Collector(Protocol):
    numbers: Numbers

    def join(self, counted: Counted, works: Sequence[Work], letters: int) -> Acknowledgement:
        """Makes the rows part of the next batch."""
        ...


class BlindTransaction:
    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._works: list[Work] = []
        self._letters = 0
        self._counted: Counted | None = None

    async def __aenter__(self) -> BlindTransaction:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            # It may be right for another state of things than the present one: nobody has checked.
            raise Overtaken from error
        if error is not None:
            return
        counted, numbers = self._counted, self._collector.numbers
        if counted is None or numbers.get(counted.key) is not counted.before:
            # Another one has taken the number while this one was waiting for something.
            raise Overtaken
        numbers.put(table_of(counted.statement.text), counted.key, counted.after)
        failure = await self._collector.join(counted, self._works, self._letters)
        if isinstance(failure, Overtaken):
            raise Overtaken from failure
        if failure is not None:
            raise Unavailable from failure

    async def count_up(self, statement: Statement, key: str) -> Row:
        known = self._collector.numbers.get(key)
        if known is None:
            raise Overtaken
        after = (known[0] + 1, *known[1:])
        self._counted = Counted(statement, key, known, after)
        return after

    async def fetch(self, statement: Statement, values: Sequence[object] = ()) -> list[Row]:
        raise Overtaken

    async def execute(
        self, statement: Statement, values: Sequence[object] = (), *, slow: bool = False
    ) -> int:
        self._letters += sum([len(value) for value in values if isinstance(value, str)])
        if self._letters > MAX_LETTERS_OF_ONE:
            raise Overtaken
        self._add(statement, (values,), adding=False)
        return 1

    async def execute_many(self, statement: Statement, rows: Sequence[Sequence[object]]) -> None:
        await self.defer(statement, rows)

    async def defer(
        self, statement: Statement, rows: Sequence[Sequence[object]], *, adding: bool = False
    ) -> None:
        if rows:
            self._add(statement, rows, adding=adding)

    def _add(self, statement: Statement, rows: Sequence[Sequence[object]], *, adding: bool) -> None:
        if not in_one(statement.text, 2):
            raise Overtaken
        self._works.append((statement, rows, adding))
