"""An OpenAI-style provider that streams answers at a steady rate.

It writes the time into every chunk, and does so little work that it is never the bottleneck.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
import time
from typing import cast

STAMP = b"at:"
STAMP_DIGITS = 17
_TICK = 0.002

_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)
_BEFORE, _, _AFTER = (
    b'data: {"id":"chatcmpl-BrT8y0Zw3cQm5uFh","object":"chat.completion.chunk",'
    b'"created":1763184000,"model":"gpt-4.1-mini-2025-04-14","service_tier":"default",'
    b'"system_fingerprint":"fp_6f2eabb9a5","choices":[{"index":0,'
    b'"delta":{"content":" tides @"},"logprobs":null,"finish_reason":null}],"usage":null}\n\n'
).partition(b"@")
_EVENT_START = b"%x\r\n" % (len(_BEFORE) + len(STAMP) + STAMP_DIGITS + len(_AFTER)) + _BEFORE
_EVENT_END = _AFTER + b"\r\n"
_LAST = (
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":57,"completion_tokens":600}}\n\n'
    b"data: [DONE]\n\n"
)
_END = b"%x\r\n%s\r\n0\r\n\r\n" % (len(_LAST), _LAST)


async def provide(port: int, scheduler: Scheduler) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: _Connection(scheduler), "127.0.0.1", port, backlog=1024)


class Scheduler:
    """All running answers, by the time of their next chunk, with one timer."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._chunks = 0
        self._interval = 1.0
        self._due: list[tuple[float, int, int, asyncio.WriteTransport]] = []
        self._order = itertools.count()
        self._random = random.Random(1)
        self._timer: asyncio.TimerHandle | None = None

    def set(self, seconds: float, per_second: float) -> None:
        """For answers that start from now on."""
        self._chunks = round(seconds * per_second)
        self._interval = 1 / per_second

    def begin(self, transport: asyncio.WriteTransport) -> None:
        transport.write(_HEAD)
        self._push(self._loop.time(), self._chunks, transport)
        self._write_due()

    def _write_due(self) -> None:
        now = self._loop.time()
        while self._due and self._due[0][0] <= now:
            due, _, left, transport = heapq.heappop(self._due)
            if transport.is_closing():
                continue
            if left:
                stamp = b"%s%017.6f" % (STAMP, time.monotonic())
                transport.write(_EVENT_START + stamp + _EVENT_END)
                # At uneven intervals, as of real models.
                self._push(
                    due + self._interval * self._random.uniform(0.5, 1.5), left - 1, transport
                )
            else:
                transport.write(_END)
                transport.close()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if self._due:
            # The loop's timers have a resolution of a millisecond; a shorter delay would spin.
            self._timer = self._loop.call_at(max(self._due[0][0], now + _TICK), self._write_due)

    def _push(self, due: float, left: int, transport: asyncio.WriteTransport) -> None:
        heapq.heappush(self._due, (due, next(self._order), left, transport))


class _Connection(asyncio.Protocol):
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._transport: asyncio.Transport | None = None
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of `asyncio.Transport`.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._transport is None:
            return
        self._head += data
        if b"\r\n\r\n" in self._head:
            transport, self._transport = self._transport, None
            self._scheduler.begin(transport)
