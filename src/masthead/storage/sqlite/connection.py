"""Opens connections to an SQLite file and translates their errors."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from masthead.base.config import private_files
from masthead.base.errors import DiskFull, StatementTimeout, Unavailable
from masthead.storage.database import ForeignKeyViolation, UniqueViolation
from masthead.storage.sqlite.distances import add_distance
from masthead.storage.sqlite.patterns import FUNCTION_FAILED, add_like

_SETTINGS = (
    # Syncs the WAL at each commit: an acknowledged write survives a power cut.
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    # Overwrites deleted content, so that an erasure leaves nothing in the file.
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
    # Every connection would map the file for itself: with seven of them, the process would seem to
    # use seven times the file's size. The system's cache holds the pages anyway.
    "PRAGMA mmap_size = 0",
    # For connections without `checkpoints`, such as a migration's.
    "PRAGMA wal_autocheckpoint = 8000",
)

BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_BROKEN = BUSY | {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_READONLY,
}
_UNIQUE = re.compile(r"UNIQUE constraint failed: (?:index '(?P<index>.*)'|(?P<columns>.*))")

CACHE_KB = 4_096
MAIN_CACHE_KB = 16_384
"""The page caches of the two connections that nearly every request uses: the writer's, and the
reader's on the event loop."""
MAX_INLINE_BYTES = 512 * 1024
"""A longer value is read in a thread: copying some megabytes from their pages takes milliseconds,
or tens of them."""
_MAX_BYTES = 1_000_000_000
"""SQLite's own limit."""


def connect(
    path: Path, *, busy_seconds: float, query_only: bool, cache_kb: int = CACHE_KB
) -> sqlite3.Connection:
    private_files.create(path)
    # Another process may be opening the same file.
    connection = sqlite3.connect(
        path,
        timeout=5,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
    )
    add_like(connection)
    add_distance(connection)
    connection.execute("PRAGMA journal_mode = WAL")
    for setting in _SETTINGS:
        connection.execute(setting)
    connection.execute(f"PRAGMA cache_size = -{cache_kb}")
    if query_only:
        connection.execute("PRAGMA query_only = ON")
    connection.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000)}")
    return connection


def limit_values(connection: sqlite3.Connection, *, inline: bool = True) -> None:
    """Statements with a value that is too long for the event loop fail with SQLITE_TOOBIG before
    they read it. Without `inline` any value is read again."""
    most = MAX_INLINE_BYTES if inline else _MAX_BYTES
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most)


def code_of(error: sqlite3.Error) -> int:
    """The primary result code; errors that Python itself raises have none."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def translated(error: sqlite3.Error) -> Exception:
    """The storage-level error, or the error itself when it is a programming error."""
    code = code_of(error)
    if code == sqlite3.SQLITE_INTERRUPT or str(error) == FUNCTION_FAILED:
        return StatementTimeout()
    if code == sqlite3.SQLITE_FULL:
        return DiskFull()
    if code in _BROKEN:
        return Unavailable()
    if code == sqlite3.SQLITE_CONSTRAINT:
        return _violation(error)
    return error


def _violation(error: sqlite3.Error) -> Exception:
    message = str(error)
    # Not by the extended code: a RESTRICT violation has the code of a trigger.
    if message.startswith("FOREIGN KEY"):
        return ForeignKeyViolation(message)
    match = _UNIQUE.match(message)
    if match is None:
        return error
    if match["index"]:
        return UniqueViolation("", (match["index"],))
    names = [name.split(".", 1) for name in match["columns"].split(", ")]
    return UniqueViolation(names[0][0], tuple(column for _, column in names))
