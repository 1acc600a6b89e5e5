"""Writes batches of rows to an SQLite file, in a process that does nothing else.

Needs Python's own library only, and is run as a script: it is there in a moment and small. Orders
come and outcomes go over one socket; when that is closed, this ends. The same functions serve the
service's own thread while there is no such process.
"""

from __future__ import annotations

import marshal
import os
import random
import signal
import socket
import sqlite3
import struct
import sys
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any, NamedTuple
from urllib.parse import quote

Order = tuple[str, list[Any], list[tuple[Any, ...]] | None]
"""A statement, its values, and the rows that it must return in any order, or None."""

DONE, OVERTAKEN, FAILED = "done", "overtaken", "failed"

RECEIVED_AT_ONCE = 1 << 16
"""Bytes, about a batch. The system maps larger buffers anew each time."""

_LENGTH = struct.Struct("!I")
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_BROKEN = (sqlite3.OperationalError, sqlite3.DatabaseError, sqlite3.InternalError)
"""A disk that is full or broken: the fault of no row."""


class Stale(Exception):
    """The rows were made for another state of the file than it has."""


class File(NamedTuple):
    path: str
    device: int
    inode: int

    @classmethod
    def at(cls, path: str) -> File:
        """Raises OSError where there is none."""
        found = os.stat(path)
        return cls(path, found.st_dev, found.st_ino)


def open_file(file: File, settings: Sequence[str]) -> sqlite3.Connection:
    """Never another one that stands in its place by now, and none that is made by this."""
    connection = sqlite3.connect(
        f"file:{quote(file.path)}?mode=rw",
        uri=True,
        timeout=5,
        isolation_level=None,
        cached_statements=512,
    )
    for setting in settings:
        connection.execute(setting)
    if File.at(file.path) != file:
        raise FileNotFoundError(file.path)
    return connection


def write(connection: sqlite3.Connection, orders: Sequence[Order], patience: float) -> None:
    """All of it or nothing. A violated constraint makes it stale as well."""
    _begin(connection, time.monotonic() + patience)
    try:
        for text, values, expected in orders:
            # Fetched in any case: a statement that returns something stays open until then.
            rows = connection.execute(text, values).fetchall()
            if expected is not None and sorted(rows) != expected:
                raise Stale
        connection.execute("COMMIT")
    # Of a value that can't be bound not every error is SQLite's.
    except (sqlite3.Error, ValueError, OverflowError) as error:
        if type(error) in _BROKEN:
            raise
        # Somebody's row can't be written: which one is found out when each is written alone.
        raise Stale from error
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def packed(message: Any) -> bytes:
    """Raises ValueError for values that are not of Python's plain types."""
    # Both ends are the same interpreter.
    content = marshal.dumps(message)
    return _LENGTH.pack(len(content)) + content


def unpacked(data: bytes | bytearray) -> tuple[Any, int] | None:
    """The message that the data begins with and its length, once all of it is there."""
    if len(data) < _LENGTH.size:
        return None
    end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    if len(data) < end:
        return None
    return marshal.loads(memoryview(data)[_LENGTH.size : end]), end  # noqa: S302


def main() -> None:
    # Whoever ends the service ends this one by closing the socket, after the last batch.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # A peer that is gone has nothing to be told.
    with socket.socket(fileno=int(sys.argv[1])) as peer, suppress(ConnectionError):
        _serve(peer, _Messages(peer))


def _serve(peer: socket.socket, messages: _Messages) -> None:
    hello = messages.take()
    if hello is None:
        return
    file, settings, patience = hello
    try:
        connection = open_file(File(*file), settings)
    except (OSError, sqlite3.Error) as error:
        peer.sendall(packed(f"{FAILED}: {error}"))
        return
    with closing(connection):
        peer.sendall(packed(DONE))
        while (message := messages.take()) is not None:
            orders, after = message
            peer.sendall(packed(_outcome(connection, orders, after, patience)))


class _Messages:
    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        self._data = bytearray()

    def take(self) -> Any:
        """The next one, or None when there will be no more."""
        while (found := unpacked(self._data)) is None:
            received = self._peer.recv(RECEIVED_AT_ONCE)
            if not received:
                return None
            self._data += received
        message, length = found
        del self._data[:length]
        return message


def _outcome(
    connection: sqlite3.Connection, orders: Sequence[Order], after: str, patience: float
) -> str:
    try:
        write(connection, orders, patience)
    except Stale:
        return OVERTAKEN
    except sqlite3.Error as error:
        return f"{FAILED}: {error}"
    if after:
        # It is committed already, whatever becomes of this.
        with suppress(sqlite3.Error):
            connection.execute(after).fetchone()
    return DONE


def _begin(connection: sqlite3.Connection, deadline: float) -> None:
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code not in _BUSY or time.monotonic() > deadline:
                raise
            # Another process writes; uneven steps, so that two never keep missing each other.
            time.sleep(random.uniform(0.0005, 0.004))  # noqa: S311


if __name__ == "__main__":
    main()
