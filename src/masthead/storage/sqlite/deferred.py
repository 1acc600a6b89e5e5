"""How SQLite writes deferred rows.

The thread that commits a batch writes the rows of all its transactions together: one statement
instead of one for each change, while the event loop is free.
"""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from itertools import chain

from masthead.storage import deferred
from masthead.storage.database import Statement
from masthead.storage.deferred import Rows

INLINE_ROWS = 100
"""More rows are written in a thread."""
MAX_ROWS = 48
"""Per statement. SQLite prepares and caches a statement for each number of rows."""
_INSERT, _INSERT_OR_FAIL = "INSERT INTO ", "INSERT OR FAIL INTO "


class Deferred(deferred.Deferred):
    def run(self, connection: sqlite3.Connection) -> None:
        for statement, rows in self.batches():
            run_rows(connection, statement, rows)


def run_rows(connection: sqlite3.Connection, statement: Statement, rows: Rows) -> None:
    """Uses multi-row inserts: after each statement the interpreter may switch threads, so that some
    rows in one statement take half the time."""
    if not multi_row_insert(statement.text, len(statement.names), 2):
        connection.executemany(statement.text, rows)
        return
    for start in range(0, len(rows), MAX_ROWS):
        some = rows[start : start + MAX_ROWS]
        text = multi_row_insert(statement.text, len(statement.names), len(some))
        connection.execute(text, list(chain.from_iterable(some)))


@lru_cache(maxsize=1_024)
def multi_row_insert(text: str, columns: int, count: int) -> str:
    """The single-row insert for `count` rows; '' for any other statement.

    A row that fails leaves the rows before it, for the transaction to undo: a failed statement
    fails it anyway. To undo them itself, SQLite would first copy every page that the rows change.
    """
    row = f"({', '.join('?' * columns)})"
    before, values, after = text.partition(f" VALUES {row}")
    if not (before.startswith(_INSERT) and values) or "?" in after:
        return ""
    into = before.removeprefix(_INSERT)
    return f"{_INSERT_OR_FAIL}{into} VALUES {', '.join([row] * count)}{after}"
