"""Rows that a transaction writes before its commit, and not one change at a time.

What a change writes for others to read later (its events, its place in totals and lists) can wait
until then. Each database has its own way to write many rows at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Self

from masthead.storage.database import Statement

Rows = list[Sequence[object]]
Key = tuple[Any, ...]
Sums = dict[Key, int]

_TABLE = re.compile(r"(?:INSERT INTO|DELETE FROM|UPDATE) (?P<name>\w+)")
_NAME = re.compile(r"(?<![.\w])\w+")


class Deferred:
    def __init__(self) -> None:
        self._by_table: dict[str, list[tuple[str, Rows]]] = {}
        self._sums: dict[str, tuple[str, Sums]] = {}
        self.count = 0

    def __bool__(self) -> bool:
        return self.count > 0

    def add(self, statement: Statement, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            self._add(table_of(statement.text), statement.text, rows)

    def add_up(self, statement: Statement, rows: Sequence[Sequence[object]]) -> None:
        """Rows whose last value is added to what is there: those alike in the others are one."""
        if not rows:
            return
        _, sums = self._sums.setdefault(table_of(statement.text), (statement.text, {}))
        for row in rows:
            key, number = tuple(row[:-1]), row[-1]
            assert isinstance(number, int)
            sums[key] = sums.get(key, 0) + number
        self.count += len(rows)

    def add_all(self, other: Deferred) -> None:
        for table, (text, sums) in other._sums.items():
            _, mine = self._sums.setdefault(table, (text, {}))
            for key, number in sums.items():
                mine[key] = mine.get(key, 0) + number
            self.count += len(sums)
        for table, works in other._by_table.items():
            for text, rows in works:
                self._add(table, text, rows)

    def take(self) -> Self:
        """What there is, of which this one then is free."""
        taken = type(self)()
        taken._by_table, self._by_table = self._by_table, taken._by_table
        taken._sums, self._sums = self._sums, taken._sums
        taken.count, self.count = self.count, 0
        return taken

    def is_asked_for_by(self, text: str) -> bool:
        """Whether a statement might read or change what is still to be written."""
        if not self.count:
            return False
        names = _names_in(text)
        return not (names.isdisjoint(self._by_table) and names.isdisjoint(self._sums))

    def works(self) -> Iterator[tuple[str, Rows]]:
        """Statements with the rows to run them with, in an order that does."""
        for works in self._by_table.values():
            yield from works
        for text, sums in self._sums.values():
            # In a fixed order, so that two transactions can't wait for each other.
            rows: Rows = [(*key, number) for key, number in sorted(sums.items()) if number]
            if rows:
                yield text, rows

    def _add(self, table: str, text: str, rows: Sequence[Sequence[object]]) -> None:
        # Of one table in the order they came; between tables without constraints there is none.
        works = self._by_table.setdefault(table, [])
        if works and works[-1][0] == text:
            works[-1][1].extend(rows)
        else:
            works.append((text, list(rows)))
        self.count += len(rows)


@lru_cache(maxsize=1_024)
def table_of(text: str) -> str:
    match = _TABLE.match(text)
    assert match, "only insertions and deletions can wait"
    return match["name"]


@lru_cache(maxsize=4_096)
def _names_in(text: str) -> frozenset[str]:
    """All that could be the name of a table; columns stand behind a table's name and a dot."""
    return frozenset(_NAME.findall(text))
