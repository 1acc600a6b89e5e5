"""The real worker of mailings in a process that a test may kill, with a clock that is ahead by the
seconds of its first argument: it finds the leases of those that were killed before it run out. With
a second argument it is a whole service, with its HTTP server and everything that runs besides."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import datetime, timedelta

from masthead.base import clock, logs
from masthead.base.config.settings import Settings
from masthead.service.background import Background, mailing_worker
from masthead.service.serve.listener import listen
from masthead.service.serve.process import ServerProcess
from masthead.service.services import Services, build


def main() -> None:
    ahead = timedelta(seconds=float(sys.argv[1]))
    asyncio.run(serve(ahead) if sys.argv[2:] else work(ahead))


async def serve(ahead: timedelta) -> None:
    """Until it is killed."""
    settings = configured()
    server = ServerProcess(settings, listen("127.0.0.1", port=0), with_worker=False)
    running: list[asyncio.Task[None]] = []

    async def ready(_: Services) -> None:
        # Only what runs besides has the other clock.
        background = Background(await built(settings, ahead))
        running.append(asyncio.create_task(background.run_forever()))
        say_ready()

    await server.run(ready)


async def work(ahead: timedelta) -> None:
    parts = await built(configured(), ahead)
    worker = mailing_worker(parts)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    say_ready()
    await worker.run_forever()
    await parts.close()


def configured() -> Settings:
    settings = Settings.from_environ(os.environ)
    logs.configure(settings.log)
    return settings


async def built(settings: Settings, ahead: timedelta) -> Services:
    def now() -> datetime:
        return clock.now() + ahead

    return await build(settings, now)


def say_ready() -> None:
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
