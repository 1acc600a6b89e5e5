"""Counts the requests in flight and waits for them when the server stops."""

from __future__ import annotations

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

DRAIN_SECONDS = 25.0
"""For requests in flight. Orchestrators kill after 30."""
QUIET_SECONDS = 0.2
"""Without a new request for this long, all connections that the kernel accepted are served."""
MAX_DRAIN_SECONDS = 2.0


class RequestsInFlight:
    """An ASGI middleware. While draining it asks every client to close its connection: otherwise a
    keep-alive client would send its next request into a closing one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._last_begun = 0.0
        self._is_draining = False
        self.count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.count += 1
        self._last_begun = time.monotonic()
        if self._is_draining and scope["http_version"].startswith("1"):
            send = _closing(send)
        try:
            await self._app(scope, receive, send)
        finally:
            self.count -= 1

    async def drain(self) -> None:
        """Returns when no more requests arrive, or after `MAX_DRAIN_SECONDS`."""
        self._is_draining = True
        began = time.monotonic()
        while (now := time.monotonic()) - began < MAX_DRAIN_SECONDS:
            if now - max(began, self._last_begun) >= QUIET_SECONDS:
                return
            await asyncio.sleep(QUIET_SECONDS / 10)


def _closing(send: Send) -> Send:
    async def closing_send(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"connection", b"close")]
        await send(message)

    return closing_send
