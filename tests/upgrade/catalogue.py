"""Which tables and columns a database has, whatever we declare today."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import closing

import asyncpg

from masthead.storage.urls import sqlite_path


async def stored_columns(url: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    path = sqlite_path(url)
    if path is not None:
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute(
                "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c "
                "WHERE t.type = 'table' ORDER BY t.name, c.cid"
            ).fetchall()
    else:
        opened = await asyncpg.connect(url)
        try:
            rows = await opened.fetch(
                "SELECT table_name::text, column_name::text FROM information_schema.columns "
                "WHERE table_schema = 'public' ORDER BY table_name, ordinal_position"
            )
        finally:
            await opened.close()
    for table, column in rows:
        found[table].append(column)
    return found
