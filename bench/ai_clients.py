"""Clients that read event streams and measure the age of every chunk on arrival."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from bench.ai_provider import STAMP, STAMP_DIGITS

_STAMP_BYTES = len(STAMP) + STAMP_DIGITS
_DONE = b"[DONE]"
_GRACE_SECONDS = 30.0


@dataclass(frozen=True)
class Figures:
    completed: int
    chunks: int
    first_ms: dict[str, float]
    """From the request to the first chunk."""
    delay_ms: dict[str, float]
    """From the provider's write of a chunk to its arrival, for all but the first."""
    cpu_share: float
    """Of a core, used by the provider and the clients."""

    @classmethod
    def of(cls, readers: Sequence[Reader], cpu_share: float) -> Figures:
        delays = [delay for reader in readers for delay in reader.delays_ms[1:]]
        return cls(
            completed=sum(reader.is_complete for reader in readers),
            chunks=len(delays),
            first_ms=percentiles([reader.first_ms for reader in readers]),
            delay_ms=percentiles(delays),
            cpu_share=round(cpu_share, 2),
        )


async def read_all(
    port: int, request: bytes, streams: int, seconds: float, over_seconds: float
) -> list[Reader]:
    loop = asyncio.get_running_loop()
    began = time.monotonic()
    readers = [Reader(request) for _ in range(streams)]
    for number, reader in enumerate(readers):
        # Spread over time, as real requests are.
        await asyncio.sleep(began + number * over_seconds / streams - time.monotonic())
        await loop.create_connection(lambda each=reader: each, "127.0.0.1", port)  # type: ignore[misc]
    async with asyncio.timeout(seconds + _GRACE_SECONDS):
        await asyncio.gather(*(reader.ended for reader in readers))
    return readers


class Reader(asyncio.Protocol):
    def __init__(self, request: bytes) -> None:
        self._request = request
        self._rest = b""
        self._began = 0.0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.delays_ms: list[float] = []
        self.first_ms = 0.0
        self.is_complete = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of `asyncio.Transport`.
        self._transport = cast(asyncio.Transport, transport)
        self._began = time.monotonic()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        if self._rest:
            data = self._rest + data
        start = 0
        while (found := data.find(STAMP, start)) >= 0 and found + _STAMP_BYTES <= len(data):
            start = found + _STAMP_BYTES
            self.first_ms = self.first_ms or (now - self._began) * 1000
            self.delays_ms.append((now - float(data[found + len(STAMP) : start])) * 1000)
        if data.find(_DONE, start) >= 0:
            self.is_complete = True
            self._transport.close()
        # A stamp, or the end, may be split over two reads, but not after a complete event.
        is_whole = data.endswith((b"\n\n", b"\n\n\r\n"))
        self._rest = b"" if is_whole else data[max(start, len(data) - _STAMP_BYTES) :]

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


def percentiles(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    last = len(ordered) - 1
    return {
        f"p{percent:g}": round(ordered[min(last, int(len(ordered) * percent / 100))], 2)
        for percent in (50, 99, 99.9, 100)
    }
