"""The real worker of mailings in a process that a test may kill, with a clock that is ahead by the
seconds of its argument: it finds the leases of those that were killed before it run out."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import datetime, timedelta

from masthead import clock, logs
from masthead.background import mailing_worker
from masthead.config.settings import Settings
from masthead.services import build


def main() -> None:
    asyncio.run(work(timedelta(seconds=float(sys.argv[1]))))


async def work(ahead: timedelta) -> None:
    def now() -> datetime:
        return clock.now() + ahead

    settings = Settings.from_environ(os.environ)
    logs.configure(settings.log)
    parts = await build(settings, now)
    worker = mailing_worker(parts)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    await worker.run_forever()
    await parts.close()
