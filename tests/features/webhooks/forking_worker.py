"""The real delivery worker in a process that a test may kill.

Its arguments are its lease and how long it waits for an answer, in seconds. It says its process id
once it is at work, and ends politely at SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import timedelta

from masthead.base.config.settings import Settings
from masthead.features.webhooks.deliver import DeliveryWorker
from masthead.features.webhooks.queue import DeliveryQueue
from masthead.service.schema import tables
from masthead.service.services import build


def main() -> None:
    lease, attempt = map(float, sys.argv[1:])
    asyncio.run(work(timedelta(seconds=lease), attempt))


async def work(lease: timedelta, attempt_seconds: float) -> None:
    parts = await build(Settings.from_environ(os.environ))
    worker = DeliveryWorker(
        DeliveryQueue(parts.database, tables, lease=lease),
        parts.outbound,
        parts.keyring,
        parts.settings.retry_policy,
        attempt_seconds=attempt_seconds,
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    await worker.run_forever()
    await parts.close()
