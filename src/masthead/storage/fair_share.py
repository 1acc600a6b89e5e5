"""How many reads of one tenant run at the same moment: none takes every thread or connection."""

from __future__ import annotations

import asyncio
from collections import deque

from masthead.storage.database import Scope


class FairShare:
    """`places` for each scope. Further reads of it wait in a line of their own."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._taken: dict[Scope, int] = {}
        self._lines: dict[Scope, deque[asyncio.Future[None]]] = {}

    async def enter(self, scope: Scope, timeout_seconds: float) -> None:
        """Takes a place, to be given back by `leave`. Raises TimeoutError."""
        taken = self._taken.get(scope, 0)
        if taken < self._places:
            self._taken[scope] = taken + 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._lines.setdefault(scope, deque()).append(turn)
        try:
            async with asyncio.timeout(timeout_seconds):
                await turn
        except BaseException:
            if turn.cancelled():
                self._forget(scope, turn)
            else:
                self.leave(scope)
            raise

    def leave(self, scope: Scope) -> None:
        line = self._lines.get(scope, _NO_LINE)
        while line:
            turn = line.popleft()
            if not turn.done():
                # The place goes on to the next in line.
                turn.set_result(None)
                return
        self._lines.pop(scope, None)
        self._taken[scope] -= 1
        if not self._taken[scope]:
            del self._taken[scope]

    def _forget(self, scope: Scope, turn: asyncio.Future[None]) -> None:
        line = self._lines.get(scope, _NO_LINE)
        if turn in line:
            line.remove(turn)


_NO_LINE: deque[asyncio.Future[None]] = deque()
