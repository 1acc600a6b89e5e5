"""Notices that something has changed: PostgreSQL notifies, or the versions are looked at every now
and then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from masthead.base.logs import log
from masthead.engine.records.change_log import RENEW_SECONDS
from masthead.storage.database import Database, Listening

LOOK_SECONDS = 1.0
"""Between two looks at the versions of tenants, where notifications arrive."""
POLL_SECONDS = 0.15
"""Where they don't."""
FILE_SECONDS = 0.04
"""Between two looks at an SQLite file, which cost next to nothing."""
LISTEN_AGAIN_SECONDS = 30.0


class Watcher:
    """One task of the process, while it is needed."""

    def __init__(
        self,
        database: Database,
        *,
        is_needed: Callable[[], bool],
        look: Callable[[], Awaitable[None]],
        renew: Callable[[], Awaitable[None]],
        on_notification: Callable[[str], None],
    ) -> None:
        self._database = database
        self._is_needed = is_needed
        self._look = look
        self._renew = renew
        self._on_notification = on_notification
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._is_stopped = False

    def start(self) -> None:
        if self._task is None and not self._is_stopped:
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(self._ended)

    def look_now(self) -> None:
        self._news.set()

    async def stop(self) -> None:
        self._is_stopped = True
        if self._task is not None:
            task = self._task
            task.cancel()
            await asyncio.wait([task])

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            log.error("realtime.failed", exc_info=error)
        self._task = None
        # Somebody may have come while it ended.
        if self._is_needed():
            self.start()

    async def _run(self) -> None:
        listening: Listening | None = None
        next_listen = next_look = next_renewal = 0.0
        data_version: int | None = None
        try:
            while self._is_needed():
                now = time.monotonic()
                if (listening is None or not listening.is_open()) and now >= next_listen:
                    listening = await self._database.listen(self._on_notification)
                    next_listen = now + LISTEN_AGAIN_SECONDS
                newest = self._database.data_version()
                if newest != data_version or newest is None or now >= next_look:
                    data_version, next_look = newest, now + LOOK_SECONDS
                    await self._look()
                if now >= next_renewal:
                    next_renewal = now + RENEW_SECONDS
                    await self._renew()
                await self._pause(listening, newest)
        finally:
            if listening is not None:
                await listening.close()

    async def _pause(self, listening: Listening | None, data_version: int | None) -> None:
        seconds = FILE_SECONDS if data_version is not None else POLL_SECONDS
        if listening is not None and listening.is_open():
            seconds = LOOK_SECONDS
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass
