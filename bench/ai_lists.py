"""Asking several servers at a steady rate, and how long each of them takes.

They are asked side by side, never at the same moment, so that whatever the machine does to one it
does to the others as well.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import cast

import uvloop

from bench.ai_clients import percentiles

WINDOW_SECONDS = 6.0
_PATIENCE_SECONDS = 30.0

Times = list[list[float]]
"""Milliseconds, by window."""


@dataclass(frozen=True)
class Target:
    port: int
    request: bytes
    per_second: float
    offset: float
    """Seconds by which it is asked later than the others."""


def ask(targets: Sequence[Target], seconds: float) -> list[Times]:
    """What each target's answers took; at least one answer each."""
    return uvloop.run(_ask(targets, seconds))


def figures(windows: Times) -> dict[str, float]:
    """The median of the windows' percentiles: a single bad moment of the machine is in one of them
    only. And the 99th percentile of all, in which it counts as much as everything else."""
    each = [percentiles(window) for window in windows]
    return {
        "p50": round(median(window["p50"] for window in each), 2),
        "p99": round(median(window["p99"] for window in each), 2),
        "p99 of all": percentiles([taken for window in windows for taken in window])["p99"],
    }


async def _ask(targets: Sequence[Target], seconds: float) -> list[Times]:
    loop = asyncio.get_running_loop()
    askers = [Asker(target) for target in targets]
    for asker, target in zip(askers, targets, strict=True):
        await loop.create_connection(lambda each=asker: each, "127.0.0.1", target.port)  # type: ignore[misc]
    began = loop.time()
    for asker in askers:
        asker.begin(began, began + seconds)
    async with asyncio.timeout(seconds + _PATIENCE_SECONDS):
        await asyncio.gather(*(asker.ended for asker in askers))
    return [_by_window(asker.taken, seconds) for asker in askers]


def _by_window(taken: Iterable[tuple[float, float]], seconds: float) -> Times:
    # What is left over belongs to the last window: a shorter one would have another p99.
    last = max(int(seconds / WINDOW_SECONDS), 1) - 1
    windows: Times = [[] for _ in range(last + 1)]
    for moment, milliseconds in taken:
        windows[min(int(moment / WINDOW_SECONDS), last)].append(milliseconds)
    return [window for window in windows if window]


class Asker(asyncio.Protocol):
    """Asks whether the last answer has come or not: one that is due before waits, which counts as
    its own time. Waking up late does not, since that is not the server's fault."""

    def __init__(self, target: Target) -> None:
        self._loop = asyncio.get_running_loop()
        self._target = target
        self._began = 0.0
        self._end = 0.0
        self._due = 0.0
        self._waiting: deque[float] = deque()
        """When those that are due should have been asked."""
        self._asked_at = 0.0
        self._received = b""
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.taken: list[tuple[float, float]] = []
        """When it was asked, in seconds since the beginning, and milliseconds."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods without being of the class.
        self._transport = cast(asyncio.Transport, transport)

    def begin(self, began: float, end: float) -> None:
        self._began, self._end = time.monotonic(), end
        self._due = began + self._target.offset
        self._loop.call_at(self._due, self._tick)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if _is_whole(self._received):
            now = time.monotonic()
            self.taken.append((self._asked_at - self._began, (now - self._asked_at) * 1000))
            self._asked_at, self._received = 0.0, b""
            if self._waiting:
                self._ask(self._waiting.popleft())
            self._end_if_done()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(error or RuntimeError("the server has hung up"))

    def _tick(self) -> None:
        now = time.monotonic()
        if self._asked_at:
            self._waiting.append(now)
        else:
            self._ask(now)
        self._due += 1 / self._target.per_second
        if self._due < self._end:
            self._loop.call_at(self._due, self._tick)

    def _ask(self, since: float) -> None:
        self._asked_at = since
        self._transport.write(self._target.request)

    def _end_if_done(self) -> None:
        if self._due >= self._end and not self._asked_at and not self.ended.done():
            self.ended.set_result(None)
            self._transport.close()


def _is_whole(received: bytes) -> bool:
    head, found, body = received.partition(b"\r\n\r\n")
    if not found:
        return False
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return len(body) >= int(length)
