"""A server process as `masthead serve` runs it, but for one thing: its background worker begins and
ends when it is told to, so that the same server can be watched with and without it.

SIGUSR1 starts the worker, SIGUSR2 has it finish what it has in hand; each end is a line on stdout.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import uvloop

from masthead import logs
from masthead.app import Background, Parts
from masthead.cli.listener import listen
from masthead.cli.server import Server
from masthead.settings import Settings

ENDED = "the worker has ended"


class Switch:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._worker: Background | None = None
        self._working: asyncio.Task[None] | None = None

    def on(self) -> None:
        self._worker = Background(self._parts)
        self._working = asyncio.create_task(self._worker.run_forever())
        self._working.add_done_callback(self._ended)

    def off(self) -> None:
        if self._worker is not None:
            self._worker.stop()

    def _ended(self, _: asyncio.Task[None]) -> None:
        print(ENDED, flush=True)


async def serve(port: int) -> None:
    settings = Settings.from_environ(os.environ)
    logs.configure(settings.log)
    server = Server(settings, listen("127.0.0.1", port), with_worker=False)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, server.stop)

    async def ready(parts: Parts) -> None:
        switch = Switch(parts)
        loop.add_signal_handler(signal.SIGUSR1, switch.on)
        loop.add_signal_handler(signal.SIGUSR2, switch.off)

    await server.run(ready)


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
