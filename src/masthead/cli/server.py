"""One server process: the service and its HTTP server in one event loop, and their orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
import socket
import sys
from collections.abc import Awaitable, Callable

import structlog

from masthead.app import Parts, Service
from masthead.cli.listener import BACKLOG, refuse_newcomers
from masthead.serving.limits import Limits
from masthead.serving.server import HttpServer
from masthead.settings import Settings

log = structlog.get_logger()

DRAIN_SECONDS = 25.0
"""How long requests in flight may take to finish; orchestrators kill after 30."""
SWITCH_SECONDS = 0.00025
OWN_FILES = 128
"""Files that the service keeps for itself: databases, media, providers, receivers of webhooks."""


def _spare_the_collector() -> None:
    """What the start has made stays for good: looking through all of it for garbage would stop
    every request for some 70 ms, again and again. And a request makes hundreds of objects, nearly
    all without cycles: looking after every 700 is too often."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def _let_threads_in() -> None:
    """A thread that has committed, read or stored something for a request needs the interpreter to
    say so. It gets it when the loop rests, or when it has waited this long: with Python's own 5 ms
    a busy loop's creates wait for their commits that much longer."""
    sys.setswitchinterval(SWITCH_SECONDS)


def max_connections() -> int:
    """Each of them is an open file. Once there is none left, nothing at all can be opened: neither
    a database nor a picture. So as many are allowed as can be, and connections stay below."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some systems name a maximum that they don't grant.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        allowed = most
    if allowed == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(allowed - OWN_FILES, 64)


class Server:
    def __init__(
        self, settings: Settings, listener: socket.socket, *, with_worker: bool = True
    ) -> None:
        self._service = Service(settings, with_worker=with_worker)
        self._listener = listener
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """May be called from a signal handler, any number of times."""
        self._stop.set()

    async def run(self, when_ready: Callable[[Parts], Awaitable[None]]) -> None:
        """Serves until `stop`. No accepted request is lost, and the job in hand is finished."""
        parts = await self._service.start()
        _spare_the_collector()
        _let_threads_in()
        try:
            await self._serve(parts, when_ready)
        finally:
            await self._service.stop()

    async def _serve(self, parts: Parts, when_ready: Callable[[Parts], Awaitable[None]]) -> None:
        server = HttpServer(self._service, Limits(max_connections=max_connections()))
        await server.start(self._listener, backlog=BACKLOG)
        await when_ready(parts)
        await self._stop.wait()
        log.info("server.draining", in_flight=server.in_flight)
        refuse_newcomers(self._listener)
        self._service.end_streams()
        await server.gather()
        if cut := await server.end(DRAIN_SECONDS):
            log.warning("server.cut_off", connections=cut)
