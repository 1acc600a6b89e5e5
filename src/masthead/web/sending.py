"""The last step of every response: headers that all have, compression, and the status for the log.

A whole answer is compressed and sent at once. What an endpoint sends itself, message by message, is
compressed if it turns out to be one message.
"""

from __future__ import annotations

from collections.abc import Awaitable

from masthead.web.answers import Answer, RawHeaders, header_lines
from masthead.web.asgi import Message, Scope, Send
from masthead.web.compression import encode, is_compressible

NO_ANSWER = 499
"""Logged, never sent, as by nginx: the client closed the connection before the response."""
_NOSNIFF = (b"x-content-type-options", b"nosniff")
_CLOSED = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
"""For what is no page, such as JSON: a browser that shows it loads nothing, and in no frame."""


class Sending:
    """The response to one request."""

    __slots__ = ("_scope", "_send", "_start", "added", "status")

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._start: Message | None = None
        self.added: RawHeaders = []
        """Headers of the response besides those of its endpoint."""
        self.status = NO_ANSWER
        """The status that was sent: until then an error can be answered instead."""

    async def answer(self, answer: Answer) -> None:
        status, body = answer.status, answer.body
        headers = [*answer.headers, *self.added]
        if is_compressible(status, headers, body):
            headers, body = await encode(self._accepted, status, headers, body)
        _close(status, headers)
        if status not in (204, 304):
            headers.append((b"content-length", str(len(body)).encode()))
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    def send(self, message: Message) -> Awaitable[None]:
        """For endpoints that send themselves."""
        is_start = message["type"] == "http.response.start"
        if is_start or self._start is not None:
            return self._begin(message)
        # Returned without a coroutine of its own: a stream calls it many times a second.
        return self._send(message)

    async def _begin(self, message: Message) -> None:
        """Delays the start until the first body message shows whether it is the only one."""
        if message["type"] == "http.response.start":
            message["headers"] = headers = [*message["headers"], *self.added]
            _close(message["status"], headers)
            if is_compressible(message["status"], message["headers"]):
                self._start = message
                return
            self.status = message["status"]
        elif self._start is not None:
            start, self._start = self._start, None
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                message = await self._encode(start, message)
            self.status = start["status"]
            await self._send(start)
        await self._send(message)

    async def _encode(self, start: Message, message: Message) -> Message:
        """Completes the start's headers; returns the body for them."""
        body: bytes = message.get("body", b"")
        if not is_compressible(start["status"], start["headers"], body):
            return message
        headers = [each for each in start["headers"] if each[0] != b"content-length"]
        start["headers"], body = await encode(self._accepted, start["status"], headers, body)
        if start["status"] != 304:
            start["headers"].append((b"content-length", str(len(body)).encode()))
        return {**message, "body": body}

    @property
    def _accepted(self) -> bytes:
        return b",".join(header_lines(self._scope).get(b"accept-encoding", ()))


def _close(status: int, headers: RawHeaders) -> None:
    """Adds what keeps a browser from guessing a type and from loading anything, where the endpoint
    has not said how."""
    if status == 304:
        # Its headers replace those of the stored response, which have been sent.
        return
    given = dict(headers)
    if _NOSNIFF[0] not in given:
        headers.append(_NOSNIFF)
    if _CLOSED[0] not in given:
        headers.append(_CLOSED)
