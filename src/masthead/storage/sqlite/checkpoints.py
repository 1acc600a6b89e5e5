"""Checkpoints SQLite's WAL from a thread, while others write.

Left to itself SQLite does that in the COMMIT which makes the WAL too long, and every writer waits
for it. Here a thread with a connection of its own does it, once a second while there is something
to do; the more often, the more often the same pages are written. The WAL can only start over when
all of it is in the file; a writer without pauses stays ahead of the thread, so when the WAL has
grown long the writer copies the little that is left, once, after a commit. The connection that
copies the last page waits until the disk holds all pages before it, so the thread first repeats its
checkpoint until nothing was written meanwhile.
"""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import structlog

from masthead.storage.sqlite.connection import connect

log = structlog.get_logger()

EVERY_SECONDS = 1.0
LONG_WAL = 32_000
"""Pages: 128 MB."""
MAX_REPEATS = 8
"""One after the other; a writer that is still ahead then will stay ahead."""


def checkpoint(connection: sqlite3.Connection) -> int:
    """Returns how many pages the WAL had. Passive: waits for neither readers nor the writer."""
    _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return int(pages)


def catch_up(connection: sqlite3.Connection, pages: int) -> int:
    """Repeats a checkpoint. Each time there is only what was written during the one before, and
    the first one with nothing written meanwhile waits for the disk; after that there is next to
    nothing left to wait for."""
    for _ in range(MAX_REPEATS):
        before, pages = pages, checkpoint(connection)
        if pages <= before:
            break
    return pages


class Checkpoints:
    def __init__(self, path: Path) -> None:
        # Right away, not when it is first needed: the path may name another file by then, or none.
        self._connection = connect(path, busy_seconds=0, query_only=False)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-checkpoints")
        self._timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Future[None] | None = None
        self._is_wal_long = False

    def after_commit(self) -> None:
        """Called on the event loop."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(EVERY_SECONDS, self._start)

    def in_writer(self, writer: sqlite3.Connection) -> None:
        """Called in the writer's thread right after a COMMIT."""
        if self._is_wal_long:
            self._is_wal_long = False
            # It is committed already, whatever becomes of this.
            with suppress(sqlite3.Error):
                checkpoint(writer)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._running is not None:
            await self._running
        self._thread.shutdown()
        self._connection.close()

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        self._running = loop.run_in_executor(self._thread, self._checkpoint)
        self._running.add_done_callback(self._done)

    def _done(self, _: asyncio.Future[None]) -> None:
        self._timer = None

    def _checkpoint(self) -> None:
        try:
            pages = checkpoint(self._connection)
            if pages > LONG_WAL:
                pages = catch_up(self._connection, pages)
        except sqlite3.Error:
            # Nothing is lost, the WAL holds it; a broken disk is reported by the writer.
            log.warning("checkpoint.failed", exc_info=True)
            return
        self._is_wal_long = pages > LONG_WAL
