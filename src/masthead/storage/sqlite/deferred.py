"""Rows that SQLite writes just before the commit they belong to.

Rows of all transactions of a batch are written together, in the thread that commits: one statement
instead of one for each change, and the event loop is free meanwhile.
"""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from itertools import chain

from masthead.storage import deferred
from masthead.storage.database import Statement
from masthead.storage.deferred import Rows

MAX_ROWS = 48
"""Of one statement. Each number of rows has a statement of its own, which SQLite has to prepare and
to remember."""


class Deferred(deferred.Deferred):
    def run(self, connection: sqlite3.Connection) -> None:
        for statement, rows in self.batches():
            run_rows(connection, statement, rows)


def run_rows(connection: sqlite3.Connection, statement: Statement, rows: Rows) -> None:
    """With as few statements as possible: after each one the interpreter lets other threads go
    first, so a few rows in one statement take half the time that they take one by one."""
    if not multi_row_insert(statement.text, len(statement.names), 2):
        connection.executemany(statement.text, rows)
        return
    for start in range(0, len(rows), MAX_ROWS):
        some = rows[start : start + MAX_ROWS]
        text = multi_row_insert(statement.text, len(statement.names), len(some))
        connection.execute(text, list(chain.from_iterable(some)))


@lru_cache(maxsize=1_024)
def multi_row_insert(text: str, columns: int, count: int) -> str:
    """An insert of one row as an insert of several, or '' for any other statement."""
    row = f"({', '.join('?' * columns)})"
    before, values, after = text.partition(f" VALUES {row}")
    if not (text.startswith("INSERT") and values) or "?" in after:
        return ""
    return f"{before} VALUES {', '.join([row] * count)}{after}"
