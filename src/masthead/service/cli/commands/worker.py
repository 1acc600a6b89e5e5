"""`masthead worker`: runs a separate background worker."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from masthead.base.logs import log
from masthead.base.version import running_version
from masthead.service.background import Background
from masthead.service.cli.invocation import Invocation, command
from masthead.service.cli.opened_installation import configure_logs, prepare_settings
from masthead.service.serve.listener import CannotListen
from masthead.service.serve.metrics_place import metrics_listener
from masthead.service.services import Services, build
from masthead.service.tracing.setup import open_traces
from masthead.storage.presence import Presence
from masthead.web.in_flight import InFlight


@command("worker", prints=False)
async def worker(invocation: Invocation) -> None:
    """Runs deliveries, exports, erasures and emails until SIGTERM or Ctrl-C."""
    settings = await prepare_settings(invocation)
    configure_logs(settings)
    traces = open_traces(settings)
    parts = await build(settings)
    presence = Presence(parts.database)
    presence.begin()
    try:
        runner = Background(parts, traces)
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, runner.stop)
        log.info("worker.started", **running_version()._asdict())
        async with _metrics_shown(parts):
            await runner.run_forever()
    finally:
        await presence.end()
        await parts.close()
        if traces:
            await traces.close()
    log.info("worker.stopped")


@asynccontextmanager
async def _metrics_shown(parts: Services) -> AsyncIterator[None]:
    """On a port of its own. A service on the same machine may have it already; the worker runs
    without, then."""
    try:
        listener = metrics_listener(parts.settings)
    except CannotListen as error:
        log.warning("worker.without_metrics", cause=str(error))
        listener = None
    if listener is None:
        yield
        return
    # Loaded here: a worker without metrics needs no HTTP server.
    from masthead.service.app import metrics_page
    from masthead.service.metrics.page import MetricsApp
    from masthead.service.serve.http_server import HttpServer

    server = HttpServer(MetricsApp(metrics_page(parts, InFlight())), listener, max_connections=16)
    serving = asyncio.create_task(server.serve())
    try:
        yield
    finally:
        listener.close()
        server.stop()  # type: ignore[no-untyped-call]
        await serving
