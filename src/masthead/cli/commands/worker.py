"""`masthead worker`: runs a separate background worker."""

from __future__ import annotations

import asyncio
import signal

import structlog

from masthead.background import Background
from masthead.cli.invocation import Invocation, command
from masthead.cli.opened_installation import prepared_settings
from masthead.services import build

log = structlog.get_logger()


@command("worker", prints=False)
async def worker(invocation: Invocation) -> None:
    """Runs deliveries, exports, erasures and emails until SIGTERM or Ctrl-C."""
    parts = await build(await prepared_settings(invocation))
    try:
        runner = Background(parts)
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, runner.stop)
        log.info("worker.started")
        await runner.run_forever()
    finally:
        await parts.close()
    log.info("worker.stopped")
