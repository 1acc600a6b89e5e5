"""Prepares posts outside of the event loop: sanitizing and converting take most of the time.

A small export is prepared in a thread, a large one in a process pool.
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

from masthead.base.languages.words import staff_words
from masthead.content.html.sanitizer import TooCostly
from masthead.faces.importers.convert.content import Prepared, prepare
from masthead.faces.importers.source import SourcePost

POSTS_FOR_ONE_PROCESS: Final = 400
"""With fewer, a thread is done before a process has started."""
POSTS_FOR_ALL_PROCESSES: Final = 3_000
MAX_PROCESSES: Final = 4
"""One core is left to the process that reads and writes."""
MAX_TAGS: Final = 200_000
MAX_REFERENCES: Final = 500_000
MAX_PICTURES: Final = 10_000
"""Limits of one text; a long book has a tenth of each."""
_PICTURE: Final = re.compile(r"<img\b", re.IGNORECASE)


class Preparing:
    def __init__(self, expected_posts: int | None) -> None:
        self._processes = _process_count(expected_posts)
        self._pool: ProcessPoolExecutor | None = None
        self._started: Future[list[Prepared | str]] | None = None

    async def prepare(self, posts: Sequence[SourcePost], site_url: str) -> list[Prepared | str]:
        """As `prepare_all`. `site_url` is the base of relative addresses."""
        if not posts:
            return []
        if self._processes and self._pool is None:
            self._start()
        if self._pool is not None and self._started is not None and self._started.done():
            with suppress(BrokenProcessPool):
                return await asyncio.wrap_future(self._pool.submit(prepare_all, posts, site_url))
            # A process was killed, which ends the pool.
            self._started = None
        # Also while the processes are starting.
        return await asyncio.to_thread(prepare_all, posts, site_url)

    def _start(self) -> None:
        # Spawned, because a fork would copy the locks of this process's threads.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(self._processes, mp_context=context, initializer=_set_up)
        self._started = self._pool.submit(prepare_all, [], "")

    def close(self) -> None:
        """Does not wait for the processes to end."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _process_count(expected_posts: int | None) -> int:
    if expected_posts is None or expected_posts >= POSTS_FOR_ALL_PROCESSES:
        return max(1, min((os.cpu_count() or 1) - 1, MAX_PROCESSES))
    return 1 if expected_posts >= POSTS_FOR_ONE_PROCESS else 0


def _set_up() -> None:
    """Runs in a new process, which ends with its parent. The parent handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def prepare_all(posts: Sequence[SourcePost], site_url: str) -> list[Prepared | str]:
    """In the order of the posts; a text is the reason why a post could not be prepared."""
    return [_prepared(post, site_url) for post in posts]


def _prepared(post: SourcePost, site_url: str) -> Prepared | str:
    if (
        post.html.count("<") > MAX_TAGS
        or post.html.count("&") > MAX_REFERENCES
        or len(_PICTURE.findall(post.html)) > MAX_PICTURES
    ):
        return staff_words(
            "Its text has more than %(tags)s tags, %(references)s references such as &amp; or "
            "%(pictures)s pictures.",
            tags=f"{MAX_TAGS:,}",
            references=f"{MAX_REFERENCES:,}",
            pictures=f"{MAX_PICTURES:,}",
        )
    try:
        return prepare(post, site_url)
    except TooCostly as error:
        return str(error)
    # One of the three broad edges, an importer's row: one post that fails is reported, and the
    # others are imported.
    except Exception as error:
        return staff_words("Its text can't be read (%(error)s).", error=type(error).__name__)
