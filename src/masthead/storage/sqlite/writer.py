"""The one writer of an SQLite file, with group commit.

Transactions take turns, first come first served. Each is a savepoint inside one SQLite transaction
that stays open while others are ready to follow; then one COMMIT, in a thread because it waits for
the disk, makes all of them durable, and only then is any of them acknowledged. So one `fsync` is
shared by everybody who writes at the same moment.

All who wait are called at once, and most are through within one round of the event loop; so the
loop has its other work to do while they are being committed, instead of before.

Constraints must not be DEFERRABLE: they would fail at the shared COMMIT, and take the others along.
"""

from __future__ import annotations

import asyncio
import math
import random
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from masthead.errors import Unavailable
from masthead.storage.cancelling import completed
from masthead.storage.database import Row, Statement
from masthead.storage.sqlite.checkpoints import FOLD, Checkpoints
from masthead.storage.sqlite.connection import BUSY, code_of, connect, translated
from masthead.storage.sqlite.deferred import Deferred
from masthead.storage.sqlite.transaction import INLINE_ROWS, SqliteTransaction

MAX_BATCH = 64
MIN_BATCH = 8
"""So many may join whoever opens a batch; more only if they wait already. Those who come later are
for the next one: the event loop prepares it while this one is being committed."""
_STEPS_PER_TICK = 25_000

Acknowledgement = asyncio.Future[BaseException | None]
"""Done once the commit is; its result is what made the commit fail."""
Result = TypeVar("Result")


class Writer:
    def __init__(self, path: Path, *, patience_seconds: float) -> None:
        # busy_seconds=0: a lock of another process is waited for by asking again, never by
        # blocking the event loop.
        self.connection = connect(path, busy_seconds=0, query_only=False)
        self.connection.execute("PRAGMA wal_autocheckpoint = 0")
        self.connection.set_progress_handler(self._is_late, _STEPS_PER_TICK)
        self._checkpoints = Checkpoints(path)
        self.patience_seconds = patience_seconds
        self._read_deadline = math.inf
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._called: deque[asyncio.Future[None]] = deque()
        """Those who may try their turn as soon as the event loop lets them, in their order."""
        self._is_taken = False
        self._owner: asyncio.Task[Any] | None = None
        self._finished: list[Acknowledgement] = []
        self._room = MIN_BATCH
        self._turns = 0
        """Of the batch, also of those who failed: else these could keep it open for ever."""
        self._deferred = Deferred()
        self._early = Deferred()
        """Of earlier ones in the batch, but written within the savepoint of the present one."""
        self._closing_soon: asyncio.Handle | None = None

    def transaction(self) -> SqliteTransaction:
        return SqliteTransaction(self)

    async def ping(self, seconds: float) -> None:
        """Returns once a transaction could be made; readers don't notice another writer's lock."""
        try:
            async with asyncio.timeout(seconds), self.transaction():
                pass
        except TimeoutError as error:
            raise Unavailable from error

    async def close(self) -> None:
        with suppress(Unavailable):
            async with self.transaction():
                pass  # everyone before has been acknowledged once this one is
        if self._closing_soon is not None:
            self._closing_soon.cancel()  # there is nothing in the batch
        try:
            await self._checkpoints.close()
        finally:
            self._thread.shutdown()
            self.connection.close()

    async def take_turn(self) -> None:
        task = asyncio.current_task()
        if task is not None and task is self._owner:
            raise RuntimeError("a transaction inside a transaction would wait for itself")
        # Nobody overtakes those who were called and have not come round yet.
        if self._is_taken or self._called or self._waiting:
            await self._wait_for_turn()
        self._is_taken = True
        self._turns += 1
        self._owner = task

    async def begin(self, deadline: float) -> None:
        while not self.connection.in_transaction:
            try:
                self.connection.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                if code_of(error) not in BUSY or time.monotonic() > deadline:
                    raise translated(error) from error
                # Another process writes; uneven steps, so that two never keep missing each other.
                await asyncio.sleep(random.uniform(0.0005, 0.004))  # noqa: S311
        self.connection.execute("SAVEPOINT member")

    def finish(self, deferred: Deferred) -> Acknowledgement:
        """Makes the savepoint part of the batch; the future says how its commit went."""
        self.connection.execute("RELEASE member")
        self._early.take()
        if deferred:
            self._deferred.add_all(deferred)
        acknowledged = asyncio.get_running_loop().create_future()
        self._finished.append(acknowledged)
        return acknowledged

    def undo(self) -> None:
        # A full disk or an I/O error rolls back everything, also what others have done before.
        if not self.connection.in_transaction:
            self._lose_batch(Unavailable())
            return
        try:
            self.connection.execute("ROLLBACK TO member")
            self.connection.execute("RELEASE member")
        except sqlite3.Error as error:
            self._lose_batch(error)
            return
        self._deferred.add_all(self._early.take())

    def pass_on(self) -> None:
        self._owner = None
        self._is_taken = False
        self._go_on()

    def read(self, statement: Statement, values: Sequence[object], seconds: float) -> list[Row]:
        self._read_deadline = time.monotonic() + seconds
        try:
            return self.connection.execute(statement.text, values).fetchall()
        finally:
            self._read_deadline = math.inf

    def is_deferred(self, text: str) -> bool:
        """Whether a statement might meet rows of earlier ones in the batch that are not written."""
        return self._deferred.is_asked_for_by(text)

    async def write_deferred(self, own: Deferred) -> None:
        earlier = self._deferred.take()
        self._early.add_all(earlier)
        for deferred in (earlier, own.take()):
            await self._run_deferred(deferred)

    async def _run_deferred(self, deferred: Deferred) -> None:
        if deferred.count > INLINE_ROWS:
            await self.in_thread(partial(deferred.run, self.connection))
        else:
            deferred.run(self.connection)

    async def in_thread(self, work: Callable[[], Result]) -> Result:
        # Until the statement ends the connection belongs to the thread. A cancelled one is not
        # interrupted either: SQLite answers that by rolling back the whole batch.
        return await completed(asyncio.get_running_loop().run_in_executor(self._thread, work))

    async def _wait_for_turn(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
            while self._is_taken:
                # Somebody before is still at it.
                turn = self._again(turn)
                await turn
        except asyncio.CancelledError:
            self._forget(turn)
            raise
        self._called.remove(turn)

    def _again(self, turn: asyncio.Future[None]) -> asyncio.Future[None]:
        """Behind those who were called before, before those who were not."""
        again = asyncio.get_running_loop().create_future()
        self._called[self._called.index(turn)] = again
        return again

    def _forget(self, turn: asyncio.Future[None]) -> None:
        if turn in self._called:
            self._called.remove(turn)
            if not self._is_taken:
                self._go_on()
        else:
            self._waiting.remove(turn)

    def _go_on(self) -> None:
        if self._turns >= self._room:
            self._commit()
        elif not self._call() and self._closing_soon is None:
            # Those whom this round of the event loop has still to wake may join before the commit.
            self._closing_soon = asyncio.get_running_loop().call_soon(self._close_batch)

    def _call(self) -> bool:
        """Lets those try for whom there is room; whether there are any."""
        room = self._room - self._turns
        while self._waiting and len(self._called) < room:
            self._called.append(self._waiting.popleft())
        for turn in self._called:
            if not turn.done():
                turn.set_result(None)
        return bool(self._called)

    def _open_batch(self) -> None:
        waiting = len(self._called) + len(self._waiting)
        self._room = min(max(waiting, MIN_BATCH), MAX_BATCH)
        self._turns = 0
        self._call()

    def _close_batch(self) -> None:
        self._closing_soon = None
        if not self._is_taken:
            self._commit()

    def _commit(self) -> None:
        batch, self._finished = self._finished, []
        if not batch:
            self._roll_back()
            self._open_batch()
            return
        self._is_taken = True
        loop = asyncio.get_running_loop()
        commit = loop.run_in_executor(self._thread, self._write, self._deferred.take())
        commit.add_done_callback(partial(self._committed, batch))

    def _write(self, deferred: Deferred) -> None:
        deferred.run(self.connection)
        self.connection.execute("COMMIT")
        if self._checkpoints.is_log_long:
            self._checkpoints.is_log_long = False
            # It is committed already, whatever becomes of this.
            with suppress(sqlite3.Error):
                self.connection.execute(FOLD).fetchone()

    def _committed(self, batch: list[Acknowledgement], commit: asyncio.Future[None]) -> None:
        failure = commit.exception()
        if failure is None:
            self._checkpoints.after_commit()
        else:
            self._roll_back()
            # First, so that nobody goes on from what these have left in memory.
            _acknowledge(batch, failure)
        self._is_taken = False
        self._open_batch()
        # While those are being called who want to write, there is time to answer these.
        _acknowledge(batch, failure)

    def _lose_batch(self, failure: Exception) -> None:
        self._roll_back()
        self._deferred.take()
        self._early.take()
        batch, self._finished = self._finished, []
        _acknowledge(batch, failure)

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            # Only a broken disk makes this fail, and then the next BEGIN says so.
            with suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")

    def _is_late(self) -> bool:
        return time.monotonic() > self._read_deadline


def _acknowledge(batch: list[Acknowledgement], failure: BaseException | None) -> None:
    for acknowledged in batch:
        if not acknowledged.done():  # else nobody waits any more
            acknowledged.set_result(failure)
