"""Runs the real delivery worker in forked children, one for each line on standard input.

Importing the service takes longer than a worker lives in these tests; a fork has it imported
already. Each child says its process id once it is at work, and ends politely at SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from datetime import timedelta

from masthead.config.settings import Settings
from masthead.parts import build
from masthead.schema import tables
from masthead.webhooks.deliver import DeliveryWorker
from masthead.webhooks.queue import DeliveryQueue


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


def main(lease_seconds: str, attempt_seconds: str) -> None:
    lease = timedelta(seconds=float(lease_seconds))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the killed
    for _ in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                asyncio.run(work(lease, float(attempt_seconds)))
            except Exception:
                # In place of a process id, for which the test would wait for ever.
                sys.stdout.write(f"{traceback.format_exc()!r}\n")
                sys.stdout.flush()
            os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
