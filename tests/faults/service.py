"""The whole service with its worker, in a process that a test may kill, with a clock that it moves.

It says `<pid> <port>` on standard output once it is bound.
"""

from __future__ import annotations

import os
import socket
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import uvicorn

from masthead.base import logs
from masthead.base.config.settings import Settings
from masthead.service.app import Service

OFFSET = "FAULTS_CLOCK"
"""Names a file with the seconds by which the service's clock is ahead."""


class MovedClock:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=float(self._path.read_text()))


def serve() -> None:
    settings = Settings.from_environ(
        {name: value for name, value in os.environ.items() if name != OFFSET}
    )
    logs.configure(settings.log)
    service = Service(settings, now=MovedClock(Path(os.environ[OFFSET])))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sys.stdout.write(f"{os.getpid()} {listener.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn.Config(
            service, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=3
        )  # type: ignore[arg-type]
        uvicorn.Server(config).run(sockets=[listener])
