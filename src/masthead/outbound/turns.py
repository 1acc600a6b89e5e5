"""Which of many streams goes on next.

Everything in the process shares one loop. Were hundreds of streams to go on in the same turn of
it, because something has held them all up, then every request that comes meanwhile would wait for
all of them. So only some are woken in each turn, in the order in which they became ready.
"""

from __future__ import annotations

import asyncio
from collections import deque

PER_TURN = 32
"""Streams; together they take less than a millisecond."""


class Turns:
    """Made inside the running loop."""

    def __init__(self, per_turn: int = PER_TURN) -> None:
        self._loop = asyncio.get_running_loop()
        self._per_turn = per_turn
        self._room = per_turn
        """How many more may be woken in this turn."""
        self._is_under_way = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    def wake(self, sleeper: asyncio.Future[None]) -> None:
        """At once where there is room in this turn, else in one of the next ones."""
        if not self._is_under_way:
            self._is_under_way = True
            self._loop.call_soon(self._begin_turn)
        if self._room and not self._waiting:
            self._room -= 1
            _wake(sleeper)
        else:
            self._waiting.append(sleeper)

    def _begin_turn(self) -> None:
        woken = min(self._per_turn, len(self._waiting))
        for _ in range(woken):
            _wake(self._waiting.popleft())
        self._room = self._per_turn - woken
        self._is_under_way = woken > 0
        if woken:
            self._loop.call_soon(self._begin_turn)


def _wake(sleeper: asyncio.Future[None]) -> None:
    # It is done already where whoever slept was cancelled.
    if not sleeper.done():
        sleeper.set_result(None)
