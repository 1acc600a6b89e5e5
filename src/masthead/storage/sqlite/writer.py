"""The one writer of an SQLite file, with group commit. It is a machine of three states:

    IDLE        No SQLite transaction is open and nothing waits.
    GATHERING   Transactions take turns in the order of their arrival. They are parts of one SQLite
                transaction, the batch: the first one begins it, each later one is a savepoint.
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

- A statement fails, or a transaction's block raises or is cancelled: only its changes are rolled
  back. The other transactions of the batch continue.
- SQLite itself rolls back the batch, as it does on a full or broken disk: the transactions that had
  finished in it raise `Unavailable`, the present one raises its error. The next begins a new batch.
- The COMMIT or a deferred row fails: all transactions of the batch raise `Unavailable`, and nothing
  of them is stored. On a full disk it is `DiskFull`, which is `Unavailable`, too.
- Another process holds the lock longer than the statement timeout: the transaction whose turn it is
  raises `Unavailable`.
- A task is cancelled while it waits for the commit: the commit continues.
- The process is killed or the power fails: the file has the whole batch or nothing of it.

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

from masthead.base.errors import DiskFull, Unavailable
from masthead.storage.cancelling import complete
from masthead.storage.database import PROVEN_SECONDS, Row, Statement
from masthead.storage.disk import DiskState
from masthead.storage.sqlite.checkpoints import Checkpoints
from masthead.storage.sqlite.connection import (
    BUSY,
    MAIN_CACHE_KB,
    code_of,
    connect,
    limit_values,
    translated,
)
from masthead.storage.sqlite.deferred import INLINE_ROWS, Deferred

MAX_BATCH = 64
MIN_BATCH = 8
"""A batch has room for so many transactions, and for more only if they are already queued when it
gets SQLite's lock. Later ones join the next batch, which the event loop prepares while this one is
being committed."""
_STEPS_PER_TICK = 25_000
_INLINE_READ_SECONDS = 0.001

Commit = asyncio.Future[BaseException | None]
"""Done once the commit has ended; its result is the failure, if any."""
Result = TypeVar("Result")


class WriterState(Enum):
    IDLE = auto()
    GATHERING = auto()
    COMMITTING = auto()


class Writer:
    def __init__(
        self,
        path: Path,
        *,
        timeout_seconds: float,
        disk: DiskState,
        checkpoints: Callable[[Path], Checkpoints] = Checkpoints,
    ) -> None:
        # busy_seconds=0: a lock of another process is polled for, which does not block the event
        # loop.
        self.connection = connect(path, busy_seconds=0, query_only=False, cache_kb=MAIN_CACHE_KB)
        self.connection.execute("PRAGMA wal_autocheckpoint = 0")
        self.connection.set_progress_handler(self._is_late, _STEPS_PER_TICK)
        self.timeout_seconds = timeout_seconds
        self._disk = disk
        self._changes = 0
        """All rows that were changed before the batch, also those that were rolled back."""
        self.state = WriterState.IDLE
        self._queue: deque[_Waiter] = deque()
        self._holder: asyncio.Task[Any] | None = None
        """The task whose turn it is."""
        self._is_first = False
        """The present transaction has begun the batch. It needs no savepoint, after which SQLite
        would copy every page that it changes: nothing else is in the batch yet."""
        self._turns = 0
        """The turns of the batch, failed ones included: they must not keep it open for ever."""
        self._capacity = 0
        """How many turns the batch may have."""
        self._commits: list[Commit] = []
        """The futures of the transactions that have finished in the batch."""
        self._deferred = Deferred()
        """Their rows that are written before the commit."""
        self._written_early = Deferred()
        """Deferred rows that were written within the current transaction, because it reads their
        tables. They are deferred again if it is rolled back."""
        self._closing: asyncio.Handle | None = None
        self._checkpoints = checkpoints(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._read_deadline = math.inf
        self._committed_at = -math.inf

    @property
    def has_just_committed(self) -> bool:
        return time.monotonic() - self._committed_at < PROVEN_SECONDS

    async def close(self) -> None:
        """After the last transaction."""
        if self._closing is not None:
            self._closing.cancel()  # the batch is empty
        try:
            await self._checkpoints.close()
        finally:
            self._thread.shutdown()
            self.connection.close()

    # Called by a transaction, in this order.

    async def begin(self) -> None:
        """Waits for the turn of the task, and begins the batch or opens a savepoint in it."""
        deadline = time.monotonic() + self.timeout_seconds
        await self._take_turn()
        try:
            await self._open_savepoint(deadline)
        except BaseException:
            self.end_turn()
            raise

    def read_inline(self, statement: Statement, values: Sequence[object]) -> list[Row]:
        """On the event loop: interrupted after a millisecond, and before a long value."""
        limit_values(self.connection)
        try:
            return self.read(statement, values, _INLINE_READ_SECONDS)
        finally:
            limit_values(self.connection, inline=False)

    def read(self, statement: Statement, values: Sequence[object], seconds: float) -> list[Row]:
        """Interrupted after so many seconds."""
        self._read_deadline = time.monotonic() + seconds
        try:
            return self.connection.execute(statement.text, values).fetchall()
        finally:
            self._read_deadline = math.inf

    async def in_thread(self, work: Callable[[], Result]) -> Result:
        # The thread uses the connection until the statement ends. A cancelled task does not
        # interrupt the statement, because SQLite would roll back the whole batch.
        return await complete(asyncio.get_running_loop().run_in_executor(self._thread, work))

    def has_deferred(self, statement: Statement) -> bool:
        """Whether the statement might read or change deferred rows."""
        return self._deferred.count > 0 and self._deferred.affects(statement)

    async def write_deferred(self, own: Deferred) -> None:
        """Writes the deferred rows of the earlier transactions, then those of the current one."""
        earlier = self._deferred.take()
        self._written_early.add_all(earlier)
        for deferred in (earlier, own.take()):
            if deferred.count > INLINE_ROWS:
                await self.in_thread(partial(deferred.run, self.connection))
            else:
                deferred.run(self.connection)

    def finish(self, deferred: Deferred) -> Commit:
        """Makes the transaction part of the batch."""
        if not self._is_first:
            self.connection.execute("RELEASE member")
        self._written_early.take()
        self._deferred.add_all(deferred)
        commit = asyncio.get_running_loop().create_future()
        self._commits.append(commit)
        return commit

    def translated(self, error: sqlite3.Error) -> Exception:
        found = translated(error)
        if isinstance(found, DiskFull):
            self._disk.note_full(error)
        return found

    def roll_back(self) -> None:
        """Undoes the transaction. After a full disk or an I/O error SQLite has rolled back the
        whole batch, so there is nothing to undo."""
        if not self.connection.in_transaction:
            self._fail_batch(DiskFull() if self._disk.is_full else Unavailable())
            return
        try:
            if self._is_first:
                self.connection.execute("ROLLBACK")
            else:
                self.connection.execute("ROLLBACK TO member")
                self.connection.execute("RELEASE member")
        except sqlite3.Error as error:
            self._fail_batch(self.translated(error))
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
        if self.state is WriterState.IDLE:
            self._open_batch()
        self._holder = task
        self._turns += 1

    def _is_free(self) -> bool:
        return self._holder is None and self.state is not WriterState.COMMITTING

    async def _wait_in_queue(self) -> None:
        waiter = _Waiter()
        self._queue.append(waiter)
        try:
            await waiter.wait()
            while not (self._is_free() and self._queue[0] is waiter):
                await waiter.wait()
        except asyncio.CancelledError:
            self._queue.remove(waiter)
            self._proceed()
            raise
        self._queue.popleft()

    def _wake(self) -> None:
        """Wakes all waiters that fit into the batch at once. Most transactions end without waiting,
        so they all run in one iteration of the event loop, which is then free while they are being
        committed. A waiter that finds another transaction active waits again."""
        for waiter in islice(self._queue, self._capacity - self._turns):
            if not waiter.wake():
                # Awake already, as those behind it: they were woken together.
                return

    # The batch.

    def _open_batch(self) -> None:
        self.state = WriterState.GATHERING
        self._changes = self.connection.total_changes
        self._turns = 0
        self._make_room()

    def _make_room(self) -> None:
        self._capacity = min(max(self._turns + len(self._queue), MIN_BATCH), MAX_BATCH)

    async def _open_savepoint(self, deadline: float) -> None:
        self._is_first = not self.connection.in_transaction
        while not self.connection.in_transaction:
            try:
                self.connection.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                if code_of(error) not in BUSY or time.monotonic() > deadline:
                    raise self.translated(error) from error
                # Another process has the lock; the jitter keeps two pollers out of step.
                await asyncio.sleep(random.uniform(0.0005, 0.004))  # noqa: S311
                # Those that have arrived meanwhile need not wait for the lock once more.
                self._make_room()
        if not self._is_first:
            self.connection.execute("SAVEPOINT member")

    def _proceed(self) -> None:
        if self.state is not WriterState.GATHERING or self._holder is not None:
            return
        if self._turns >= self._capacity:
            self._commit()
        elif self._queue:
            self._wake()
        elif self._closing is None:
            # Tasks of this iteration of the event loop can still join.
            self._closing = asyncio.get_running_loop().call_soon(self._close_batch)

    def _close_batch(self) -> None:
        self._closing = None
        if self.state is WriterState.GATHERING and self._holder is None:
            self._commit()

    def _commit(self) -> None:
        commits, self._commits = self._commits, []
        if not commits:
            self._roll_back_batch()
            self._next_batch()
            return
        self.state = WriterState.COMMITTING
        loop = asyncio.get_running_loop()
        written = loop.run_in_executor(self._thread, self._write, self._deferred.take())
        written.add_done_callback(partial(self._committed, commits))

    def _write(self, deferred: Deferred) -> None:
        deferred.run(self.connection)
        self.connection.execute("COMMIT")
        self._checkpoints.in_writer(self.connection)

    def _committed(self, commits: list[Commit], written: asyncio.Future[None]) -> None:
        failure = written.exception()
        self._committed_at = time.monotonic() if failure is None else -math.inf
        if failure is not None:
            if isinstance(failure, sqlite3.Error):
                failure = self.translated(failure)
            self._roll_back_batch()
            # First, so that their tasks invalidate their caches before the next transactions.
            _acknowledge(commits, failure)
            self._next_batch()
            return
        self._note_changes()
        self._checkpoints.after_commit()
        self._next_batch()
        # Last, so that the tasks continue while the next batch is being committed.
        _acknowledge(commits, None)

    def _note_changes(self) -> None:
        """A commit without changes, as that of a ping, writes nothing to the disk."""
        if self.connection.total_changes != self._changes:
            self._disk.note_written()

    def _next_batch(self) -> None:
        if self._queue:
            self._open_batch()
            self._wake()
        else:
            self.state = WriterState.IDLE

    def _fail_batch(self, failure: Exception) -> None:
        self._roll_back_batch()
        self._deferred.take()
        self._written_early.take()
        commits, self._commits = self._commits, []
        _acknowledge(commits, failure)

    def _roll_back_batch(self) -> None:
        if self.connection.in_transaction:
            # This only fails on a broken disk, and then the next BEGIN fails too.
            with suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")

    def _is_late(self) -> bool:
        return time.monotonic() > self._read_deadline


class _Waiter:
    """A queued transaction."""

    def __init__(self) -> None:
        self._awake: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait(self) -> None:
        if self._awake.done():
            self._awake = asyncio.get_running_loop().create_future()
        await self._awake

    def wake(self) -> bool:
        """False if it is awake already."""
        if self._awake.done():
            return False
        self._awake.set_result(None)
        return True


def _acknowledge(commits: list[Commit], failure: BaseException | None) -> None:
    for commit in commits:
        if not commit.done():  # its task may be cancelled
            commit.set_result(failure)
