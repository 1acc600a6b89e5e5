"""Makes posts ready away from the event loop: in a thread for small exports, and for large ones in
processes of their own, because sanitizing and converting is most of an import's work.

What does the work (`prepare_process`) is loaded where it is done: where that is another process,
this one can load the database meanwhile.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, Literal

from masthead.importers.prepared import Prepared
from masthead.importers.source import SourcePost

WORTH_A_PROCESS: Final = 400
"""Posts. Below, a process of its own would be ready when the work is done."""
WORTH_MORE: Final = 3_000
MOST_PROCESSES: Final = 4
"""And one core is left to the process that reads and writes."""
BYTES_OF_A_POST: Final = 4_000
"""In an export, at the least that is usual."""


class Preparing:
    def __init__(
        self, expected_posts: int | None, *, method: Literal["fork", "spawn"] = "spawn"
    ) -> None:
        """A process that has threads does not fork: they may hold locks."""
        self._processes = _processes(expected_posts)
        self._method = method
        self._pool: ProcessPoolExecutor | None = None
        self._start: Future[list[Prepared | str]] | None = None

    def start(self) -> None:
        """Begins with the processes, if there are to be any, so that they are ready when asked."""
        if self._processes and self._pool is None:
            context = multiprocessing.get_context(self._method)
            self._pool = ProcessPoolExecutor(
                self._processes, mp_context=context, initializer=_begin
            )
            self._start = self._pool.submit(_prepare_all, [], "")

    async def prepare(self, posts: Sequence[SourcePost], site_url: str) -> list[Prepared | str]:
        """As `prepare_all`. `site_url` is the old address, which relative ones are relative to."""
        if not posts:
            return []
        self.start()
        if self._pool is not None and self._start is not None and self._start.done():
            with suppress(BrokenProcessPool):
                return await asyncio.wrap_future(self._pool.submit(_prepare_all, posts, site_url))
            # Somebody ended one of them, and the others with it.
            self._processes, self._start = 0, None
        # Also while the processes are still starting: a thread is quicker then.
        return await asyncio.to_thread(_prepare_all, posts, site_url)

    def close(self) -> None:
        """The processes end by themselves; nobody has to wait for that."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def prepared_early(path: Path) -> Iterator[Preparing | None]:
    """Started by the size of the file, long before anybody knows how many posts are in it, and
    before this process has threads. None where the size does not tell, or one core has to do
    everything."""
    size = 0
    # What is wrong with the file is told when it is opened.
    with suppress(OSError):
        size = path.stat().st_size if path.is_file() else 0
    posts = size // BYTES_OF_A_POST
    if posts < WORTH_A_PROCESS or os.cpu_count() == 1:
        yield None
        return
    with closing(Preparing(posts, method=_quickest_method())) as preparing:
        preparing.start()
        yield preparing


def _quickest_method() -> Literal["fork", "spawn"]:
    # Elsewhere a system's own libraries may have threads that Python doesn't know of.
    is_alone = sys.platform == "linux" and threading.active_count() == 1
    return "fork" if is_alone else "spawn"


def _processes(expected_posts: int | None) -> int:
    if expected_posts is None or expected_posts >= WORTH_MORE:
        return max(1, min((os.cpu_count() or 1) - 1, MOST_PROCESSES))
    return 1 if expected_posts >= WORTH_A_PROCESS else 0


def _begin() -> None:
    from masthead.importers.prepare_process import begin

    begin()


def _prepare_all(posts: Sequence[SourcePost], site_url: str) -> list[Prepared | str]:
    from masthead.importers.prepare_process import prepare_all

    return prepare_all(posts, site_url)
