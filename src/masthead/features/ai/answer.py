"""The event stream to the client, which is opened once and ended exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from masthead.web.answers import ClientDisconnected, RawHeaders, encode
from masthead.web.asgi import Send

HEADERS: RawHeaders = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store, no-transform"),
    # Otherwise proxies such as nginx would buffer the answer.
    (b"x-accel-buffering", b"no"),
]

HEARTBEAT = b": still here\n\n"
DONE = b"data: [DONE]\n\n"


class EventStream:
    def __init__(self, send: Send) -> None:
        self._send = send
        self._time = asyncio.get_running_loop().time
        self._sending = asyncio.Lock()
        """Held while the client has not received what was sent."""
        self._is_finished = False
        self._last_sent = 0.0
        self.characters = 0
        self.size = 0
        """Bytes of text."""

    async def open(self) -> None:
        self._last_sent = self._time()
        await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})

    async def texts(self, texts: Iterable[str]) -> None:
        """Sends the texts together. Returns when the client has received them."""
        content = b""
        for text in texts:
            quoted = encode(text)
            self.characters += len(text)
            self.size += len(quoted) - 2
            content += b'data: {"text":' + quoted + b"}\n\n"
        await self._write(content)

    async def finish(self, last: Mapping[str, Any] | None = None) -> None:
        """Ends the stream, after a last event if there is one."""
        event = b"" if last is None else _event(last)
        await self._write(event + DONE, is_last=True)

    async def send_heartbeat(self) -> None:
        """Skipped while something is being sent: then the client is slow, not the provider."""
        if not self._sending.locked():
            await self._write(HEARTBEAT)

    def silent_seconds(self) -> float:
        return self._time() - self._last_sent

    async def _write(self, content: bytes, *, is_last: bool = False) -> None:
        async with self._sending:
            if self._is_finished:
                return
            self._is_finished = is_last
            self._last_sent = self._time()
            try:
                await self._send(
                    {"type": "http.response.body", "body": content, "more_body": not is_last}
                )
            except OSError:
                raise ClientDisconnected from None


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + encode(value) + b"\n\n"
