"""Forks a process for each connection to its socket: `parent.py SOCKET`.

`client.py` sends one message: the function to call, its arguments, its environment, its folder and
its standard streams. It is told the process id, then the exit code. When the client dies, its
process is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
from typing import Any, NoReturn

LONGEST_MESSAGE = 1 << 20
STREAMS = 3
WHAT_TAKES_ITS_TIME = (
    *("masthead.service.app", "masthead.service.admin_face", "masthead.service.background"),
    *("masthead.service.cli.commands.serve", "masthead.service.serve.process"),
    *("masthead.storage.migrations.run", "masthead.service.metrics.snapshot", "prometheus_client"),
    *("jwt", "email_validator", "masthead.faces.importers.write.preparing"),
)
"""Everything else of the service comes with these, also what a server loads after its start."""


def main(path: str) -> None:
    for name in WHAT_TAKES_ITS_TIME:
        importlib.import_module(name)
    gc.collect()
    # A collection in a fork would write to every page of memory, each of which is then copied.
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            readable, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in readable:
                return  # the tests have ended
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                attend(connection)
            connection.close()


def attend(connection: socket.socket) -> None:
    """Starts the process, waits for its end, and reports both."""
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ended, end = os.pipe()
    os.set_blocking(end, False)
    signal.set_wakeup_fd(end)
    request, streams = receive(connection)
    pid = os.fork()
    if pid == 0:
        connection.close()
        become(request, streams)
    for each in streams:
        os.close(each)
    connection.sendall(f"{pid}\n".encode())
    readable, _, _ = select.select([ended, connection], [], [])
    if ended not in readable:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(BrokenPipeError):  # the client has died
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    data, streams, _, _ = socket.recv_fds(connection, LONGEST_MESSAGE, STREAMS)
    while not data.endswith(b"\n"):
        data += connection.recv(LONGEST_MESSAGE)
    return json.loads(data), streams


def become(request: dict[str, Any], streams: list[int]) -> None:
    """Calls the function as the whole of a new process, which ends as any other does."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    os.setsid()
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    sys.stdin = open(0)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1 if os.isatty(1) else -1)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    module, _, name = request["function"].partition(":")
    function = getattr(importlib.import_module(module), name)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [module, *request["arguments"]]
    try:
        function()
    except SystemExit as end:
        leave(end.code)
    leave(None)


def leave(code: str | int | None) -> NoReturn:
    """Ends as Python does, but leaves to the system the memory of the modules: to free it object by
    object takes longer than most commands."""
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        os._exit(120)  # as Python itself
    os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    main(sys.argv[1])
