"""Migrates a database to the current schema. Alembic is loaded only if that is necessary."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from masthead.base.errors import MastheadError
from masthead.storage.sqlite.connection import translated
from masthead.storage.urls import sqlite_path

HEAD = "0097"
"""The newest revision, so that a start need not search for it."""
OLDEST, OLDEST_VERSION = "0063", "0.1.0"
"""The first revision, and the version of Masthead that it belongs to."""

_LOCK_KEY = 7_306_086_967  # for PostgreSQL's advisory lock; the same in every version
_CONNECT_SECONDS = 5.0


class NeverReleased(MastheadError):
    """A database or an archive from before `OLDEST`; the message says what to do."""


class OlderProcesses(MastheadError):
    """A migration that they can't live with; the message names their versions."""


async def migrate(url: str) -> str:
    """Does nothing on a current database. Processes may call it concurrently.

    Before it changes anything, it raises `NeverReleased`, or `OlderProcesses` if such are running
    on PostgreSQL and a migration is not declared as `rolling`.
    """
    current = await revision_of(url)
    if current != HEAD:
        _refuse_before_the_oldest(current)
        path = sqlite_path(url)
        if path is None:
            await _migrate_postgres(url)
        else:
            await asyncio.to_thread(sqlite_schema, path)
    return HEAD


def _refuse_before_the_oldest(current: str | None) -> None:
    # Revisions have leading zeros, so they compare as text.
    if current is not None and current < OLDEST:
        raise NeverReleased(
            f"No released version of Masthead made this database (revision {current}). Run "
            f"`masthead migrate` of version {OLDEST_VERSION} on it first, then this version."
        )


async def revision_of(url: str) -> str | None:
    """None for a database that was never migrated, or an SQLite file that does not exist."""
    path = sqlite_path(url)
    if path is not None:
        return _sqlite_revision(path)
    connection = await postgres_connection(url)
    try:
        async with connection.transaction():
            return await _postgres_revision(connection)
    finally:
        await connection.close()


def _sqlite_revision(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        with closing(sqlite3.connect(path)) as connection:
            if not connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
            ).fetchone():
                return None
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as error:
        raise translated(error) from error
    return row[0] if row else None


async def _postgres_revision(connection: Any) -> str | None:
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return None
    revision: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    return revision


def sqlite_schema(path: Path, revision: str = "head") -> None:
    """Migrates the file to a revision."""
    from masthead.storage.migrations.run import upgrade_sqlite

    try:
        upgrade_sqlite(path, revision)
    except sqlite3.Error as error:
        raise translated(error) from error


async def _migrate_postgres(url: str) -> None:
    connection = await postgres_connection(url)
    try:
        async with connection.transaction():
            await _lock(connection)
            await _refuse_beside_older_processes(connection)
            await postgres_schema(connection)
    finally:
        await connection.close()


async def _refuse_beside_older_processes(connection: Any) -> None:
    from masthead.storage.migrations.run import not_rolling

    current = await _postgres_revision(connection)
    if current is None or not (migrations := not_rolling(current)):
        return
    versions = [row[0] for row in await connection.fetch(_OLDER_PROCESSES, HEAD)]
    if versions:
        raise OlderProcesses(
            f"{len(versions)} processes of an older version are running ({versions[0]}), and they "
            f"can't work with migration {migrations[0]}. Stop all services and workers, then start "
            "the new version. A process that was killed counts for 30 seconds."
        )


_OLDER_PROCESSES = """
SELECT version FROM running_processes
WHERE revision < $1 AND seen_at > extract(epoch FROM now()) - 30
"""


async def postgres_schema(connection: Any, revision: str = "head") -> None:
    """Migrates the database to a revision, in the caller's transaction."""
    from masthead.storage.database import EVERY_TENANT
    from masthead.storage.migrations.run import postgres_script
    from masthead.storage.postgres.row_security import create_role

    await _lock(connection)
    current = await _postgres_revision(connection)
    if current != (HEAD if revision == "head" else revision):
        await connection.execute(create_role())
        # Migrations read and change the rows of all tenants. Without this an owner of the tables
        # who is no superuser sees none of them.
        await connection.execute("SELECT set_config('masthead.tenant', $1, true)", EVERY_TENANT)
        await connection.execute(postgres_script(current, revision))


async def _lock(connection: Any) -> None:
    """Waits for another process's migration; the transaction must not have read anything before.

    PostgreSQL remembers that a table was missing, and waiting for this lock does not correct it.
    """
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK_KEY)


async def postgres_connection(url: str) -> Any:
    # Imported here, so that only one driver is loaded.
    from masthead.storage.postgres.connections import connect_for_command

    return await connect_for_command(url, timeout=_CONNECT_SECONDS)
