"""A server process like that of `masthead serve`, in which signals start and stop erasures, so that
the same server can be measured with and without them.

SIGUSR1 starts, SIGUSR2 stops after the current job; each stop is a line on stdout.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import msgspec
import uvloop

from masthead.base import logs
from masthead.base.config.settings import Settings
from masthead.engine.jobs.runner import Handler, Job
from masthead.features.privacy.jobs import PrivacyWork
from masthead.service.background import Background
from masthead.service.serve.listener import listen
from masthead.service.serve.process import ServerProcess
from masthead.service.services import Services

ENDED = "the erasing has ended"


class GatedWork(PrivacyWork):
    """Privacy jobs that wait while the gate is closed."""

    def __init__(self, work: PrivacyWork) -> None:
        vars(self).update(vars(work))
        self._gate = asyncio.Event()
        self._running = 0

    def handlers(self) -> Mapping[str, Handler]:
        return {kind: partial(self._run, each) for kind, each in super().handlers().items()}

    async def _run(self, handler: Handler, job: Job) -> None:
        await self._gate.wait()
        self._running += 1
        try:
            await handler(job)
        finally:
            self._running -= 1
            self._print_if_ended()

    def open(self) -> None:
        self._gate.set()

    def close(self) -> None:
        self._gate.clear()
        self._print_if_ended()

    def _print_if_ended(self) -> None:
        if not self._running and not self._gate.is_set():
            print(ENDED, flush=True)


async def serve(port: int) -> None:
    settings = Settings.from_environ(os.environ)
    logs.configure(settings.log)
    server = ServerProcess(settings, listen("127.0.0.1", port=port), with_worker=False)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, server.stop)

    async def ready(parts: Services) -> None:
        work = GatedWork(parts.privacy.work)
        loop.add_signal_handler(signal.SIGUSR1, work.open)
        loop.add_signal_handler(signal.SIGUSR2, work.close)
        worker = Background(
            replace(parts, privacy=msgspec.structs.replace(parts.privacy, work=work))
        )
        workers[worker] = asyncio.create_task(worker.run_forever())

    workers: dict[Background, asyncio.Task[None]] = {}
    await server.run(ready)


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
