"""Runs a write a little later, so that no request waits for it and one write serves many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

FLUSH_SECONDS = 5.0


class DelayedWrites:
    def __init__(self, write: Callable[[], Awaitable[None]], seconds: float) -> None:
        """`write` writes what has been gathered, and returns if that is nothing."""
        self._write = write
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def schedule(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._seconds, self._start)

    def hurry(self) -> None:
        """Writes now instead of later."""
        if self._timer is not None and (self._writing is None or self._writing.done()):
            self._timer.cancel()
            self._start()

    async def finish(self) -> None:
        """Writes at once. Called before the database is closed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None:
            await self._writing
        await self._write()

    def _start(self) -> None:
        self._timer = None
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._run())
        else:
            self.schedule()

    async def _run(self) -> None:
        await self._write()
