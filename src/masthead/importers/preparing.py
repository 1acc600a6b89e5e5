"""Makes posts ready away from the event loop: in a thread for small exports, and for large ones in
processes of their own, because sanitizing and converting is most of an import's work."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Final

from masthead.importers.content import Prepared, prepare
from masthead.importers.source import SourcePost

WORTH_A_PROCESS: Final = 400
"""Posts. Below, a process of its own would be ready when the work is done."""
WORTH_MORE: Final = 3_000
MOST_PROCESSES: Final = 4


class Preparing:
    def __init__(self, site_url: str, expected_posts: int | None) -> None:
        self._site_url = site_url
        self._pool: ProcessPoolExecutor | None = None
        self._is_warm: Future[list[Prepared | str]] | None = None
        processes = _processes(expected_posts)
        if processes:
            # Not forked: this process has threads, and they may hold locks.
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(processes, mp_context=spawn, initializer=_begin)
            self._is_warm = self._pool.submit(prepare_all, [], "")

    async def prepare(self, posts: Sequence[SourcePost]) -> list[Prepared | str]:
        """In the order of the posts; a text says why one could not be prepared."""
        if not posts:
            return []
        # Until the processes have started, a thread is quicker.
        if self._pool is None or self._is_warm is None or not self._is_warm.done():
            return await asyncio.to_thread(prepare_all, posts, self._site_url)
        try:
            job = self._pool.submit(prepare_all, posts, self._site_url)
            return await asyncio.wrap_future(job)
        except BrokenProcessPool:
            # Somebody ended one of them, and the others with it.
            self._pool = None
            return await asyncio.to_thread(prepare_all, posts, self._site_url)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _processes(expected_posts: int | None) -> int:
    if expected_posts is None or expected_posts >= WORTH_MORE:
        return min(os.cpu_count() or 1, MOST_PROCESSES)
    return 1 if expected_posts >= WORTH_A_PROCESS else 0


def _begin() -> None:
    """In a new process: whoever interrupts the import speaks to its parent, and when that one is
    killed, nobody is left to end this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def prepare_all(posts: Sequence[SourcePost], site_url: str) -> list[Prepared | str]:
    return [_prepared(post, site_url) for post in posts]


def _prepared(post: SourcePost, site_url: str) -> Prepared | str:
    try:
        return prepare(post, site_url)
    # One of the service's outermost edges, an importer's row: one post that can't be read is
    # reported, and all the others come over.
    except Exception as error:
        return f"Its text can't be read ({type(error).__name__})."
