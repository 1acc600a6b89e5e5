"""`python -m bench.ai_streams`: the provider and its readers, in one separate process.

They share an event loop and do little work, because they use the cores of this machine. Each line
on standard input starts streams; a line on standard output has their figures.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import uvloop

from bench import process
from bench.ai_clients import Figures, read_all
from bench.ai_provider import Scheduler, provide

_ROOT = Path(__file__).resolve().parents[1]
_GRACE_SECONDS = 30.0


@dataclass(frozen=True)
class Load:
    """Streams of `seconds` each, started over `over_seconds`."""

    port: int
    request: str
    streams: int
    seconds: float
    per_second: float
    over_seconds: float


class Streams:
    def __init__(self, port: int, stdin: IO[str], stdout: IO[str]) -> None:
        self.port = port
        """Of the provider."""
        self._stdin = stdin
        self._stdout = stdout

    def begin(self, load: Load) -> None:
        self._stdin.write(json.dumps(asdict(load)) + "\n")
        self._stdin.flush()

    def end(self) -> Figures:
        """Waits until the streams have ended."""
        line = self._stdout.readline()
        if not line:
            raise RuntimeError("the process of the provider has ended")
        return Figures(**json.loads(line))


@contextmanager
def running() -> Iterator[Streams]:
    port = process.free_port()
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.ai_streams", f"--port={port}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=_ROOT,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        try:
            yield Streams(port, child.stdin, child.stdout)
        finally:
            child.terminate()
            child.wait(_GRACE_SECONDS)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.ai_streams", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args(arguments)
    gc.freeze()
    uvloop.run(_serve(options.port))
    return 0


async def _serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    scheduler = Scheduler(loop)
    async with await provide(port, scheduler):
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            load = Load(**json.loads(line))
            scheduler.set(load.seconds, load.per_second)
            figures = await _read(load)
            print(json.dumps(asdict(figures)), flush=True)


async def _read(load: Load) -> Figures:
    began, used = time.monotonic(), time.process_time()
    readers = await read_all(
        load.port, load.request.encode(), load.streams, load.seconds, load.over_seconds
    )
    share = (time.process_time() - used) / (time.monotonic() - began)
    return Figures.of(readers, share)


if __name__ == "__main__":
    sys.exit(main())
