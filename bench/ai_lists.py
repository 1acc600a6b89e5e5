"""Sends requests to several servers at a steady rate and measures each.

The requests interleave, so that other work of the machine affects all servers alike.
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
_GRACE_SECONDS = 30.0

Times = list[list[float]]
"""Milliseconds, by window."""


@dataclass(frozen=True)
class Target:
    port: int
    request: bytes
    per_second: float
    offset: float
    """Seconds before the first request."""


def poll(targets: Sequence[Target], seconds: float) -> list[Times]:
    """The times of each target's answers, at least one each."""
    return uvloop.run(_poll(targets, seconds))


def figures(windows: Times) -> dict[str, float]:
    """The median of the windows' percentiles, in which a single bad moment has no weight, and the
    99th percentile over all."""
    each = [percentiles(window) for window in windows]
    return {
        "p50": round(median(window["p50"] for window in each), 2),
        "p99": round(median(window["p99"] for window in each), 2),
        "p99 of all": percentiles([time for window in windows for time in window])["p99"],
    }


async def _poll(targets: Sequence[Target], seconds: float) -> list[Times]:
    loop = asyncio.get_running_loop()
    pollers = [Poller(target) for target in targets]
    for poller, target in zip(pollers, targets, strict=True):
        await loop.create_connection(lambda each=poller: each, "127.0.0.1", target.port)  # type: ignore[misc]
    began = loop.time()
    for poller in pollers:
        poller.begin(began, began + seconds)
    async with asyncio.timeout(seconds + _GRACE_SECONDS):
        await asyncio.gather(*(poller.ended for poller in pollers))
    return [_by_window(poller.times, seconds) for poller in pollers]


def _by_window(times: Iterable[tuple[float, float]], seconds: float) -> Times:
    # The rest belongs to the last window: the p99 of a shorter one would not be comparable.
    last = max(int(seconds / WINDOW_SECONDS), 1) - 1
    windows: Times = [[] for _ in range(last + 1)]
    for moment, milliseconds in times:
        windows[min(int(moment / WINDOW_SECONDS), last)].append(milliseconds)
    return [window for window in windows if window]


class Poller(asyncio.Protocol):
    """Sends one request at a time. A request that is due while another is running waits, and its
    waiting time counts. A late timer does not count."""

    def __init__(self, target: Target) -> None:
        self._loop = asyncio.get_running_loop()
        self._target = target
        self._began = 0.0
        self._end = 0.0
        self._due = 0.0
        self._waiting: deque[float] = deque()
        """When the waiting requests were due."""
        self._sent_at = 0.0
        self._received = b""
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.times: list[tuple[float, float]] = []
        """Start in seconds since the beginning, and duration in milliseconds."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of `asyncio.Transport`.
        self._transport = cast(asyncio.Transport, transport)

    def begin(self, began: float, end: float) -> None:
        self._began, self._end = time.monotonic(), end
        self._due = began + self._target.offset
        self._loop.call_at(self._due, self._tick)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if _is_whole(self._received):
            now = time.monotonic()
            self.times.append((self._sent_at - self._began, (now - self._sent_at) * 1000))
            self._sent_at, self._received = 0.0, b""
            if self._waiting:
                self._send(self._waiting.popleft())
            self._end_if_done()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(error or RuntimeError("the server closed the connection"))

    def _tick(self) -> None:
        now = time.monotonic()
        if self._sent_at:
            self._waiting.append(now)
        else:
            self._send(now)
        self._due += 1 / self._target.per_second
        if self._due < self._end:
            self._loop.call_at(self._due, self._tick)

    def _send(self, since: float) -> None:
        self._sent_at = since
        self._transport.write(self._target.request)

    def _end_if_done(self) -> None:
        if self._due >= self._end and not self._sent_at and not self.ended.done():
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
