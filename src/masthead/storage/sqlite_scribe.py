"""The process that writes batches, as the service sees it.

In the service's own process a thread that writes and the event loop take the interpreter's lock
from each other at every statement, and each time the one or the other stands still. With a process
for it both can go on; it is worth its memory only where much is written.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from typing import cast

import structlog

from masthead.errors import Unavailable
from masthead.storage import scribe_process
from masthead.storage.cancelling import completed
from masthead.storage.database import Overtaken
from masthead.storage.scribe_process import DONE, OVERTAKEN, File, Order, packed, unpacked
from masthead.storage.sqlite_connection import WRITER_SETTINGS

log = structlog.get_logger()

MANY_BATCHES, WITHIN_SECONDS = 100, 3.0
"""So many in so short a time are worth a process."""
REST_SECONDS = 60.0
"""Without a batch it is let go."""
END_SECONDS = 10.0
SETTINGS = (
    *WRITER_SETTINGS,
    # Less than others have: SQLite goes through all of it at most commits.
    "PRAGMA cache_size = -12288",
)


class Scribes:
    """Nobody as long as little is written, else one."""

    def __init__(self, file: File, patience_seconds: float) -> None:
        self._file = file
        self._patience_seconds = patience_seconds
        self._batches: deque[float] = deque(maxlen=MANY_BATCHES)
        """When they came."""
        self._timer: asyncio.TimerHandle | None = None
        self.at_work: Scribe | None = None
        self.hiring: asyncio.Task[None] | None = None

    def write(self, orders: Sequence[Order], after: str) -> asyncio.Future[None] | None:
        """None: somebody else has to do it. Otherwise as `Scribe.write`."""
        self._batches.append(asyncio.get_running_loop().time())
        scribe = self.at_work
        if scribe is None or not scribe.is_alive:
            if self.hiring is None and self._are_many():
                self.hiring = asyncio.create_task(self.hire())
            return None
        try:
            return scribe.write(orders, after)
        except ValueError:
            return None

    async def hire(self) -> None:
        try:
            self.at_work = await Scribe.start(self._file, self._patience_seconds)
            self._look_again()
        except (OSError, Unavailable):
            # It goes on as it did before.
            log.warning("writer.no_process", exc_info=True)
        finally:
            self.hiring = None

    async def close(self) -> None:
        if self.hiring is not None:
            await asyncio.shield(self.hiring)
        if self._timer is not None:
            self._timer.cancel()
        if self.at_work is not None:
            await self.at_work.close()

    def _are_many(self) -> bool:
        is_full = len(self._batches) == MANY_BATCHES
        return is_full and self._batches[-1] - self._batches[0] < WITHIN_SECONDS

    def _look_again(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(REST_SECONDS, self._let_go_if_idle)

    def _let_go_if_idle(self) -> None:
        scribe = self.at_work
        if scribe is None or not scribe.is_alive:
            return
        last = self._batches[-1] if self._batches else 0.0
        if asyncio.get_running_loop().time() - last < REST_SECONDS:
            self._look_again()
        else:
            self.at_work = None
            scribe.let_go()


class Scribe(asyncio.Protocol):
    """Does one thing after the other."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._data = bytearray()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @classmethod
    async def start(cls, file: File, patience_seconds: float) -> Scribe:
        """Raises OSError or Unavailable."""
        scribe = cls()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                await scribe._connect(ours, theirs)
            except BaseException:
                ours.close()
                raise
        try:
            await scribe._ask((tuple(file), SETTINGS, patience_seconds))
        except BaseException:
            await scribe.close()
            raise
        return scribe

    async def _connect(self, ours: socket.socket, theirs: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._process = await completed(loop.run_in_executor(None, _spawn, theirs))
        await loop.create_connection(lambda: self, sock=ours)

    @property
    def is_alive(self) -> bool:
        return self._transport is not None

    def write(self, orders: Sequence[Order], after: str = "") -> asyncio.Future[None]:
        """Done once it is durable; `after` is run then, whatever becomes of it. Fails with
        Overtaken, or with Unavailable: then it may have been written or not. Raises ValueError for
        values that can't be sent."""
        return self._ask((orders, after))

    def let_go(self) -> None:
        """It ends when it has done what it was told."""
        if self._transport is not None:
            self._transport.close()

    async def close(self) -> None:
        self.let_go()
        # Others may wait for the same.
        await asyncio.shield(self._ended)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods without being of the class.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (found := unpacked(self._data)) is not None:
            outcome, length = found
            del self._data[:length]
            self._take(outcome)

    def _take(self, outcome: str) -> None:
        if outcome == DONE:
            self._answer(None)
        elif outcome == OVERTAKEN:
            self._answer(Overtaken())
        else:
            log.warning("writer.process_failed", reason=outcome)
            self._answer(Unavailable())

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None
        while self._waiting:
            self._answer(Unavailable())
        assert self._process is not None
        # The kernel keeps what is left of it until somebody asks how it ended.
        waiting = asyncio.get_running_loop().run_in_executor(None, self._process.wait, END_SECONDS)
        waiting.add_done_callback(self._note_end)

    def _note_end(self, waiting: asyncio.Future[int]) -> None:
        # One that does not end is the operating system's affair; it has nothing left to do.
        self._ended.set_result(-1 if waiting.exception() else waiting.result())

    def _ask(self, message: object) -> asyncio.Future[None]:
        content = packed(message)
        asked = asyncio.get_running_loop().create_future()
        self._waiting.append(asked)
        if self._transport is None:
            self._answer(Unavailable())
        else:
            self._transport.write(content)
        return asked

    def _answer(self, failure: Exception | None) -> None:
        """To who has waited longest."""
        asked = self._waiting.popleft()
        if asked.done():
            return
        if failure is None:
            asked.set_result(None)
        else:
            asked.set_exception(failure)


def _spawn(theirs: socket.socket) -> subprocess.Popen[bytes]:
    # Isolated and without site packages: what it needs is in Python's own library.
    command = [sys.executable, "-I", "-S", scribe_process.__file__, str(theirs.fileno())]
    # Without what stands in the environment: it needs no secret of the service's.
    return subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env={}
    )
