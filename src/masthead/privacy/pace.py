"""How fast an erasure goes: in steps so short that nobody else's writes wait for long, and with
pauses in which the others have the database for themselves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from masthead.storage.compaction import Fold, has_one_writer
from masthead.storage.database import Database, Scope, Transaction

STEP_SECONDS, LONG_STEP_SECONDS = 0.0015, 0.02
"""What the statements of a step should take where other writers wait for it, and where they don't;
the commit comes on top, whatever the step's size."""
FOLD_SECONDS = 0.02
"""What writing SQLite's log back should take: while it does, others' commits wait for the disk."""
MOST_STEPS = 64
"""Between two of these."""
PAUSES = 4
"""How often as long as a step, commit included, the pause after it is."""


class Pace:
    """How much at a time, learned from how long it takes."""

    def __init__(self, database: Database, fold: Fold, *, fewest: int, most: int) -> None:
        self._database = database
        self._fold = fold
        self._wanted = STEP_SECONDS if has_one_writer(database) else LONG_STEP_SECONDS
        self._fewest = fewest
        self._most = most
        self.size = fewest
        self._steps_to_a_fold = 1
        self._steps = 0

    @asynccontextmanager
    async def step(self, scope: Scope) -> AsyncIterator[Transaction]:
        """A transaction of about `size`, and the pause after it."""
        async with self._database.transaction(scope) as tx:
            # The wait for the turn to write is the others' doing, and not counted.
            began = time.monotonic()
            yield tx
            took = time.monotonic() - began
            self.size = _learned(self.size, took, self._wanted, self._fewest, self._most)
        await asyncio.sleep((time.monotonic() - began) * PAUSES)
        self._steps += 1
        if self._steps >= self._steps_to_a_fold:
            await self._write_back()

    async def _write_back(self) -> None:
        """Before the log is so long that somebody's commit has to do it."""
        self._steps, began = 0, time.monotonic()
        await self._fold()
        took = time.monotonic() - began
        self._steps_to_a_fold = _learned(self._steps_to_a_fold, took, FOLD_SECONDS, 1, MOST_STEPS)
        await asyncio.sleep(took * PAUSES)


def _learned(size: int, took: float, wanted: float, fewest: int, most: int) -> int:
    if took > wanted:
        return max(size // 2, fewest)
    return min(size * 2, most) if took < wanted / 2 else size
