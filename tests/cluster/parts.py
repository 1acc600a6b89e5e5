"""A process of the cluster: started, stopped in order, killed, started again."""

from __future__ import annotations

import http.client
import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

START_SECONDS = 120.0
STOP_SECONDS = 60.0


class DidNotStart(Exception):
    pass


@dataclass
class Part:
    name: str
    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    is_ours: bool = False
    """Runs as the user who starts the cluster. The others refuse to run as root."""
    stop_signal: signal.Signals = signal.SIGTERM
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                env={**os.environ, "HOME": str(self.folder), **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                # Ctrl-C reaches only the one who stops them in order.
                start_new_session=True,
                **({} if self.is_ours else as_nobody()),
            )

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def wait_for(self, is_ready: Callable[[], Any]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            if not self.is_running or time.monotonic() > deadline:
                end = self.log.read_text(errors="replace")[-2000:]
                raise DidNotStart(f"{self.name} did not start; the end of {self.log}:\n{end}")
            try:
                if is_ready():
                    return
            except (OSError, httpx.HTTPError):
                pass
            time.sleep(0.1)


def as_nobody() -> dict[str, Any]:
    """How `Popen` leaves root; nothing for anyone else."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def give_to_nobody(folder: Path) -> None:
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def accepts(port: int) -> bool:
    socket.create_connection(("127.0.0.1", port), timeout=1).close()
    return True


def status_of(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except http.client.HTTPException:
        return 0
    finally:
        connection.close()
