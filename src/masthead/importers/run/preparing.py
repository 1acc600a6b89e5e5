"""Prepares posts away from the event loop: sanitizing and converting is most of an import's work.

A small export is prepared in a thread, a large one in a pool of processes.
"""

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

from masthead.importers.html.content import Prepared, prepare
from masthead.importers.source import SourcePost

WORTH_A_PROCESS: Final = 400
"""Posts. With fewer, the work is done before a process has started."""
WORTH_MORE: Final = 3_000
MOST_PROCESSES: Final = 4
"""And one core is left to the process that reads and writes."""
MOST_TAGS: Final = 200_000
MOST_REFERENCES: Final = 500_000
MOST_PICTURES: Final = 10_000
"""Of one text; a long book has a tenth of each."""
_PICTURE: Final = re.compile(r"<img\b", re.IGNORECASE)


class Preparing:
    def __init__(self, expected_posts: int | None) -> None:
        self._processes = _process_count(expected_posts)
        self._pool: ProcessPoolExecutor | None = None
        self._started: Future[list[Prepared | str]] | None = None

    async def prepare(self, posts: Sequence[SourcePost], site_url: str) -> list[Prepared | str]:
        """As `prepare_all`. `site_url` is the old address, which relative ones are relative to."""
        if not posts:
            return []
        if self._processes and self._pool is None:
            self._start()
        if self._pool is not None and self._started is not None and self._started.done():
            with suppress(BrokenProcessPool):
                return await asyncio.wrap_future(self._pool.submit(prepare_all, posts, site_url))
            # A process was killed, which ends the pool.
            self._started = None
        # Also while the processes are starting: a thread is quicker then.
        return await asyncio.to_thread(prepare_all, posts, site_url)

    def _start(self) -> None:
        # Spawned, because this process has threads: a fork would copy the locks they hold.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(self._processes, mp_context=context, initializer=_begin)
        self._started = self._pool.submit(prepare_all, [], "")

    def close(self) -> None:
        """Does not wait for the processes, which end by themselves."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _process_count(expected_posts: int | None) -> int:
    if expected_posts is None or expected_posts >= WORTH_MORE:
        return max(1, min((os.cpu_count() or 1) - 1, MOST_PROCESSES))
    return 1 if expected_posts >= WORTH_A_PROCESS else 0


def _begin() -> None:
    """In a new process: it ends with its parent, which also handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def prepare_all(posts: Sequence[SourcePost], site_url: str) -> list[Prepared | str]:
    """In the order of the posts; a text says why one could not be prepared."""
    return [_prepared(post, site_url) for post in posts]


def _prepared(post: SourcePost, site_url: str) -> Prepared | str:
    if (
        post.html.count("<") > MOST_TAGS
        or post.html.count("&") > MOST_REFERENCES
        or len(_PICTURE.findall(post.html)) > MOST_PICTURES
    ):
        return (
            f"Its text has more than {MOST_TAGS:,} tags, {MOST_REFERENCES:,} references such as "
            f"&amp; or {MOST_PICTURES:,} pictures."
        )
    try:
        return prepare(post, site_url)
    # One of the service's outermost edges, an importer's row: one post that can't be read is
    # reported, and all the others come over.
    except Exception as error:
        return f"Its text can't be read ({type(error).__name__})."
