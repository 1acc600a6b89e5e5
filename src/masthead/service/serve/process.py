"""One server process: runs the service and its HTTP server in one event loop, and drains them."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import resource
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from masthead.base.config.settings import Settings
from masthead.base.logs import log
from masthead.base.version import running_version
from masthead.service.app import Service
from masthead.service.metrics.page import MetricsApp
from masthead.service.serve.http_server import HttpServer
from masthead.service.serve.listener import stop_accepting
from masthead.service.serve.metrics_place import MetricsPlace
from masthead.service.serve.tls import certificate_of
from masthead.service.services import Services
from masthead.web.in_flight import DRAIN_SECONDS

SWITCH_SECONDS = 0.00025
RESERVED_FILES = 128
"""Open files for databases, media and outgoing connections."""
MAX_CONNECTIONS = 100_000
METRICS_CONNECTIONS = 16
LARGE_BLOCK = 1024 * 1024
KEPT_BYTES = 8 * 1024 * 1024
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def max_connections() -> int:
    """Each connection is an open file, and without a free descriptor the process can't open its
    database. So this raises the limit of open files to the maximum and reserves some."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some systems report a maximum that they don't grant.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        allowed = most
    if allowed == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return min(max(allowed - RESERVED_FILES, 64), MAX_CONNECTIONS)


def _tune_garbage_collection() -> None:
    """Objects from the start live forever, and hardly any is garbage: a collection that includes
    them would stop every request for some 70 ms. And a request creates hundreds of objects, nearly
    all without cycles, so the default of a collection after every 700 is too often."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def _shorten_thread_switches() -> None:
    """Threads of the HTTP server and of the database need the interpreter for a moment. With
    Python's default a busy event loop would make them wait for 5 ms."""
    sys.setswitchinterval(SWITCH_SECONDS)


def return_large_blocks() -> None:
    """Each block from a megabyte on is the system's again when it is freed.

    By default the C library of Linux learns from the first text of some megabytes to take the next
    ones from its own heap, of which it then keeps up to 64 MB in each of several places. Elsewhere
    there is no such option, and nothing is changed.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, LARGE_BLOCK)
        set_option(_TRIM_THRESHOLD, KEPT_BYTES)


class ServerProcess:
    def __init__(
        self,
        settings: Settings,
        listeners: Sequence[socket.socket],
        *,
        with_worker: bool = True,
        metrics: MetricsPlace | None = None,
    ) -> None:
        self._certificate = certificate_of(settings)
        self._metrics = metrics or MetricsPlace()
        folder = self._metrics.folder
        self._service = Service(settings, with_worker=with_worker, metrics_folder=folder)
        self._listeners = listeners
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Idempotent; may be called from a signal handler."""
        self._stop.set()

    async def run(self, when_ready: Callable[[Services], Awaitable[None]]) -> None:
        """Serves until `stop`. Accepted requests and running jobs are finished."""
        services = await self._service.start()
        log.info("server.started", **running_version()._asdict())
        _tune_garbage_collection()
        _shorten_thread_switches()
        return_large_blocks()
        try:
            await self._serve(services, when_ready)
        finally:
            await self._service.stop()

    async def _serve(
        self, services: Services, when_ready: Callable[[Services], Awaitable[None]]
    ) -> None:
        requests = self._service.in_flight
        servers = [
            HttpServer(
                self._service.http,
                listener,
                certificate=self._certificate,
                max_connections=max_connections() // len(self._listeners),
            )
            for listener in self._listeners
        ]
        servers += self._metrics_servers()
        serving = [asyncio.create_task(server.serve()) for server in servers]
        await when_ready(services)
        warming_up = asyncio.create_task(self._warm_up())
        stopping = asyncio.create_task(self._stop.wait())
        await _first_of({*serving, stopping, warming_up})
        # Without its worker the service only seems to work. The last line raises the error.
        if not (warming_up.done() and warming_up.exception()):
            await _first_of({*serving, stopping})
        stopping.cancel()
        for each in serving:
            # A server only ends by itself if it could not start.
            if each.done():
                await each
                raise RuntimeError("the HTTP server has ended")
        log.info("server.draining", in_flight=requests.count)
        for listener in self._listeners:
            stop_accepting(listener)
        self._service.end_streams()
        await requests.drain()
        for listener in self._listeners:
            listener.close()
        for server in servers:
            server.stop()  # type: ignore[no-untyped-call]
        _, late = await asyncio.wait(serving, timeout=DRAIN_SECONDS)
        if late:
            log.warning("server.cut_off", in_flight=requests.count)
        for each in late:
            each.cancel()
        await warming_up

    def _metrics_servers(self) -> list[HttpServer]:
        page, listener = self._service.metrics, self._metrics.listener
        if page is None or listener is None:
            return []
        return [HttpServer(MetricsApp(page), listener, max_connections=METRICS_CONNECTIONS)]

    async def _warm_up(self) -> None:
        await self._service.warm_up()
        # What it has loaded lives forever, too.
        gc.freeze()


async def _first_of(tasks: Iterable[asyncio.Task[Any]]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
