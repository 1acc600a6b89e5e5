"""Limits the concurrent reads of one tenant, so that none takes every thread or connection."""

from __future__ import annotations

import asyncio
from collections import deque

from masthead.storage.database import Scope


class FairShare:
    """`slots` for each scope. Further reads of a scope wait in its own queue."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._taken: dict[Scope, int] = {}
        self._queues: dict[Scope, deque[asyncio.Future[None]]] = {}

    async def enter(self, scope: Scope, timeout_seconds: float) -> None:
        """Takes a slot, which `leave` returns. Raises TimeoutError."""
        taken = self._taken.get(scope, 0)
        if taken < self._slots:
            self._taken[scope] = taken + 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._queues.setdefault(scope, deque()).append(waiter)
        try:
            async with asyncio.timeout(timeout_seconds):
                await waiter
        except BaseException:
            if waiter.cancelled():
                self._remove(scope, waiter)
            else:
                self.leave(scope)
            raise

    def leave(self, scope: Scope) -> None:
        queue = self._queues.get(scope, _NO_QUEUE)
        while queue:
            waiter = queue.popleft()
            if not waiter.done():
                # The slot passes to the next waiter.
                waiter.set_result(None)
                return
        self._queues.pop(scope, None)
        self._taken[scope] -= 1
        if not self._taken[scope]:
            del self._taken[scope]

    def _remove(self, scope: Scope, waiter: asyncio.Future[None]) -> None:
        queue = self._queues.get(scope, _NO_QUEUE)
        if waiter in queue:
            queue.remove(waiter)


_NO_QUEUE: deque[asyncio.Future[None]] = deque()
