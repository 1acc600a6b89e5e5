"""The requests in flight, for which a server that stops waits."""

from __future__ import annotations

import asyncio
from time import perf_counter

DRAIN_SECONDS = 25.0
"""For requests in flight. Orchestrators kill after 30."""
QUIET_SECONDS = 0.2
"""Without a new request for this long, all connections that the kernel accepted are served."""
MAX_DRAIN_SECONDS = 2.0


class InFlight:
    """The front door counts them. While the server drains it asks every client to close its
    connection: otherwise a keep-alive client would send its next request into a closing one."""

    __slots__ = ("_last_begun", "count", "is_draining")

    def __init__(self) -> None:
        self._last_begun = 0.0
        self.is_draining = False
        self.count = 0

    def begin(self, now: float) -> None:
        self.count += 1
        self._last_begun = now

    def end(self) -> None:
        self.count -= 1

    async def drain(self) -> None:
        """Returns when no more requests arrive, or after `MAX_DRAIN_SECONDS`."""
        self.is_draining = True
        began = perf_counter()
        while (now := perf_counter()) - began < MAX_DRAIN_SECONDS:
            if now - max(began, self._last_begun) >= QUIET_SECONDS:
                return
            await asyncio.sleep(QUIET_SECONDS / 10)
