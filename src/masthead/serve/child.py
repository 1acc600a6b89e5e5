"""The command of one server process under the supervisor: `… child FD,FD [--no-worker]`."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Sequence

import uvloop

from masthead import logs
from masthead.config.settings import Settings
from masthead.errors import MastheadError
from masthead.serve.process import ServerProcess
from masthead.serve.supervisor import READY
from masthead.services import Services


async def serve(descriptors: Sequence[int], *, with_worker: bool) -> None:
    settings = Settings.from_environ(os.environ)
    logs.configure(settings.log)
    listeners = [socket.socket(fileno=each) for each in descriptors]
    server = ServerProcess(settings, listeners, with_worker=with_worker)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, server.stop)
    # The parent never writes to it: it becomes readable when the parent ends.
    loop.add_reader(sys.stdin.fileno(), server.stop)

    async def report_ready(_: Services) -> None:
        os.write(sys.stdout.fileno(), READY)

    await server.run(report_ready)


if __name__ == "__main__":
    try:
        given = [int(each) for each in sys.argv[1].split(",")]
        uvloop.run(serve(given, with_worker="--no-worker" not in sys.argv))
    except MastheadError as error:
        sys.exit(f"masthead: {error}")
