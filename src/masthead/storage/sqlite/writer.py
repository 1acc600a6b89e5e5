"""The one writer of an SQLite file, with group commit. It is a machine of three states:

    IDLE        No SQLite transaction is open and nothing waits.
    GATHERING   Transactions take turns in the order they came. Each is a savepoint of one SQLite
                transaction, the batch.
    COMMITTING  A thread writes the deferred rows of the batch and commits it. New transactions
                wait in the queue.

    IDLE       -> GATHERING    a transaction begins
    GATHERING  -> COMMITTING   the batch is full, or no transaction is ready to join it
    GATHERING  -> the next     nothing is left to commit, because every transaction failed
    COMMITTING -> the next     the commit has ended
    the next:  GATHERING where transactions wait in the queue, else IDLE

One COMMIT, which waits for the disk once (`synchronous=FULL`), makes a whole batch durable, and
only then is any of its transactions acknowledged: an acknowledged write survives a power cut.

What a failure does:

- A statement fails, or a transaction's block raises or is cancelled: its savepoint is rolled back.
  The others of the batch go on.
- SQLite itself rolls back the batch, as it does on a full or broken disk: the transactions that had
  finished in it raise `Unavailable`, the present one raises its error. The next begins a new batch.
- The COMMIT or a deferred row fails: all transactions of the batch raise `Unavailable`, and nothing
  of them is stored.
- Another process keeps the lock longer than the time limit of a statement: the transaction that has
  its turn raises `Unavailable`.
- A task is cancelled while it waits for the commit: the commit goes on, for the others too.
- The process is killed or the power fails: the file holds the whole batch or nothing of it.

Constraints must not be DEFERRABLE: they would fail at the COMMIT, and with it the whole batch.
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
from enum import Enum, auto
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from masthead.errors import Unavailable
from masthead.storage.cancelling import completed
from masthead.storage.database import Row, Statement
from masthead.storage.sqlite.checkpoints import Checkpoints
from masthead.storage.sqlite.connection import BUSY, code_of, connect, translated
from masthead.storage.sqlite.deferred import Deferred
from masthead.storage.sqlite.transaction import INLINE_ROWS, SqliteTransaction

MAX_BATCH = 64
MIN_BATCH = 8
"""The transaction that opens a batch may be joined by so many, and by more only if they are in the
queue already. Later ones are for the next batch: the event loop prepares it while this one is being
committed."""
_STEPS_PER_TICK = 25_000

Commit = asyncio.Future[BaseException | None]
"""Done once the commit has ended; its result is what made the commit fail."""
Result = TypeVar("Result")


class State(Enum):
    IDLE = auto()
    GATHERING = auto()
    COMMITTING = auto()


class Writer:
    def __init__(self, path: Path, *, timeout_seconds: float) -> None:
        # busy_seconds=0: a lock of another process is waited for by asking again, never by
        # blocking the event loop.
        self.connection = connect(path, busy_seconds=0, query_only=False)
        self.connection.execute("PRAGMA wal_autocheckpoint = 0")
        self.connection.set_progress_handler(self._is_late, _STEPS_PER_TICK)
        self.timeout_seconds = timeout_seconds
        self.state = State.IDLE
        self._queue: deque[_Place] = deque()
        self._holder: asyncio.Task[Any] | None = None
        """The task whose turn it is."""
        self._turns = 0
        """Of the batch, with those that failed: else these could keep it open for ever."""
        self._room = 0
        """How many turns the batch may have."""
        self._commits: list[Commit] = []
        """Of the transactions that have finished in the batch."""
        self._deferred = Deferred()
        """Of the same transactions: rows to be written before the commit."""
        self._written_early = Deferred()
        """Those of them that were written in the savepoint of the present transaction, because it
        reads their tables. They wait again if it is rolled back."""
        self._closing: asyncio.Handle | None = None
        self._checkpoints = Checkpoints(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._read_deadline = math.inf

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
                pass  # all transactions before it have been acknowledged once this one is
        if self._closing is not None:
            self._closing.cancel()  # there is nothing in the batch
        try:
            await self._checkpoints.close()
        finally:
            self._thread.shutdown()
            self.connection.close()

    # What a transaction calls, in this order.

    async def begin(self) -> None:
        """Waits for the turn of the task and opens a savepoint."""
        deadline = time.monotonic() + self.timeout_seconds
        await self._take_turn()
        try:
            await self._open_savepoint(deadline)
        except BaseException:
            self.end_turn()
            raise

    def read(self, statement: Statement, values: Sequence[object], seconds: float) -> list[Row]:
        """Interrupted after so many seconds."""
        self._read_deadline = time.monotonic() + seconds
        try:
            return self.connection.execute(statement.text, values).fetchall()
        finally:
            self._read_deadline = math.inf

    async def in_thread(self, work: Callable[[], Result]) -> Result:
        # Until the statement ends the connection belongs to the thread. A cancelled one is not
        # interrupted either: SQLite answers that by rolling back the whole batch.
        return await completed(asyncio.get_running_loop().run_in_executor(self._thread, work))

    def has_deferred(self, statement: Statement) -> bool:
        """Whether rows that the statement might read or change wait for the commit."""
        return self._deferred.concerns(statement)

    async def write_deferred(self, own: Deferred) -> None:
        """Writes what waits, of the transactions before and then of the present one."""
        earlier = self._deferred.take()
        self._written_early.add_all(earlier)
        for deferred in (earlier, own.take()):
            if deferred.count > INLINE_ROWS:
                await self.in_thread(partial(deferred.run, self.connection))
            else:
                deferred.run(self.connection)

    def finish(self, deferred: Deferred) -> Commit:
        """Makes the savepoint part of the batch."""
        self.connection.execute("RELEASE member")
        self._written_early.take()
        self._deferred.add_all(deferred)
        commit = asyncio.get_running_loop().create_future()
        self._commits.append(commit)
        return commit

    def roll_back(self) -> None:
        """Undoes the savepoint. After a full disk or an I/O error there is none: SQLite has rolled
        back the batch."""
        if not self.connection.in_transaction:
            self._lose_batch(Unavailable())
            return
        try:
            self.connection.execute("ROLLBACK TO member")
            self.connection.execute("RELEASE member")
        except sqlite3.Error as error:
            self._lose_batch(error)
            return
        self._deferred.add_all(self._written_early.take())

    def end_turn(self) -> None:
        self._holder = None
        self._proceed()

    # Turns.

    async def _take_turn(self) -> None:
        task = asyncio.current_task()
        if task is not None and task is self._holder:
            raise RuntimeError("a transaction inside a transaction would wait for itself")
        if self._queue or not self._is_free():
            await self._wait_in_queue()
        if self.state is State.IDLE:
            self._open_batch()
        self._holder = task
        self._turns += 1

    def _is_free(self) -> bool:
        return self._holder is None and self.state is not State.COMMITTING

    async def _wait_in_queue(self) -> None:
        place = _Place()
        self._queue.append(place)
        try:
            await place.wait()
            while not (self._is_free() and self._queue[0] is place):
                await place.wait()
        except asyncio.CancelledError:
            self._queue.remove(place)
            self._proceed()
            raise
        self._queue.popleft()

    def _wake(self) -> None:
        """Wakes all that the batch has room for, not one after the other: most transactions end
        without waiting for anything, so all of them are through in one turn of the event loop, and
        it does its other work while they are being committed. One that finds another transaction
        at work waits again."""
        for place in islice(self._queue, self._room - self._turns):
            place.wake()

    # The batch.

    def _open_batch(self) -> None:
        self.state = State.GATHERING
        self._turns = 0
        self._room = min(max(len(self._queue), MIN_BATCH), MAX_BATCH)

    async def _open_savepoint(self, deadline: float) -> None:
        while not self.connection.in_transaction:
            try:
                self.connection.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                if code_of(error) not in BUSY or time.monotonic() > deadline:
                    raise translated(error) from error
                # Another process writes; uneven steps, so that two never keep missing each other.
                await asyncio.sleep(random.uniform(0.0005, 0.004))  # noqa: S311
        self.connection.execute("SAVEPOINT member")

    def _proceed(self) -> None:
        if self.state is not State.GATHERING or self._holder is not None:
            return
        if self._turns >= self._room:
            self._commit()
        elif self._queue:
            self._wake()
        elif self._closing is None:
            # Tasks that this turn of the event loop has still to run may join before the commit.
            self._closing = asyncio.get_running_loop().call_soon(self._close_batch)

    def _close_batch(self) -> None:
        self._closing = None
        if self.state is State.GATHERING and self._holder is None:
            self._commit()

    def _commit(self) -> None:
        commits, self._commits = self._commits, []
        if not commits:
            self._abandon()
            self._next_batch()
            return
        self.state = State.COMMITTING
        loop = asyncio.get_running_loop()
        written = loop.run_in_executor(self._thread, self._write, self._deferred.take())
        written.add_done_callback(partial(self._committed, commits))

    def _write(self, deferred: Deferred) -> None:
        deferred.run(self.connection)
        self.connection.execute("COMMIT")
        self._checkpoints.in_writer(self.connection)

    def _committed(self, commits: list[Commit], written: asyncio.Future[None]) -> None:
        failure = written.exception()
        if failure is not None:
            self._abandon()
            # First, so that the next transactions don't use what these have left in memory.
            _acknowledge(commits, failure)
            self._next_batch()
            return
        self._checkpoints.after_commit()
        self._next_batch()
        # Answered while the next batch is being committed.
        _acknowledge(commits, None)

    def _next_batch(self) -> None:
        if self._queue:
            self._open_batch()
            self._wake()
        else:
            self.state = State.IDLE

    def _lose_batch(self, failure: Exception) -> None:
        self._abandon()
        self._deferred.take()
        self._written_early.take()
        commits, self._commits = self._commits, []
        _acknowledge(commits, failure)

    def _abandon(self) -> None:
        if self.connection.in_transaction:
            # Only a broken disk makes this fail, and then the next BEGIN says so.
            with suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")

    def _is_late(self) -> bool:
        return time.monotonic() > self._read_deadline


class _Place:
    """A transaction's place in the queue."""

    def __init__(self) -> None:
        self._awake: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait(self) -> None:
        if self._awake.done():
            self._awake = asyncio.get_running_loop().create_future()
        await self._awake

    def wake(self) -> None:
        if not self._awake.done():
            self._awake.set_result(None)


def _acknowledge(commits: list[Commit], failure: BaseException | None) -> None:
    for commit in commits:
        if not commit.done():  # else its task was cancelled
            commit.set_result(failure)
