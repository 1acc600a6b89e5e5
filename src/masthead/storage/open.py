"""Opens the database that a URL names."""

from __future__ import annotations

from masthead.storage.database import Database
from masthead.storage.urls import sqlite_path


async def open_database(url: str, *, statement_seconds: float = 5.0) -> Database:
    """Raises `Unavailable` when a file can't be opened, ValueError when the URL is invalid.

    A PostgreSQL server is not contacted yet: it may start later than the service.
    """
    path = sqlite_path(url)
    # Imported here, so that only one driver is loaded.
    if path is not None:
        from masthead.storage.sqlite.database import open_sqlite

        return open_sqlite(path, statement_seconds=statement_seconds)
    from masthead.storage.postgres.database import open_postgres

    return await open_postgres(url, statement_seconds=statement_seconds)
