"""`python -m bench.ai_clients`: many readers of event streams in a process of their own.

Each sends the request that came on standard input and notes how old every chunk is when it comes;
the figures go to standard output as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import cast

import uvloop

from bench.ai_provider import STAMP, STAMP_DIGITS

_ROOT = Path(__file__).resolve().parents[1]
_STAMP_BYTES = len(STAMP) + STAMP_DIGITS
_DONE = b"[DONE]"
_PATIENCE_SECONDS = 30.0


@dataclass(frozen=True)
class Figures:
    completed: int
    chunks: int
    first_ms: dict[str, float]
    """From the request to the first chunk."""
    delay_ms: dict[str, float]
    """From the provider's writing a chunk to the client's having it, for all but the first."""
    cpu_share: float
    """What of a core the clients used themselves."""


async def run(
    port: int, request: bytes, *, streams: int, seconds: float, over_seconds: float
) -> Figures:
    """Reads so many streams of that length, begun one after the other over so many seconds."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bench.ai_clients", f"--port={port}"),
        *(f"--streams={streams}", f"--seconds={seconds}", f"--over={over_seconds}"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=_ROOT,
    )
    output, _ = await child.communicate(request)
    if child.returncode:
        raise RuntimeError(f"the clients ended with {child.returncode}")
    return Figures(**json.loads(output))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.ai_clients", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--streams", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--over", type=float, required=True)
    options = parser.parse_args(arguments)
    request = sys.stdin.buffer.read()
    gc.freeze()
    figures = uvloop.run(_read_all(request, options))
    json.dump(asdict(figures), sys.stdout)
    return 0


async def _read_all(request: bytes, options: argparse.Namespace) -> Figures:
    loop = asyncio.get_running_loop()
    began, used = time.monotonic(), time.process_time()
    readers = [_Reader(request) for _ in range(options.streams)]
    for number, reader in enumerate(readers):
        # People do not all click in the same millisecond.
        await asyncio.sleep(began + number * options.over / options.streams - time.monotonic())
        await loop.create_connection(partial(_itself, reader), "127.0.0.1", options.port)
    async with asyncio.timeout(options.seconds + _PATIENCE_SECONDS):
        await asyncio.gather(*(reader.ended for reader in readers))
    share = (time.process_time() - used) / (time.monotonic() - began)
    delays = [delay for reader in readers for delay in reader.delays_ms[1:]]
    return Figures(
        completed=sum(reader.is_complete for reader in readers),
        chunks=len(delays),
        first_ms=percentiles([reader.first_ms for reader in readers]),
        delay_ms=percentiles(delays),
        cpu_share=round(share, 2),
    )


def _itself(reader: _Reader) -> _Reader:
    return reader


class _Reader(asyncio.Protocol):
    def __init__(self, request: bytes) -> None:
        self._request = request
        self._rest = b""
        self._began = 0.0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.delays_ms: list[float] = []
        self.first_ms = 0.0
        self.is_complete = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods without being of the class.
        self._transport = cast(asyncio.Transport, transport)
        self._began = time.monotonic()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        data = self._rest + data
        start = 0
        while (found := data.find(STAMP, start)) >= 0 and found + _STAMP_BYTES <= len(data):
            start = found + _STAMP_BYTES
            self.first_ms = self.first_ms or (now - self._began) * 1000
            self.delays_ms.append((now - float(data[found + len(STAMP) : start])) * 1000)
        # A stamp may have been cut in two.
        self._rest = data[max(start, len(data) - _STAMP_BYTES) :]
        if _DONE in data:
            self.is_complete = True
            self._transport.close()

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


def percentiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    last = len(ordered) - 1
    return {
        f"p{percent:g}": round(ordered[min(last, int(len(ordered) * percent / 100))], 2)
        for percent in (50, 99, 99.9, 100)
    }


if __name__ == "__main__":
    sys.exit(main())
