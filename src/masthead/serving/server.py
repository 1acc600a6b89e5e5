"""The server over all its connections: the one timer, and the orderly end."""

from __future__ import annotations

import asyncio
import socket

import structlog
from starlette.types import ASGIApp

from masthead.serving.connection import Connection
from masthead.serving.limits import Limits

log = structlog.get_logger()

QUIET_SECONDS = 0.2
"""With no new request for this long, what the kernel had accepted has reached the service."""
GATHER_SECONDS = 2.0
UNDO_SECONDS = 1.0
_LOOK_SECONDS = QUIET_SECONDS / 10


class HttpServer:
    def __init__(self, app: ASGIApp, limits: Limits | None = None) -> None:
        self.app = app
        self.limits = limits or Limits()
        self.is_draining = False
        self._loop = asyncio.get_running_loop()
        self._connections: set[Connection] = set()
        self._turned_away = 0
        """Since the last look."""
        self._last_news = 0.0
        self._listening: asyncio.Server | None = None
        self._sweeping: asyncio.TimerHandle | None = None

    async def start(self, listener: socket.socket, *, backlog: int) -> None:
        """Serves at the listener, which it closes in the end."""
        self._listening = await self._loop.create_server(
            lambda: Connection(self, self._loop), sock=listener, backlog=backlog
        )
        self._sweep_later()

    @property
    def in_flight(self) -> int:
        return sum(each.current is not None for each in self._connections)

    @property
    def linger_seconds(self) -> float:
        limits = self.limits
        return limits.last_linger_seconds if self.is_draining else limits.linger_seconds

    @property
    def looks_every(self) -> float:
        return _LOOK_SECONDS if self.is_draining else self.limits.sweep_seconds

    def lets_in(self, connection: Connection) -> bool:
        if len(self._connections) >= self.limits.max_connections:
            self._turned_away += 1
            return False
        self._connections.add(connection)
        if self.is_draining:
            self.note_news()
        return True

    def went(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def note_news(self) -> None:
        self._last_news = self._loop.time()

    def sweep(self, now: float) -> None:
        for each in list(self._connections):
            try:
                each.look(now)
            # A socket that is about to go may refuse to be asked; the others' times go on.
            except OSError:
                log.exception("connection.failed", client=each.client)
        if self._turned_away:
            log.warning(
                "server.full", connections=len(self._connections), refused=self._turned_away
            )
            self._turned_away = 0

    def _sweep_later(self) -> None:
        self._sweeping = self._loop.call_later(self.limits.sweep_seconds, self._sweep_again)

    def _sweep_again(self) -> None:
        self._sweep_later()
        self.sweep(self._loop.time())

    async def gather(self) -> None:
        """From now on every answer asks its client to leave: without that, a busy one would send
        its next request into a closing connection. Returns when no more requests come in, or after
        a while."""
        self.is_draining = True
        began = self._last_news = self._loop.time()
        while (now := self._loop.time()) - began < GATHER_SECONDS:
            if now - self._last_news >= QUIET_SECONDS and not self._has_half_a_head():
                return
            await asyncio.sleep(_LOOK_SECONDS)

    def _has_half_a_head(self) -> bool:
        return any(
            each.current is None and not each.is_between and not each.is_deaf
            for each in self._connections
        )

    async def end(self, seconds: float) -> int:
        """Waits until all that was in flight has been answered, and taken by its clients; returns
        how many connections had to be cut because it took longer."""
        if self._listening is not None:
            self._listening.close()
        latest = self._loop.time() + seconds
        # Closing what has unread bytes would lose a request; once, so that nobody can hold it up.
        for each in list(self._connections):
            if not each.has_unread():
                each.leave_if_idle()
        while self._connections and self._loop.time() < latest:
            await asyncio.sleep(_LOOK_SECONDS)
            for each in list(self._connections):
                each.leave_if_idle()
            self.sweep(self._loop.time())
        cut = len(self._connections)
        if self._sweeping is not None:
            self._sweeping.cancel()
        await self._cut_all()
        return cut

    async def _cut_all(self) -> None:
        cut = [each.cut() for each in list(self._connections)]
        if tasks := [each for each in cut if each is not None]:
            # What they were doing has a moment to be undone, as long as there is a database.
            await asyncio.wait(tasks, timeout=UNDO_SECONDS)
        await asyncio.sleep(0)
