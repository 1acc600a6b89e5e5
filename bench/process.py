"""Child processes of the measurements: started, waited for, and stopped by their id."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("masthead"))

_START_SECONDS = 60.0
_STOP_SECONDS = 15.0
_CALM_SECONDS = 0.5
_CALM_SHARE = 0.05
_MOST_CALM_SECONDS = 20.0
_TICKS = os.sysconf("SC_CLK_TCK")
_HEALTH = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    command: list[str], port: int, log: Path, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """The process, once it answers its health check."""
    with ended(command, log, environment) as process:
        _await_health(process, port, log)
        yield process


@contextmanager
def ended(
    command: list[str], log: Path, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is always stopped in the end."""
    # With bytecode, as an installed service: without it every start compiles all sources.
    settings = {"PYTHONDONTWRITEBYTECODE": ""} | (environment or {})
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=os.environ | settings)
    try:
        yield process
    finally:
        _end(process)


@contextmanager
def masthead(
    data_dir: Path,
    environment: dict[str, str] | None = None,
    *arguments: str,
    command: str = COMMAND,
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Runs `masthead serve`; yields its port and process."""
    port = free_port()
    serve = [command, "serve", "--no-demo", f"--port={port}", *arguments]
    settings = {"MASTHEAD_DATA_DIR": str(data_dir)}
    log = data_dir.with_name(f"{data_dir.name}.log")
    with running(serve, port, log, settings | (environment or {})) as server:
        yield port, server


@contextmanager
def child(target: Callable[..., None], *arguments: object) -> Iterator[Connection]:
    """Runs a function in a process, with the other end of the connection as last argument."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=target, args=(*arguments, theirs), daemon=True
    )
    process.start()
    # So that `recv` raises EOFError if the process ends.
    theirs.close()
    try:
        yield ours
    finally:
        process.terminate()
        process.join()


def pss_megabytes(pid: int) -> float:
    """Proportional memory of a process and its descendants; shared pages count once."""
    return sum(_kilobytes(each, "Pss:") for each in [pid, *descendants(pid)]) / 1024


def anonymous_megabytes(pid: int) -> float:
    """The same without mapped files, which the system caches as memory allows."""
    return sum(_kilobytes(each, "Pss_Anon:") for each in [pid, *descendants(pid)]) / 1024


def processor_seconds(pid: int) -> float:
    """Processor seconds of a process and its descendants, from the kernel's counts: threads and
    children that have ended included. Other work of the machine hardly changes them."""
    ticks = 0
    for each in [pid, *descendants(pid)]:
        with suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS


def wait_until_calm(pid: int) -> None:
    """Until a service has done what it does in the background, such as indexing new posts."""
    deadline = time.monotonic() + _MOST_CALM_SECONDS
    used = processor_seconds(pid)
    while time.monotonic() < deadline:
        time.sleep(_CALM_SECONDS)
        before, used = used, processor_seconds(pid)
        if used - before <= _CALM_SECONDS * _CALM_SHARE:
            return


def descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in parentheses may contain spaces and parentheses.
            parent = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(status.parent.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _kilobytes(pid: int, name: str) -> int:
    # A process that has ended has none.
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    return 0


def _await_health(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}:\n{_tail(log)}")
        if _is_healthy(port):
            return
        time.sleep(0.005)
    raise RuntimeError(f"{process.args!r} is not healthy:\n{_tail(log)}")


def _is_healthy(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(_HEALTH)
            return connection.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-20:])


def _end(process: subprocess.Popen[bytes]) -> None:
    below = descendants(process.pid) if process.poll() is None else []
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        for pid in [*below, process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait(_STOP_SECONDS)
