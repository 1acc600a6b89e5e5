"""How fast an erasure goes: in steps so short that nobody else's writes wait for long, and with
pauses in which the others have the database for themselves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from masthead.storage.database import Database, Scope, Transaction

STEP_SECONDS, LONG_STEP_SECONDS = 0.0015, 0.02
"""What the statements of a step should take where other writers wait for it, and where they don't;
the commit comes on top, whatever the step's size."""
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 4.0
"""How often as long as a step, commit included, the pause after it is: while nobody else writes,
and while somebody does."""
BESIDE_OTHERS = 3.0
"""The same where others write beside it, and only share the machine."""
FORGETS = 0.9
NOTICED_SECONDS = 0.0005
"""A turn to write that nobody else has comes sooner than that."""


class SliceOver(Exception):
    """Enough for now; the next job goes on."""


class Slice:
    """How long a job works before it lets others have their turn."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def check(self) -> None:
        if time.monotonic() > self._until:
            raise SliceOver


class Pace:
    """How much at a time, learned from how long it takes, and how long the pauses are, learned from
    whether somebody else was writing."""

    def __init__(self, database: Database, *, fewest: int, most: int) -> None:
        self._database = database
        self._takes_turns = database.has_one_writer
        self._wanted = STEP_SECONDS if self._takes_turns else LONG_STEP_SECONDS
        self._pause = LONGEST_PAUSE if self._takes_turns else BESIDE_OTHERS
        self._fewest = fewest
        self._most = most
        self.size = fewest

    @asynccontextmanager
    async def step(self, scope: Scope) -> AsyncIterator[Transaction]:
        """A transaction of about `size`, and the pause after it."""
        asked = time.monotonic()
        async with self._database.transaction(scope) as tx:
            began = time.monotonic()
            yield tx
            # The wait for the turn to write is the others' doing, and not counted.
            took = time.monotonic() - began
            self.size = _learned(self.size, took, self._wanted, self._fewest, self._most)
        if self._takes_turns:
            self._pause = _courtesy(self._pause, began - asked)
        await asyncio.sleep((time.monotonic() - began) * self._pause)


async def rest(since: float) -> None:
    """The pause after work that nobody waits for, but that uses the machine."""
    await asyncio.sleep((time.monotonic() - since) * BESIDE_OTHERS)


def _learned(size: int, took: float, wanted: float, fewest: int, most: int) -> int:
    if took > wanted:
        return max(size // 2, fewest)
    return min(size * 2, most) if took < wanted / 2 else size


def _courtesy(pause: float, waited: float) -> float:
    """At once as long as can be, shorter little by little."""
    return LONGEST_PAUSE if waited > NOTICED_SECONDS else max(pause * FORGETS, SHORTEST_PAUSE)
