"""Runs `masthead serve` in a process for a test."""

from __future__ import annotations

import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from tests.forking import forked_program
from tests.service.cli.commands import plain_environment

START_SECONDS = 120


class Running:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.address = self.line().removeprefix("listening on ")

    def line(self) -> str:
        """The next line on its standard output, waited for."""
        return self._lines.get(timeout=START_SECONDS)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put("<the end>")

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def get(self, path: str, slug: str = "demo", **headers: str) -> httpx.Response:
        named = {"Host": f"{slug}.localhost:{self.port}", **headers}
        return httpx.get(self.address + path, headers=named, timeout=120)

    def post(self, path: str, body: object, slug: str = "demo", **headers: str) -> httpx.Response:
        named = {"Host": f"{slug}.localhost:{self.port}", **headers}
        return httpx.post(self.address + path, json=body, headers=named, timeout=120)

    def terminate(self) -> int:
        """The exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)


@contextmanager
def serving(
    data_dir: Path, *options: str, program: Path | None = None, **environment: str
) -> Iterator[Running]:
    with (data_dir.parent / f"{data_dir.name}.log").open("w") as log:
        process = subprocess.Popen(
            [program or forked_program(), "serve", "--port", "0", "--data-dir", data_dir, *options],
            env=plain_environment(**environment),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield Running(process)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        assert process.stdout is not None
        process.stdout.close()
