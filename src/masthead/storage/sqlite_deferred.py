"""Rows that are written just before the commit they belong to.

What a change writes for others to read later (its events, its place in totals and lists) can wait
for the end of the batch. There the rows of all changes go in together, in the thread that commits:
one statement instead of one for each change, and the event loop is free meanwhile.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from masthead.storage.database import Statement

Rows = list[Sequence[object]]

ROWS_IN_ONE = 48
"""At most. Each number of rows has a statement of its own, which SQLite has to prepare and keep."""

_TABLE = re.compile(r"(?:INSERT INTO|DELETE FROM|UPDATE) (?P<name>\w+)")
_NAME = re.compile(r"(?<![.\w])\w+")
_VALUES = re.compile(r" VALUES (?P<row>\((?:\?, )*\?\))")


class Deferred:
    def __init__(self) -> None:
        self._by_table: dict[str, list[tuple[str, Rows]]] = {}
        self.count = 0

    def __bool__(self) -> bool:
        return self.count > 0

    def add(self, statement: Statement, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            self._add(_table_of(statement.text), statement.text, rows)

    def add_all(self, other: Deferred) -> None:
        for table, works in other._by_table.items():
            for text, rows in works:
                self._add(table, text, rows)

    def take(self) -> Deferred:
        """What there is, of which this one then is free."""
        taken = Deferred()
        taken._by_table, self._by_table = self._by_table, taken._by_table
        taken.count, self.count = self.count, 0
        return taken

    def is_asked_for_by(self, text: str) -> bool:
        """Whether a statement might read or change what is still to be written."""
        return self.count > 0 and not _names_in(text).isdisjoint(self._by_table)

    def run(self, connection: sqlite3.Connection) -> None:
        for works in self._by_table.values():
            for text, rows in works:
                _run(connection, text, rows)

    def _add(self, table: str, text: str, rows: Sequence[Sequence[object]]) -> None:
        # Of one table in the order they came; between tables without constraints there is none.
        works = self._by_table.setdefault(table, [])
        if works and works[-1][0] == text:
            works[-1][1].extend(rows)
        else:
            works.append((text, list(rows)))
        self.count += len(rows)


@lru_cache(maxsize=1_024)
def in_one(text: str, count: int) -> str:
    """An insertion of several rows as one statement, or '' where it is another kind.

    At each statement the interpreter lets other threads go first, so a few rows in one take half
    the time they take one by one."""
    match = _VALUES.search(text) if text.startswith("INSERT") else None
    if match is None or "?" in text[match.end() :]:
        return ""
    rows = ", ".join([match["row"]] * count)
    return f"{text[: match.start('row')]}{rows}{text[match.end('row') :]}"


@lru_cache(maxsize=1_024)
def _table_of(text: str) -> str:
    match = _TABLE.match(text)
    assert match, "only insertions and deletions can wait"
    return match["name"]


@lru_cache(maxsize=4_096)
def _names_in(text: str) -> frozenset[str]:
    """All that could be the name of a table; columns stand behind a table's name and a dot."""
    return frozenset(_NAME.findall(text))


def _run(connection: sqlite3.Connection, text: str, rows: Rows) -> None:
    if not in_one(text, 2):
        connection.executemany(text, rows)
        return
    for start in range(0, len(rows), ROWS_IN_ONE):
        some = rows[start : start + ROWS_IN_ONE]
        whole = in_one(text, len(some)) if len(some) > 1 else text
        connection.execute(whole, list(chain.from_iterable(some)))
