"""Folds SQLite's log into the file, beside the writing instead of within it.

Left to itself SQLite does that in the COMMIT which makes the log too long, and everybody who
writes waits for it. Here a thread with a connection of its own does it, once a second while there
is something to do; the more often, the more often the same pages are written. The log can only
start over when all of it has been folded in; a writer that never rests stays ahead of the thread,
so when the log has grown long the writer folds in what little is left, once, within its turn.
Whoever folds in the last of it has to wait until the disk holds all that was folded in before, so
the thread first goes on until it has been that one itself.
"""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import structlog

from masthead.storage.sqlite.connection import connect

log = structlog.get_logger()

EVERY_SECONDS = 1.0
LONG_LOG = 32_000
"""Pages: 128 MB."""
MOST_FOLDS = 8
"""One after the other; by then a writer that still stays ahead will do so for ever."""

FOLD = "PRAGMA wal_checkpoint(PASSIVE)"
"""Waits for nobody: neither readers nor the writer notice."""


def fold(connection: sqlite3.Connection) -> int:
    """Returns how many pages the log had."""
    _, pages, _ = connection.execute(FOLD).fetchone()
    return int(pages)


def catch_up(connection: sqlite3.Connection, pages: int) -> int:
    """Folds again after a fold. Each time there is only what was written during the one before, and
    the first one that nobody writes beside waits for the disk; after that there is next to nothing
    to wait for."""
    for _ in range(MOST_FOLDS):
        before, pages = pages, fold(connection)
        if pages <= before:
            break
    return pages


class Checkpoints:
    def __init__(self, path: Path) -> None:
        # Right away, not when it is first needed: another file may stand there by then, or none.
        self._connection = connect(path, busy_seconds=0, query_only=False)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-checkpoints")
        self._timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Future[None] | None = None
        self.is_log_long = False

    def after_commit(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(EVERY_SECONDS, self._start)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._running is not None:
            await self._running
        self._thread.shutdown()
        self._connection.close()

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        self._running = loop.run_in_executor(self._thread, self._fold)
        self._running.add_done_callback(self._done)

    def _done(self, _: asyncio.Future[None]) -> None:
        self._timer = None

    def _fold(self) -> None:
        try:
            pages = fold(self._connection)
            if pages > LONG_LOG:
                pages = catch_up(self._connection, pages)
        except sqlite3.Error:
            # Nothing is lost, the log holds it; a disk that is broken is the writer's to report.
            log.warning("checkpoint.failed", exc_info=True)
            return
        self.is_log_long = pages > LONG_LOG
