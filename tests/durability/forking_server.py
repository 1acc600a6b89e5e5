"""Serves the real application from forked children, one for each line on standard input.

Importing the service takes longer than a whole round of load; a fork has it imported already.
Each child says `<pid> <port>` on standard output once it is bound.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

import uvicorn

from masthead.app import create_app


def serve() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # the first request waits in line until the service is up
        sys.stdout.write(f"{os.getpid()} {listener.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn.Config(create_app, factory=True, log_level="error", lifespan="on")
        uvicorn.Server(config).run(sockets=[listener])


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    for _ in sys.stdin:
        if os.fork() == 0:
            serve()
            os._exit(0)


if __name__ == "__main__":
    main()
