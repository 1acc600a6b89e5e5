"""Checkpoints SQLite's WAL from a thread, without blocking writers.

By default SQLite checkpoints in the COMMIT that makes the WAL too long, and every writer waits for
it. Here a thread with its own connection does it, once a second while there is something to do;
more often would write the same pages more often. The WAL can only restart when all of it is in the
file. A writer without pauses stays ahead of the thread. So when the WAL has grown long, the writer
copies the few remaining pages, once, after a commit. The connection that copies the last page waits
until the disk has all pages before it, so the thread first repeats its checkpoint until nothing was
written meanwhile.
"""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from masthead.base.logs import log
from masthead.storage.sqlite.connection import connect

MAX_WAL_PAGES = 32_000
"""128 MB."""
MAX_REPEATS = 8
"""A writer that is still ahead after so many checkpoints will stay ahead."""


def checkpoint(connection: sqlite3.Connection) -> int:
    """Returns how many pages the WAL had. Passive: waits for neither readers nor the writer."""
    _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return int(pages)


def repeat_checkpoint(connection: sqlite3.Connection, pages: int) -> int:
    """Each checkpoint only copies what was written during the one before. The first one with
    nothing written meanwhile waits for the disk, so that next to nothing is left afterwards."""
    for _ in range(MAX_REPEATS):
        before, pages = pages, checkpoint(connection)
        if pages <= before:
            break
    return pages


class Checkpoints:
    def __init__(
        self, path: Path, *, interval_seconds: float = 1.0, max_wal_pages: int = MAX_WAL_PAGES
    ) -> None:
        self._interval_seconds = interval_seconds
        self._max_wal_pages = max_wal_pages
        # Opened now: later the path may name another file, or none.
        self._connection = connect(path, busy_seconds=0, query_only=False)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-checkpoints")
        self._timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Future[None] | None = None
        self._is_wal_long = False

    def after_commit(self) -> None:
        """Called on the event loop."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._interval_seconds, self._start)

    def in_writer(self, writer: sqlite3.Connection) -> None:
        """Called in the writer's thread right after a COMMIT."""
        if self._is_wal_long:
            self._is_wal_long = False
            # The commit is done, whether or not this succeeds.
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
            if pages > self._max_wal_pages:
                pages = repeat_checkpoint(self._connection, pages)
        except sqlite3.Error:
            # Nothing is lost: the WAL has it. The writer reports a broken disk.
            log.warning("checkpoint.failed", exc_info=True)
            return
        self._is_wal_long = pages > self._max_wal_pages
