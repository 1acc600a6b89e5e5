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
from masthead.config.settings import Settings
from masthead.serve.drain import RequestsInFlight
from masthead.serve.http_server import HttpServer
from masthead.serve.listener import refuse_newcomers
from masthead.serve.tls import certificate_of

log = structlog.get_logger()

DRAIN_SECONDS = 25.0
"""How long requests in flight may take to finish; orchestrators kill after 30."""
SWITCH_SECONDS = 0.00025
OWN_FILES = 128
"""Files that the service keeps for itself: databases, media, providers, receivers of webhooks."""
MOST_CONNECTIONS = 100_000


def max_connections() -> int:
    """Each connection is an open file, and without a free one the process can't open its database
    either. So the limit of open files is raised as far as it may be, and connections stay below."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some systems name a maximum that they don't grant.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        allowed = most
    if allowed == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(max(allowed - OWN_FILES, 64), MOST_CONNECTIONS)


def _tune_the_collector() -> None:
    """Objects made by the start stay for good: examining all of them for garbage would stop every
    request for some 70 ms, again and again. And a request makes hundreds of objects, nearly all
    without cycles: a collection after every 700 is too often."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def _shorten_thread_switches() -> None:
    """Requests arrive through a thread of the HTTP server, and commits are reported by one of the
    database's; both need the interpreter for a moment. With Python's own 5 ms a busy loop would
    make them wait that long."""
    sys.setswitchinterval(SWITCH_SECONDS)


class ServerProcess:
    def __init__(
        self, settings: Settings, listener: socket.socket, *, with_worker: bool = True
    ) -> None:
        self._certificate = certificate_of(settings)
        self._service = Service(settings, with_worker=with_worker)
        self._listener = listener
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """May be called from a signal handler, any number of times."""
        self._stop.set()

    async def run(self, when_ready: Callable[[Parts], Awaitable[None]]) -> None:
        """Serves until `stop`. No accepted request is lost, and the job in hand is finished."""
        parts = await self._service.start()
        _tune_the_collector()
        _shorten_thread_switches()
        try:
            await self._serve(parts, when_ready)
        finally:
            await self._service.stop()

    async def _serve(self, parts: Parts, when_ready: Callable[[Parts], Awaitable[None]]) -> None:
        requests = RequestsInFlight(self._service)
        server = HttpServer(
            requests,
            self._listener,
            certificate=self._certificate,
            max_connections=max_connections(),
        )
        serving = asyncio.create_task(server.serve())
        await when_ready(parts)
        stopping = asyncio.create_task(self._stop.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if serving.done():
            # It ends by itself only when it could not begin.
            await serving
            raise RuntimeError("the HTTP server has ended")
        log.info("server.draining", in_flight=requests.count)
        refuse_newcomers(self._listener)
        self._service.end_streams()
        await requests.drain()
        self._listener.close()
        server.stop()  # type: ignore[no-untyped-call]
        try:
            await asyncio.wait_for(serving, DRAIN_SECONDS)
        except TimeoutError:
            log.warning("server.cut_off", in_flight=requests.count)
