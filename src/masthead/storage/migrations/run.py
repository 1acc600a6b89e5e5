"""Runs Alembic without its command line or its ini file.

SQLite is upgraded through a connection. For PostgreSQL Alembic renders the SQL, which is then sent
as one script. So no second driver is needed, and a migration must consist of plain SQL operations.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.script.revision import ResolutionError
from alembic.util import CommandError
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from masthead.base.config import private_files
from masthead.base.errors import NewerDatabase

VERSIONS = Path(__file__).parent / "versions"
_LOCK_SECONDS = 60
_WAL_RETRY_SECONDS = 0.02
"""How long a start waits for another process that is migrating the same file."""


def upgrade_sqlite(path: Path, revision: str = "head") -> None:
    with sqlite_connection(path) as connection:
        config = configuration()
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, revision)
        except CommandError as error:
            raise _explained(error) from error


def postgres_script(current: str | None, revision: str = "head") -> str:
    config = configuration(StringIO())
    try:
        command.upgrade(config, f"{current}:{revision}" if current else revision, sql=True)
    except CommandError as error:
        raise _explained(error) from error
    assert isinstance(config.output_buffer, StringIO)
    return config.output_buffer.getvalue()


def configuration(output: StringIO | None = None) -> Config:
    config = Config(output_buffer=output)
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("file_template", "r%%(rev)s_%%(slug)s")
    config.set_main_option("path_separator", "os")
    return config


def newest_revision() -> str | None:
    return ScriptDirectory.from_config(configuration()).get_current_head()


def not_rolling(current: str) -> list[str]:
    """The migrations after `current` that may break processes of the older version.

    A migration declares `rolling = True` if code that does not know it can go on as before.
    """
    scripts = ScriptDirectory.from_config(configuration())
    try:
        found = list(scripts.iterate_revisions("head", current))
    except (CommandError, ResolutionError) as error:
        raise NewerDatabase from error
    unsafe = [each for each in found if not getattr(each.module, "rolling", False)]
    return [each.revision for each in reversed(unsafe)]


@contextmanager
def sqlite_connection(path: Path) -> Iterator[Connection]:
    """Holds the file's write lock, so that processes that start concurrently take turns."""
    engine = create_engine("sqlite://", creator=lambda: _open(path), poolclass=NullPool)
    event.listen(engine, "begin", _begin)
    try:
        with engine.begin() as connection:
            yield connection
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise error.orig from error
        raise
    finally:
        engine.dispose()


def _open(path: Path) -> sqlite3.Connection:
    private_files.create(path)
    connection = sqlite3.connect(path, isolation_level=None, timeout=_LOCK_SECONDS)
    _use_wal(connection)
    connection.execute("PRAGMA synchronous = FULL")
    # When a table is rewritten, its old content is overwritten.
    connection.execute("PRAGMA secure_delete = ON")
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """SQLite refuses this change at once while another process makes it, whatever the timeout."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_WAL_RETRY_SECONDS)


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN EXCLUSIVE")


def _explained(error: CommandError) -> Exception:
    is_unknown = isinstance(error.__cause__, ResolutionError)
    return NewerDatabase() if is_unknown else error
