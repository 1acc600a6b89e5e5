"""The ceiling: our HTTP server with an application that only sends the bytes of an answer.

What the service reaches of its rate can be compared between machines; rates can't.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import uvloop

from bench import process
from bench.http import Answer
from masthead.service.serve.http_server import HttpServer
from masthead.service.serve.listener import listen
from masthead.web.asgi import ASGIApp, Message, Receive, Scope, Send

_BY_THE_SERVER = ("connection", "content-length", "date", "server", "transfer-encoding")


class Ceiling:
    def __init__(self, port: int, pid: int, pipe: Connection) -> None:
        self.port = port
        self.pid = pid
        self._pipe = pipe

    def wait_until_calm(self) -> None:
        process.wait_until_calm(self.pid)

    def answer_with(self, answer: Answer) -> None:
        """From now on, whatever is asked."""
        self._pipe.send(answer)
        self._pipe.recv()


@contextmanager
def serving() -> Iterator[Ceiling]:
    with process.child(_serve) as pipe:
        port, pid = pipe.recv()
        yield Ceiling(port, pid, pipe)


def _serve(pipe: Connection) -> None:
    uvloop.run(_serve_on(pipe))


async def _serve_on(pipe: Connection) -> None:
    messages: list[Message] = []

    async def change_forever() -> None:
        while True:
            try:
                # In a thread: a large answer arrives in pieces.
                messages[:] = _messages(await asyncio.to_thread(pipe.recv))
            except EOFError:
                # The bench has ended.
                os._exit(0)
            pipe.send(None)

    (listener,) = listen("127.0.0.1", port=0)
    # The connection waits in the backlog until the server accepts it.
    pipe.send((listener.getsockname()[1], os.getpid()))
    await asyncio.gather(HttpServer(_application(messages), listener).serve(), change_forever())


def _application(messages: list[Message]) -> ASGIApp:
    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in ("POST", "PATCH"):
            while (await receive()).get("more_body"):
                pass
        for message in messages:
            await send(message)

    return application


def _messages(answer: Answer) -> list[Message]:
    headers = [
        (name.lower().encode(), value.encode("latin-1"))
        for name, value in answer.headers
        if name.lower() not in _BY_THE_SERVER
    ]
    headers.append((b"content-length", str(len(answer.body)).encode()))
    return [
        {"type": "http.response.start", "status": answer.status, "headers": headers},
        {"type": "http.response.body", "body": answer.body},
    ]
