"""`python -m bench.ai_control`: a control server, which works as much for an answer as Masthead.

It has one thread, one connection and no other work, so its delays are caused by the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import uvloop

from bench import process

WORK_MILLISECONDS = 0.6
_ROUNDS = 200
_DOCUMENT = {f"field{number}": ["some words of a post", number, None] for number in range(20)}
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@contextmanager
def running(log: Path) -> Iterator[int]:
    """Yields its port."""
    port = process.free_port()
    command = [sys.executable, "-m", "bench.ai_control", f"--port={port}"]
    with process.running(command, port, log):
        yield port


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.ai_control", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args(arguments)
    gc.freeze()
    uvloop.run(_serve(options.port))
    return 0


async def _serve(port: int) -> None:
    repeats = _repeats()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(repeats), "127.0.0.1", port)
    async with server:
        await server.serve_forever()


def _repeats() -> int:
    """Repetitions of the work per answer, from the best of many rounds, so that a busy machine
    shows as a longer time."""
    best = min(_seconds_of(1) for _ in range(_ROUNDS))
    return max(round(WORK_MILLISECONDS / 1000 / best), 1)


def _seconds_of(repeats: int) -> float:
    began = time.perf_counter()
    _work(repeats)
    return time.perf_counter() - began


def _work(repeats: int) -> None:
    for _ in range(repeats):
        json.loads(json.dumps(_DOCUMENT))


class _Connection(asyncio.Protocol):
    def __init__(self, repeats: int) -> None:
        self._repeats = repeats

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of `asyncio.Transport`.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Requests are small and sent one at a time."""
        _work(self._repeats)
        self._transport.write(_ANSWER)


if __name__ == "__main__":
    sys.exit(main())
