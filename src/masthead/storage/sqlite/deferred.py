"""Rows that SQLite writes just before the commit they belong to.

There the rows of all changes of a batch go in together, in the thread that commits: one statement
instead of one for each change, and the event loop is free meanwhile.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from masthead.storage import deferred
from masthead.storage.deferred import Rows

ROWS_IN_ONE = 48
"""At most. Each number of rows has a statement of its own, which SQLite has to prepare and keep."""

_VALUES = re.compile(r" VALUES (?P<row>\((?:\?, )*\?\))")


class Deferred(deferred.Deferred):
    def run(self, connection: sqlite3.Connection) -> None:
        for text, rows in self.works():
            if in_one(text, 2):
                for whole, values in in_few(text, rows):
                    connection.execute(whole, values)
            else:
                connection.executemany(text, rows)


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


def in_few(text: str, rows: Rows) -> Iterator[tuple[str, list[object]]]:
    """An insertion of any number of rows as few statements, each with all its values."""
    for start in range(0, len(rows), ROWS_IN_ONE):
        some = rows[start : start + ROWS_IN_ONE]
        whole = in_one(text, len(some)) if len(some) > 1 else text
        yield whole, list(chain.from_iterable(some))
