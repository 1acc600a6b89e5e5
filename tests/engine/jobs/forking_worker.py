"""The real job runner in a process that a test may kill.

Its argument says by how many seconds its clock is ahead: a worker started an hour later finds the
leases of the killed run out. It says its process id once it is at work, and ends politely at
SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import datetime, timedelta

from masthead.base import clock, logs
from masthead.base.config.settings import Settings
from masthead.service.background import job_runner
from masthead.service.services import build


def main() -> None:
    asyncio.run(work(timedelta(seconds=float(sys.argv[1]))))


async def work(ahead: timedelta) -> None:
    def now() -> datetime:
        return clock.now() + ahead

    settings = Settings.from_environ(os.environ)
    logs.configure(settings.log)
    parts = await build(settings, now)
    runner = job_runner(parts)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, runner.stop)
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    await runner.run_forever()
    await parts.close()
