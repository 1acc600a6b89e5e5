"""Starts the process that reads code: at the first block, and after one that took too long."""

from __future__ import annotations

import multiprocessing
import threading
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final

from masthead.reader.lexing import MAX_SECONDS, Lexed, serve

_START_SECONDS: Final = 10.0
_WAIT_SECONDS: Final = 2.0
"""For the blocks of other pages."""
_ANSWER_SECONDS: Final = 5.0
"""The process ends itself after `MAX_SECONDS` of the processor, which a busy machine gives late."""


class Unavailable(Exception):
    """The process can't be started, or others use it for too long."""


class LexingProcess:
    """One block at a time, for all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: tuple[BaseProcess, Connection] | None = None

    def lexed(self, language: str, code: str) -> Lexed:
        """Blocks, so never call it in the event loop. Raises Unavailable."""
        if not self._lock.acquire(timeout=_WAIT_SECONDS):
            raise Unavailable
        try:
            return self._answer(self._connection(), language, code)
        finally:
            self._lock.release()

    def _answer(self, connection: Connection, language: str, code: str) -> Lexed:
        try:
            connection.send((language, code))
            if connection.poll(_ANSWER_SECONDS):
                answer: Lexed = connection.recv()
                return answer
        except (EOFError, OSError):
            pass  # It took too long, and the process has ended.
        self._end()
        return Lexed(None, MAX_SECONDS)

    def _connection(self) -> Connection:
        if self._running is not None and not self._running[0].is_alive():
            self._end()
        if self._running is None:
            self._start()
        assert self._running is not None
        return self._running[1]

    def _start(self) -> None:
        # Spawned, because a fork would copy the locks of this process's threads.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs,), daemon=True)
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
