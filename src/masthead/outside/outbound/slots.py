"""Limits the concurrent calls to one host, first come first served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class HostSlots:
    """Hosts are independent: a queue for one never delays another."""

    def __init__(self, per_host: int) -> None:
        self._per_host = per_host
        self._users: dict[str, int] = {}
        self._semaphores: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def slot(self, host: str) -> AsyncIterator[None]:
        users = self._users.get(host, 0)
        if users == 0:
            self._semaphores[host] = asyncio.Semaphore(self._per_host)
        self._users[host] = users + 1
        try:
            async with self._semaphores[host]:
                yield
        finally:
            self._release(host)

    def _release(self, host: str) -> None:
        self._users[host] -= 1
        if self._users[host] == 0:
            del self._users[host], self._semaphores[host]
