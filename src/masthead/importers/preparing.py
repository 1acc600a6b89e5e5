"""Makes posts ready away from the event loop: in a thread for small exports, and for large ones in
processes of their own, because sanitizing and converting is most of an import's work."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Final

from masthead.importers.content import Prepared, prepare
from masthead.importers.source import SourcePost

WORTH_A_PROCESS: Final = 400
"""Posts. Below, a process of its own would be ready when the work is done."""
WORTH_MORE: Final = 3_000
MOST_PROCESSES: Final = 4
"""And one core is left to the process that reads and writes."""

MOST_TAGS: Final = 200_000
MOST_PICTURES: Final = 10_000
"""Of one text; a long book has a tenth of either."""
_PICTURE: Final = re.compile(r"<img\b", re.IGNORECASE)


class Preparing:
    def __init__(self, site_url: str, expected_posts: int | None) -> None:
        self._site_url = site_url
        self._processes = _processes(expected_posts)
        self._pool: ProcessPoolExecutor | None = None
        self._start: Future[list[Prepared | str]] | None = None

    async def prepare(self, posts: Sequence[SourcePost]) -> list[Prepared | str]:
        """In the order of the posts; a text says why one could not be prepared."""
        if not posts:
            return []
        pool = self._started_pool()
        if pool is not None:
            with suppress(BrokenProcessPool):
                job = pool.submit(prepare_all, posts, self._site_url)
                return await asyncio.wrap_future(job)
            # Somebody ended one of them, and the others with it.
            self._processes = 0
        return await asyncio.to_thread(prepare_all, posts, self._site_url)

    def _started_pool(self) -> ProcessPoolExecutor | None:
        """None while a thread is quicker, because the processes are still starting."""
        if not self._processes:
            return None
        if self._pool is None:
            # Not forked: this process has threads, and they may hold locks.
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._processes, mp_context=spawn, initializer=_begin)
            self._start = self._pool.submit(prepare_all, [], "")
        assert self._start is not None
        return self._pool if self._start.done() else None

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _processes(expected_posts: int | None) -> int:
    if expected_posts is None or expected_posts >= WORTH_MORE:
        return max(1, min((os.cpu_count() or 1) - 1, MOST_PROCESSES))
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
    if post.html.count("<") > MOST_TAGS or len(_PICTURE.findall(post.html)) > MOST_PICTURES:
        return f"Its text has more than {MOST_TAGS:,} tags or {MOST_PICTURES:,} pictures."
    try:
        return prepare(post, site_url)
    # One of the service's outermost edges, an importer's row: one post that can't be read is
    # reported, and all the others come over.
    except Exception as error:
        return f"Its text can't be read ({type(error).__name__})."
