"""The command of one server process under the supervisor:
`… child FD,FD [--no-worker] [--metrics-folder=PATH] [--metrics-socket=FD]`."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import uvloop

from masthead.base import logs
from masthead.base.config.settings import Settings
from masthead.base.errors import MastheadError
from masthead.service.serve.metrics_place import MetricsPlace
from masthead.service.serve.process import ServerProcess
from masthead.service.serve.supervisor import METRICS_FOLDER, METRICS_SOCKET, READY
from masthead.service.services import Services


async def serve(descriptors: Sequence[int], metrics: MetricsPlace, *, with_worker: bool) -> None:
    settings = Settings.from_environ(os.environ)
    logs.configure(settings.log)
    listeners = [socket.socket(fileno=each) for each in descriptors]
    server = ServerProcess(settings, listeners, with_worker=with_worker, metrics=metrics)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, server.stop)
    # The parent never writes to it: it becomes readable when the parent ends.
    loop.add_reader(sys.stdin.fileno(), server.stop)

    async def report_ready(_: Services) -> None:
        os.write(sys.stdout.fileno(), READY)

    await server.run(report_ready)


def _metrics_place(arguments: Sequence[str]) -> MetricsPlace:
    folder, descriptor = (
        next((each.removeprefix(name) for each in arguments if each.startswith(name)), "")
        for name in (METRICS_FOLDER, METRICS_SOCKET)
    )
    return MetricsPlace(
        socket.socket(fileno=int(descriptor)) if descriptor else None,
        Path(folder) if folder else None,
    )


if __name__ == "__main__":
    try:
        given = [int(each) for each in sys.argv[1].split(",")]
        place = _metrics_place(sys.argv)
        uvloop.run(serve(given, place, with_worker="--no-worker" not in sys.argv))
    except MastheadError as error:
        sys.exit(f"masthead: {error}")
