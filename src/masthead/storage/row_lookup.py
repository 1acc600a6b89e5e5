"""Looks up single rows by their key in a database file that nobody else uses."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from masthead.storage.database import Row


class RowLookup:
    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, check_same_thread=False)

    def find(
        self, table: str, columns: Sequence[str], tenant_id: str, record_id: str
    ) -> Row | None:
        """Table and columns are those of the schema."""
        names = ", ".join(f'"{each}"' for each in columns)
        text = f'SELECT {names} FROM "{table}" WHERE tenant_id = ? AND id = ?'  # noqa: S608
        found: Row | None = self._connection.execute(text, (tenant_id, record_id)).fetchone()
        return found

    def close(self) -> None:
        self._connection.close()
