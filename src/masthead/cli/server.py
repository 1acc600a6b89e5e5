"""One server process: the service on Granian inside our own event loop, and its orderly end."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from granian._granian import SocketHolder
from granian.constants import Interfaces
from granian.server.embed import Server as GranianServer
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masthead.app import Parts, Service
from masthead.cli.listener import BACKLOG, refuse_newcomers
from masthead.settings import Settings

log = structlog.get_logger()

DRAIN_SECONDS = 25.0
"""How long requests in flight may take to finish; orchestrators kill after 30."""
QUIET_SECONDS = 0.2
"""With no new request for this long, what the kernel had accepted has reached the service."""
GATHER_SECONDS = 2.0
SWITCH_SECONDS = 0.00025


class Requests:
    """Counts the requests in flight, and asks each client that comes while draining to leave."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._last_begun = 0.0
        self.in_flight = 0
        self.is_draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.in_flight += 1
        self._last_begun = time.monotonic()
        if self.is_draining and scope["http_version"].startswith("1"):
            send = _closing(send)
        try:
            await self._app(scope, receive, send)
        finally:
            self.in_flight -= 1

    async def gather(self) -> None:
        """Returns when no more requests come in, or after a while."""
        self.is_draining = True
        began = time.monotonic()
        while (now := time.monotonic()) - began < GATHER_SECONDS:
            if now - max(began, self._last_begun) >= QUIET_SECONDS:
                return
            await asyncio.sleep(QUIET_SECONDS / 10)


def _spare_the_collector() -> None:
    """What the start has made stays for good: looking through all of it for garbage would stop
    every request for some 70 ms, again and again. And a request makes hundreds of objects, nearly
    all without cycles: looking after every 700 is too often."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def _let_newcomers_in() -> None:
    """A request comes in through a thread of Granian's, which needs the interpreter for a moment.
    It gets it when the loop rests, or when it has waited this long without a break; and a busy
    loop breaks off for a moment in every turn, too short to be used. With Python's own 5 ms a
    newcomer waits until the loop has nothing left to do."""
    sys.setswitchinterval(SWITCH_SECONDS)


def _closing(send: Send) -> Send:
    """Without it a busy keep-alive client sends its next request into a closing connection."""

    async def closing_send(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"connection", b"close")]
        await send(message)

    return closing_send


class _Granian(GranianServer):
    """Granian on a socket that is open already."""

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        super().__init__(
            app,
            interface=Interfaces.ASGINL,
            backlog=BACKLOG,
            websockets=False,
            log_enabled=False,
        )
        self._listener = listener

    def _init_shared_socket(self) -> None:
        # The holder closes what it is given. Granian's own type hints do not cover this part.
        descriptor: Any = os.dup(self._listener.fileno())
        holder: Any = SocketHolder
        self._sfd = descriptor
        self._shd = holder(descriptor, False, BACKLOG)


class Server:
    def __init__(
        self, settings: Settings, listener: socket.socket, *, with_worker: bool = True
    ) -> None:
        self._service = Service(settings, with_worker=with_worker)
        self._listener = listener
        self._requests = Requests(self._service)
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """May be called from a signal handler, any number of times."""
        self._stop.set()

    async def run(self, when_ready: Callable[[Parts], Awaitable[None]]) -> None:
        """Serves until `stop`. No accepted request is lost, and the job in hand is finished."""
        parts = await self._service.start()
        _spare_the_collector()
        _let_newcomers_in()
        try:
            await self._serve(parts, when_ready)
        finally:
            await self._service.stop()

    async def _serve(self, parts: Parts, when_ready: Callable[[Parts], Awaitable[None]]) -> None:
        granian = _Granian(self._requests, self._listener)
        serving = asyncio.create_task(granian.serve())
        await when_ready(parts)
        stopping = asyncio.create_task(self._stop.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if serving.done():
            # It does not end by itself unless something is badly wrong.
            await serving
            raise RuntimeError("the HTTP server has ended")
        log.info("server.draining", in_flight=self._requests.in_flight)
        refuse_newcomers(self._listener)
        self._service.end_streams()
        await self._requests.gather()
        self._listener.close()
        granian.stop()  # type: ignore[no-untyped-call]
        try:
            await asyncio.wait_for(serving, DRAIN_SECONDS)
        except TimeoutError:
            log.warning("server.cut_off", in_flight=self._requests.in_flight)
