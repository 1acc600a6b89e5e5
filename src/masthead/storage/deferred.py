"""Rows that a transaction writes just before its commit, many at once.

Events, counters and list items are read by later transactions only, so their rows can wait. They
are registered by table. Each database has its own way to write many rows at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

from masthead.storage.database import Deferral, Statement

Rows = list[Sequence[object]]
Sums = dict[tuple[Any, ...], int]


class Deferred:
    def __init__(self) -> None:
        self._entries: list[Deferral] = []
        self._tables: set[str] = set()
        self.count = 0

    def add(self, deferrals: Iterable[Deferral]) -> None:
        for each in deferrals:
            if each.rows:
                target = each.statement.target
                assert target, "only rows of a table can be deferred"
                self._entries.append(each)
                self._tables.add(target)
                self.count += len(each.rows)

    def add_all(self, other: Deferred) -> None:
        self._entries += other._entries
        self._tables |= other._tables
        self.count += other.count

    def take(self) -> Self:
        """Removes and returns all rows."""
        taken = type(self)()
        taken.add_all(self)
        self._entries, self._tables, self.count = [], set(), 0
        return taken

    def affects(self, statement: Statement) -> bool:
        """Whether the statement might read or change deferred rows."""
        if not self.count:
            return False
        return statement.tables is None or not self._tables.isdisjoint(statement.tables)

    def batches(self) -> Iterator[tuple[Statement, Rows]]:
        """Statements with their rows. Rows of one table keep their order; between tables it does
        not matter, because no constraint connects them."""
        by_table: dict[str, list[tuple[Statement, Rows]]] = {}
        sums: dict[str, tuple[Statement, Sums]] = {}
        for statement, rows, adding in self._entries:
            if adding:
                _add_up(sums.setdefault(statement.target, (statement, {}))[1], rows)
            else:
                _append(by_table.setdefault(statement.target, []), statement, rows)
        for batches in by_table.values():
            yield from batches
        for statement, totals in sums.values():
            # In a fixed order, so that two transactions can't deadlock.
            yield statement, [(*key, total) for key, total in sorted(totals.items()) if total]


def _append(
    batches: list[tuple[Statement, Rows]], statement: Statement, rows: Sequence[Sequence[object]]
) -> None:
    if batches and batches[-1][0] is statement:
        batches[-1][1].extend(rows)
    else:
        batches.append((statement, list(rows)))


def _add_up(sums: Sums, rows: Sequence[Sequence[object]]) -> None:
    """Rows that differ in the last value only become one."""
    for row in rows:
        key, number = tuple(row[:-1]), row[-1]
        assert isinstance(number, int)
        sums[key] = sums.get(key, 0) + number
