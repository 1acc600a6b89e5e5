"""The real application on a free port, in a process that a test may kill.

It says `<pid> <port>` on standard output once it is bound.
"""

from __future__ import annotations

import os
import socket
import sys

import uvicorn

from masthead.service.app import create_app


def serve() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # the first request waits in line until the service is up
        sys.stdout.write(f"{os.getpid()} {listener.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn.Config(create_app, factory=True, log_level="error", lifespan="on")
        uvicorn.Server(config).run(sockets=[listener])
