"""Which of many streams goes on next, and how many of them in one turn of the loop.

Everything in the process shares that loop. Were hundreds of streams to go on in the same turn of
it, because something has held them all up, then every request that comes meanwhile would wait for
all of them. So they go on in the order in which they became ready, and after a short time the
others have their turn. Time and not a number, because a machine that is slow for a moment is when
it matters.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from typing import Protocol

BUDGET_SECONDS = 0.0005
"""Of each turn: some twenty chunks. Much less would hold the chunks up, much more the others."""


class Stream(Protocol):
    def go_on(self) -> None:
        """Does what there is to do, and never raises."""
        ...


class Turns:
    """Made inside the running loop."""

    def __init__(self, budget_seconds: float = BUDGET_SECONDS) -> None:
        self._loop = asyncio.get_running_loop()
        self._budget = budget_seconds
        self._ready: deque[Stream] = deque()
        self._is_under_way = False

    def add(self, stream: Stream) -> None:
        """It goes on once, in the next turn or in one of those after it."""
        self._ready.append(stream)
        if not self._is_under_way:
            self._is_under_way = True
            self._loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        ready = self._ready
        end = perf_counter() + self._budget
        while ready:
            ready.popleft().go_on()
            if perf_counter() >= end:
                break
        self._is_under_way = bool(ready)
        if ready:
            self._loop.call_soon(self._take_turn)
