"""The client's side of a generation: an event stream that is opened once and ended exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.types import Send

from masthead.web.answers import RawHeaders, encode
from masthead.web.bodies import ClientDisconnected

HEADERS: RawHeaders = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store, no-transform"),
    # Proxies such as nginx would gather the answer otherwise.
    (b"x-accel-buffering", b"no"),
]

HEARTBEAT = b": still here\n\n"
DONE = b"data: [DONE]\n\n"


class EventStream:
    def __init__(self, send: Send, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self._send = send
        self._headers = [*HEADERS, *headers]
        # The heartbeat comes from another task than the text.
        self._turn = asyncio.Lock()
        self._is_finished = False
        self._last_sent = 0.0
        self.characters = 0

    async def open(self) -> None:
        self._last_sent = asyncio.get_running_loop().time()
        await self._send({"type": "http.response.start", "status": 200, "headers": self._headers})

    async def texts(self, pieces: Iterable[str]) -> None:
        pieces = list(pieces)
        self.characters += sum(map(len, pieces))
        await self._write(b"".join(_event({"text": piece}) for piece in pieces))

    async def finish(self, last: Mapping[str, Any] | None = None) -> None:
        """Ends the stream, after one last event where there is something to say."""
        if not self._is_finished:
            event = b"" if last is None else _event(last)
            await self._write(event + DONE, is_last=True)

    async def beat(self) -> None:
        """Unless something is on its way already: then the client is slow, and not the provider."""
        if not self._turn.locked() and not self._is_finished:
            await self._write(HEARTBEAT)

    def silent_seconds(self) -> float:
        return asyncio.get_running_loop().time() - self._last_sent

    async def _write(self, content: bytes, *, is_last: bool = False) -> None:
        async with self._turn:
            if self._is_finished:
                return
            self._is_finished = is_last
            self._last_sent = asyncio.get_running_loop().time()
            message = {"type": "http.response.body", "body": content, "more_body": not is_last}
            try:
                await self._send(message)
            except OSError:
                raise ClientDisconnected from None


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + encode(value) + b"\n\n"
