"""The HTTP server of `masthead serve` with an application of the test's own, and a client that
speaks to it in raw bytes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from masthead.service.serve.http_server import HttpServer
from masthead.service.serve.listener import listen
from masthead.web.asgi import ASGIApp, Receive, Scope, Send

WAIT_SECONDS = 120


class Served:
    def __init__(self, app: ASGIApp) -> None:
        self.paths: list[str] = []
        self._app = app
        self.port = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.paths.append(scope["path"])
        await self._app(scope, receive, send)

    async def send(self, raw: bytes) -> Peer:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(raw)
        return Peer(reader, writer)


class Peer:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def answer(self) -> tuple[int, bytes]:
        """Status and body of the next answer, which says its length."""
        async with asyncio.timeout(WAIT_SECONDS):
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            body = await self._reader.readexactly(int(length[1])) if length else b""
        return int(head.split(b" ")[1]), body

    async def rest(self) -> bytes:
        """Everything until the server closes the connection."""
        async with asyncio.timeout(WAIT_SECONDS):
            try:
                return await self._reader.read()
            except ConnectionResetError:
                return b""
            finally:
                self.writer.close()


@asynccontextmanager
async def serving(app: ASGIApp, **options: Any) -> AsyncIterator[Served]:
    served = Served(app)
    (listener,) = listen("127.0.0.1", port=0)
    served.port = listener.getsockname()[1]
    server = HttpServer(served, listener, **options)
    running = asyncio.create_task(server.serve())
    try:
        yield served
    finally:
        listener.close()
        server.stop()  # type: ignore[no-untyped-call]
        await running


def request(path: str = "/", *lines: str, body: bytes = b"") -> bytes:
    method = "POST" if body else "GET"
    length = (f"Content-Length: {len(body)}",) if body else ()
    head = [f"{method} {path} HTTP/1.1", "Host: a.example", *lines, *length, "", ""]
    return "\r\n".join(head).encode("latin-1") + body


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with what it was asked: the path, or the body if there is one."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    body = body or scope["path"].encode()
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})
