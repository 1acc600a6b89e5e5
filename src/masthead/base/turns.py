"""Turns for work that takes long: however much one site asks for, others don't wait for it.

Each site has one piece of work at a time. Those that wait are taken in turns, site by site, and
beyond the limits none may wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final

from masthead.base.errors import RateLimited

WAITING_OF_SITE: Final = 8
WAITING: Final = 64
RETRY_SECONDS: Final = 10
TOO_MANY: Final = "Too many long texts of this site are being prepared. Try again in a few seconds."

working_for: ContextVar[str] = ContextVar("working_for", default="")
"""The site for which the current request works. The front door sets it where a body is taken: the
work itself is done far below, where only a text is known."""


class Turns:
    def __init__(
        self, slots: int, *, waiting_of_site: int = WAITING_OF_SITE, waiting: int = WAITING
    ) -> None:
        self._free = slots
        self._max_of_site = waiting_of_site
        self._max = waiting
        self._working: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """Waiting work by site. The first site that is not working has the next turn."""

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One piece of work of the current site. Raises RateLimited."""
        site = working_for.get()
        await self._begin(site)
        try:
            yield
        finally:
            self._end(site)

    async def _begin(self, site: str) -> None:
        if self._free and site not in self._working:
            self._take(site)
            return
        own = self._waiting.get(site, ())
        everyone = sum(map(len, self._waiting.values()))
        if len(own) >= self._max_of_site or everyone >= self._max:
            raise RateLimited(RETRY_SECONDS, TOO_MANY)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(site, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._end(site)
            else:
                self._leave(site, turn)
            raise

    def _take(self, site: str) -> None:
        self._free -= 1
        self._working.add(site)

    def _end(self, site: str) -> None:
        self._free += 1
        self._working.discard(site)
        following = next((each for each in self._waiting if each not in self._working), None)
        if following is None:
            return
        turn = self._waiting[following][0]
        self._leave(following, turn)
        self._take(following)
        turn.set_result(None)

    def _leave(self, site: str, turn: asyncio.Future[None]) -> None:
        """The site's next work comes after that of all others."""
        queue = self._waiting.pop(site)
        queue.remove(turn)
        if queue:
            self._waiting[site] = queue
