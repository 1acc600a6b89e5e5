"""A server with an application of the test's own, and a peer that speaks to it in raw bytes.

The server runs on the loop that it has in production, in a thread of its own, so that a peer may
wait for an answer as the simplest of clients do.
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, NamedTuple

import uvloop
from starlette.types import ASGIApp, Receive, Scope, Send

from masthead.serving.connection import Connection
from masthead.serving.limits import Limits
from masthead.serving.server import HttpServer

PATIENCE_SECONDS = 20


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes
    head: bytes


class Served:
    """The application at a port, and the requests that it was called for."""

    def __init__(self, app: ASGIApp, limits: Limits | None) -> None:
        self.scopes: list[Scope] = []
        self._app = app
        self._loop = uvloop.new_event_loop()
        self._failures: list[dict[str, Any]] = []
        self._loop.set_exception_handler(lambda _, failure: self._failures.append(failure))
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.server = self.on_the_loop(self._start(listener, limits))

    async def _start(self, listener: socket.socket, limits: Limits | None) -> HttpServer:
        server = HttpServer(self._noted, limits)
        await server.start(listener, backlog=100)
        return server

    async def _noted(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        await self._app(scope, receive, send)

    @property
    def paths(self) -> list[str]:
        return [each["path"] for each in self.scopes]

    def on_the_loop(self, work: Any) -> Any:
        return self.begin(work).result(PATIENCE_SECONDS)

    def begin(self, work: Any) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, function: Callable[..., object], *arguments: object) -> Any:
        async def called() -> object:
            return function(*arguments)

        return self.on_the_loop(called())

    def wait_until(self, condition: Callable[[], bool]) -> None:
        async def waited() -> None:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not condition():
                    await asyncio.sleep(0.001)

        self.on_the_loop(waited())

    def wait_until_steady(self, value: Callable[[], int]) -> int:
        """Returns what it is once it has stayed the same for many turns of the loop."""
        seen: list[int] = []

        def is_steady() -> bool:
            if seen and seen[-1] != value():
                seen.clear()
            seen.append(value())
            return len(seen) > 50

        self.wait_until(is_steady)
        return seen[-1]

    @property
    def connections(self) -> set[Connection]:
        server: HttpServer = self.server
        return server._connections

    def only_connection(self) -> Connection:
        (connection,) = self.connections
        return connection

    def look_after(self, *moments: float) -> None:
        """The server looks at its connections as it would so many seconds from now."""
        now = self._loop.time()
        for each in moments:
            self.call(self.server.sweep, now + each)

    def connect(self) -> Peer:
        connected = socket.socket()
        connected.settimeout(PATIENCE_SECONDS)
        # However much this machine would take for someone who does not read.
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 * 1024)
        try:
            connected.connect(("127.0.0.1", self.port))
        except OSError:
            connected.close()
            raise
        return Peer(connected)

    def close(self) -> None:
        self.on_the_loop(self.server.end(0))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        assert not self._failures, "the server's own code has raised something"


@contextmanager
def serving(app: ASGIApp, limits: Limits | None = None) -> Iterator[Served]:
    served = Served(app, limits)
    try:
        yield served
    finally:
        served.close()


class Peer:
    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self._rest = b""

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_what_fits(self, data: bytes) -> int:
        """Sends until the other side takes no more for a moment; how much that was."""
        self.socket.settimeout(0.3)
        sent = 0
        try:
            while sent < len(data):
                sent += self.socket.send(data[sent : sent + 1_000_000])
        except TimeoutError:
            pass
        self.socket.settimeout(PATIENCE_SECONDS)
        return sent

    def answer(self, *, is_head: bool = False) -> Answer:
        """The next answer, to its end as its own head announces it."""
        head = self._until(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        status = int(lines[0].split(" ")[1])
        body = b""
        if is_head or status in (100, 204, 304):
            pass
        elif "content-length" in headers:
            body = self._exactly(int(headers["content-length"]))
        elif headers.get("transfer-encoding") == "chunked":
            body = self._chunks()
        else:
            body = self.rest()
        return Answer(status, headers, body, head)

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self._until(b"\r\n"), 16):
            body += self._exactly(size)
            assert self._exactly(2) == b"\r\n"
        assert self._exactly(2) == b"\r\n"
        return body

    def rest(self) -> bytes:
        """All that comes until the server says that there is no more."""
        while data := self.socket.recv(65536):
            self._rest += data
        rest, self._rest = self._rest, b""
        return rest

    def take(self, size: int) -> None:
        """Reads so many bytes, or a few more, of what comes."""
        before = len(self._rest)
        while len(self._rest) < before + size:
            self._more()

    def is_closed(self) -> bool:
        """Waits for it; anything else that comes is wrong."""
        try:
            return self.rest() == b""
        except ConnectionResetError:
            return True

    def is_silent(self) -> bool:
        """Nothing has come by now."""
        self.socket.setblocking(False)
        try:
            return not (self._rest or self.socket.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        finally:
            self.socket.settimeout(PATIENCE_SECONDS)

    def until(self, pattern: bytes) -> bytes:
        while not re.search(pattern, self._rest):
            self._more()
        return self._rest

    def _until(self, end: bytes) -> bytes:
        while end not in self._rest:
            self._more()
        found, _, self._rest = self._rest.partition(end)
        return found + end

    def _exactly(self, size: int) -> bytes:
        found = bytearray(self._rest[:size])
        self._rest = self._rest[size:]
        while len(found) < size:
            data = self.socket.recv(size - len(found))
            if not data:
                raise EOFError(bytes(found[:1000]))
            found += data
        return bytes(found)

    def _more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise EOFError(self._rest)
        self._rest += data


def request(
    path: str = "/", method: str = "GET", body: bytes = b"", version: str = "1.1", **headers: str
) -> bytes:
    lines = [f"{method} {path} HTTP/{version}", "Host: a.example"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


async def whole_body(receive: Receive) -> bytes:
    chunks, has_more = [], True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        chunks.append(message["body"])
        has_more = message["more_body"]
    return b"".join(chunks)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with what it was asked: the path, or the body if there is one."""
    body = await whole_body(receive) or scope["path"].encode()
    await answer(send, body)


async def answer(send: Send, body: bytes, status: int = 200, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})
