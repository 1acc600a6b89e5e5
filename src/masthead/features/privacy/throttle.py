"""Limits how much an erasure slows other writers: short transactions, with a pause after each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from masthead.storage.database import Database, Scope, Transaction

STEP_SECONDS, LONG_STEP_SECONDS = 0.0015, 0.02
"""Target time of a step's statements with a single writer, and with concurrent writers. The
commit comes on top, whatever the step's size."""
MIN_PAUSE, MAX_PAUSE = 1.0, 4.0
"""The pause after a step as a multiple of the step's time, commit included: without and with
other writers waiting."""
CONCURRENT_PAUSE = 3.0
"""The same multiple where writers are concurrent and share only the machine."""
PAUSE_DECAY = 0.9
CONTENTION_SECONDS = 0.0005
"""A longer wait for the write lock means that another writer had it."""


class TimeSliceOver(Exception):
    """The job's time is used up; the next job continues."""


class TimeSlice:
    """How long a job works before other jobs get their turn."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def check(self) -> None:
        if time.monotonic() > self._until:
            raise TimeSliceOver


class Throttle:
    """Adapts the batch size to the time that a batch takes, and the pause to contention."""

    def __init__(self, database: Database, *, min_size: int, max_size: int) -> None:
        self._database = database
        self._has_one_writer = database.has_one_writer
        self._target_seconds = STEP_SECONDS if self._has_one_writer else LONG_STEP_SECONDS
        self._pause = MAX_PAUSE if self._has_one_writer else CONCURRENT_PAUSE
        self._min_size = min_size
        self._max_size = max_size
        self.size = min_size

    @asynccontextmanager
    async def step(self, scope: Scope) -> AsyncIterator[Transaction]:
        """A transaction of about `size`, and the pause after it."""
        asked = time.monotonic()
        async with self._database.transaction(scope) as tx:
            began = time.monotonic()
            yield tx
            # The wait for the write lock is not counted.
            took = time.monotonic() - began
            self.size = _next_size(
                self.size, took, self._target_seconds, self._min_size, max_size=self._max_size
            )
        if self._has_one_writer:
            self._pause = _next_pause(self._pause, began - asked)
        await asyncio.sleep((time.monotonic() - began) * self._pause)


async def pause_after(since: float) -> None:
    """The pause after work that holds no lock but uses the machine."""
    await asyncio.sleep((time.monotonic() - since) * CONCURRENT_PAUSE)


def _next_size(size: int, took: float, target: float, min_size: int, *, max_size: int) -> int:
    if took > target:
        return max(size // 2, min_size)
    return min(size * 2, max_size) if took < target / 2 else size


def _next_pause(pause: float, waited: float) -> float:
    """Maximal at once under contention, then shorter step by step."""
    return MAX_PAUSE if waited > CONTENTION_SECONDS else max(pause * PAUSE_DECAY, MIN_PAUSE)
