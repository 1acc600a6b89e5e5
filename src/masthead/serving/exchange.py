"""One request and its answer, as the ASGI application sees them.

Every request pays for what is here: the usual one waits for nothing and is answered by one write.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import structlog
from starlette.types import ASGIApp, Message

from masthead.serving.heads import CHUNKED, NO_BODY, UNTIL_CLOSE, head_of

if TYPE_CHECKING:
    from masthead.serving.connection import Connection

log = structlog.get_logger()

LARGE = 64 * 1024
"""Bytes of a body that are not worth copying to have them in one piece with the head."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Exchange:
    __slots__ = (
        "_chunks",
        "_connection",
        "_has_asked",
        "_has_told_all",
        "_head",
        "_is_left",
        "_left",
        "_waiters",
        "buffered",
        "has_begun",
        "is_done",
        "is_whole",
        "keep_alive",
        "scope",
    )

    def __init__(self, connection: Connection, scope: dict[str, Any], keep_alive: bool) -> None:
        self._connection = connection
        self.scope = scope
        self.keep_alive = keep_alive
        self.is_whole = False
        """The request is here to its end."""
        self.buffered = 0
        """Bytes of the body that the application has not taken."""
        self._chunks: list[bytes] = []
        self._has_told_all = False
        self._has_asked = False
        self._is_left = False
        """Nothing more will come from the client."""
        self._waiters: tuple[asyncio.Future[None], ...] = ()
        """One for each `receive` that waits, so that cancelling one leaves the others alone."""
        self._head: bytes | None = None
        """Of the answer; empty once it is written."""
        self._left = 0
        """Bytes that the answer still has to have, or how else it ends."""
        self.has_begun = False
        """Something of the answer was written."""
        self.is_done = False
        """All of the answer was written, and as it was announced."""

    async def run(self, app: ASGIApp) -> None:
        try:
            await app(self.scope, self.receive, self.send)
        # The last of a request's edges: the front door answers for errors as long as it can.
        except Exception:
            log.exception("request.broken_off", path=self.scope["path"])
        finally:
            self._connection.ended(self)

    @property
    def ends_with_the_connection(self) -> bool:
        """The client can tell a complete answer from a cut one by nothing else."""
        return self._left == UNTIL_CLOSE

    @property
    def awaits_body(self) -> bool:
        """The application has asked for more of it than has come."""
        return not self.is_whole and not all(each.done() for each in self._waiters)

    def body_came(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self.buffered += len(chunk)
        if self._waiters:
            self._connection.awaited_pieces += 1
            self._wake()

    def body_ended(self) -> None:
        self.is_whole = True
        if self._waiters:
            self._wake()

    def left(self) -> None:
        self._is_left = True
        if self._waiters:
            self._wake()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, ()
        for each in waiters:
            if not each.done():
                each.set_result(None)

    async def receive(self) -> Message:
        while not self._chunks and (self._has_told_all or not self.is_whole):
            if self._is_left or self.is_done:
                return {"type": "http.disconnect"}
            await self._news()
        if self._is_left and not self.is_whole:
            return {"type": "http.disconnect"}
        chunks, self._chunks = self._chunks, []
        self._has_told_all = is_whole = self.is_whole
        if self.buffered:
            self.buffered = 0
            if self._connection.is_held:
                self._connection.let_more_in()
        return {
            "type": "http.request",
            "body": chunks[0] if len(chunks) == 1 else b"".join(chunks),
            "more_body": not is_whole,
        }

    async def _news(self) -> None:
        if not self._has_asked:
            self._has_asked = True
            if not self.is_whole and self._head is None and self._awaits_continue():
                self._connection.transport.write(CONTINUE)
        news = asyncio.get_running_loop().create_future()
        self._waiters = (*(each for each in self._waiters if not each.done()), news)
        await news

    def _awaits_continue(self) -> bool:
        return self.scope["http_version"] == "1.1" and any(
            name == b"expect" and value.lower() == b"100-continue"
            for name, value in self.scope["headers"]
        )

    async def send(self, message: Message) -> None:
        connection = self._connection
        if connection.is_lost:
            return
        if message["type"] == "http.response.start":
            self._begin(message)
            return
        if self._head is None or self.is_done:
            raise RuntimeError("an answer has one start, and ends once")
        body = message.get("body", b"")
        is_last = not message.get("more_body", False)
        left = self._left
        if left >= 0:
            self._left = left = left - len(body)
            if left < 0 or (is_last and left):
                body, is_last = self._misframed(body), False
        elif left == CHUNKED:
            body = _chunk(body, is_last=is_last)
        elif left == NO_BODY:
            body = b""
        self._write(body)
        if is_last:
            self.is_done = True
            if self._waiters:
                self._wake()
        if connection.is_full:
            await connection.drained()

    def _begin(self, message: Message) -> None:
        if self._head is not None:
            raise RuntimeError("an answer has one start, and ends once")
        scope = self.scope
        connection = self._connection
        # Whoever has not read the request to its end can't tell where the next one begins.
        stays = self.keep_alive and self.is_whole and not connection.server.is_draining
        self._head, self._left, self.keep_alive = head_of(
            message["status"],
            message.get("headers", ()),
            keep_alive=stays,
            is_head=scope["method"] == "HEAD",
            knows_chunks=scope["http_version"] == "1.1",
        )
        if self._left < 0:
            # What has a length follows at once, in one piece with the head; a stream may not.
            self._write(b"")

    def _write(self, body: bytes) -> None:
        transport = self._connection.transport
        head = self._head
        if head:
            self._head = b""
            self.has_begun = True
            if len(body) > LARGE:
                transport.writelines((head, body))
            else:
                transport.write(head + body)
        elif body:
            transport.write(body)

    def _misframed(self, body: bytes) -> bytes:
        """What may be sent of it. The client must not take more than was announced for a part of
        this answer, nor less for all of it."""
        excess = -self._left
        path = self.scope["path"]
        log.error("request.misframed", path=path, body="longer" if excess > 0 else "shorter")
        self.keep_alive = False
        if excess > 0:
            self._left = NO_BODY
            body = body[:-excess]
        return body


def _chunk(body: bytes, *, is_last: bool) -> bytes:
    end = b"0\r\n\r\n" if is_last else b""
    return b"%x\r\n%b\r\n%b" % (len(body), body, end) if body else end
