"""A process for work that may take far too long: one expression on hostile text can take minutes,
and no thread can be stopped. The kernel ends the process where it uses too much of the processor.
"""

from __future__ import annotations

import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_START_SECONDS: Final = 10.0
_WAIT_SECONDS: Final = 2.0
"""For the work of others."""
_ANSWER_SECONDS: Final = 5.0
"""The process ends itself after its seconds of the processor, which a busy machine gives late."""

MAX_MEMORY: Final = 1024 * 1024 * 1024
"""Bytes of the process."""


class Unavailable(Exception):
    """The process can't be started, or others use it for too long."""


class TookTooLong(Exception):
    """The process was ended in the middle of its work, or ended itself."""


Answer = Callable[..., Any]


def serve(connection: Connection, answer: Answer) -> None:
    """In the process: answers questions until the other end is closed."""
    # The parent handles Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Ends the process also in the middle of an expression.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, most))
    connection.send("ready")
    while True:
        try:
            connection.send(answer(*connection.recv()))
        except (EOFError, OSError):
            return


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """In the process: more seconds of the processor than these end it."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class LimitedProcess:
    """One question at a time, for all threads. Starts with the first one, and again after one that
    took too long."""

    def __init__(
        self,
        answer: Answer,
        *,
        wait_seconds: float = _WAIT_SECONDS,
        answer_seconds: float = _ANSWER_SECONDS,
    ) -> None:
        """`answer` runs in the process, so it is a function of a module."""
        self._to_answer = answer
        self._wait_seconds = wait_seconds
        self._answer_seconds = answer_seconds
        self._lock = threading.Lock()
        self._running: tuple[BaseProcess, Connection] | None = None

    def ask(self, *question: object) -> Any:
        """Blocks, so never call it in the event loop. Raises Unavailable and TookTooLong."""
        if not self._lock.acquire(timeout=self._wait_seconds):
            raise Unavailable
        try:
            return self._answer(self._connection(), question)
        finally:
            self._lock.release()

    def _answer(self, connection: Connection, question: tuple[object, ...]) -> Any:
        try:
            connection.send(question)
            if connection.poll(self._answer_seconds):
                return connection.recv()
        except (EOFError, OSError):
            pass  # It took too long, and the process has ended.
        self._end()
        raise TookTooLong

    def _connection(self) -> Connection:
        if self._running is not None and not self._running[0].is_alive():
            self._end()
        if self._running is None:
            self._start()
        assert self._running is not None
        return self._running[1]

    def _start(self) -> None:
        # Imported here: most commands start no process.
        import multiprocessing

        # Spawned, because a fork would copy the locks of this process's threads.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, self._to_answer), daemon=True)
        try:
            process.start()
        except OSError as error:
            ours.close()
            raise Unavailable from error
        finally:
            # Otherwise this end would stay open after the process has ended.
            theirs.close()
        self._running = (process, ours)
        try:
            if ours.poll(_START_SECONDS):
                ours.recv()
                return
        except (EOFError, OSError):
            pass
        self._end()
        raise Unavailable

    def _end(self) -> None:
        assert self._running is not None
        process, connection = self._running
        self._running = None
        connection.close()
        process.kill()
        process.join()
        process.close()
