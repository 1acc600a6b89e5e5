"""Reads what is left of a request's body when the answer comes first, as refusals do.

The HTTP server closes a connection whose request it has not read to its end. A client that is still
sending then sees a broken connection instead of the answer.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable

from masthead.web.answers import header_lines
from masthead.web.asgi import ASGIApp, Message, Receive, Scope, Send

MAX_BYTES = 256 * 1024
"""Read before the answer, so that the connection can be used again."""
READ_SECONDS = 5.0
MAX_LINGER_BYTES = 4 * 1024 * 1024
"""Bytes of a longer body that are read after the answer: the connection ends, but not before the
client had time to see the answer (RFC 9112, 9.6)."""
LINGER_SECONDS = 1.0
LINGER_RATE = 8 * 1024 * 1024
"""Bytes a second of all such bodies, and twice that at once. A flood of refused bodies is not read
any faster: the rest of it waits in the network until its connections end."""

_CLOSE = (b"connection", b"close")
_WITHOUT_BODY = ("GET", "HEAD")


class UnreadBodies:
    """An ASGI middleware for a server of HTTP/1."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if (
            scope["type"] != "http"
            or scope["method"] in _WITHOUT_BODY
            # The streams of HTTP/2 end one by one.
            or not scope["http_version"].startswith("1")
        ):
            return self._app(scope, receive, send)
        exchange = _Exchange(scope, receive, send)
        return self._app(scope, exchange.receive, exchange.send)


class _Exchange:
    __slots__ = ("_is_closing", "_is_read", "_left", "_length", "_receive", "_send")

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._length = self._left = _length(scope)
        self._is_read = self._length == 0
        self._is_closing = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left == 0:
            # The server tells the end of a body in a message of its own, which takes as long.
            message["more_body"] = False
        if not message.get("more_body", False):
            self._is_read = True
        return message

    def send(self, message: Message) -> Awaitable[None]:
        if self._is_read and not self._is_closing:
            # Returned without a coroutine of its own: nearly every answer comes after its body.
            return self._send(message)
        return self._send_early(message)

    async def _send_early(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._begin(message)
        elif message.get("more_body", False) or not self._is_closing:
            await self._send(message)
        else:
            # All of the answer is sent, but not its end, at which the server closes.
            await self._send({**message, "more_body": True})
            await self._linger()
            await self._send({"type": "http.response.body", "body": b""})

    async def _linger(self) -> None:
        try:
            async with asyncio.timeout(LINGER_SECONDS) as limit:
                read = 0
                while not self._is_read and read <= MAX_LINGER_BYTES:
                    if not _lingering.has_room(asyncio.get_running_loop().time()):
                        # Until the timeout: the client has time to see the answer all the same.
                        await asyncio.get_running_loop().create_future()
                    count = len((await self.receive()).get("body", b""))
                    _lingering.room -= count
                    read += count
        except TimeoutError:
            if not limit.expired():
                raise

    async def _begin(self, message: Message) -> None:
        if self._length <= MAX_BYTES:
            await self._read(MAX_BYTES, READ_SECONDS)
        self._is_closing = not self._is_read
        if self._is_closing:
            message["headers"] = [*message["headers"], _CLOSE]
        await self._send(message)

    async def _read(self, most: int, seconds: float) -> None:
        read = 0
        try:
            async with asyncio.timeout(seconds):
                while not self._is_read and read <= most:
                    read += len((await self.receive()).get("body", b""))
        except TimeoutError:
            return


class _Lingering:
    """The number of bytes that may be read now of all unread bodies."""

    def __init__(self) -> None:
        self.room = 2.0 * LINGER_RATE
        self._at = 0.0

    def has_room(self, now: float) -> bool:
        # The clock of another loop may be behind.
        passed = max(0.0, now - self._at)
        self.room = min(2.0 * LINGER_RATE, self.room + passed * LINGER_RATE)
        self._at = now
        return self.room > 0


_lingering = _Lingering()


def _length(scope: Scope) -> float:
    """The body's length in bytes; 0 without a body. If it is in chunks (-1), or its sender waits
    for a word before it sends (`Expect`), it is read as far as the limits allow, or not at all."""
    lines = header_lines(scope)
    if b"expect" in lines:
        return math.inf
    if b"transfer-encoding" in lines:
        return -1
    given = [value for value in lines.get(b"content-length", ()) if value.isdigit()]
    return int(given[-1][:20]) if given else 0
