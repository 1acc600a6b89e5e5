"""The client's side of a generation: an event stream that is opened once and ended exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator, Iterable, Iterator, Mapping
from types import coroutine
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
    """Text goes out right where it is made, without a task's waking up for it, for as long as the
    client keeps up."""

    def __init__(self, send: Send, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self._send = send
        self._headers = [*HEADERS, *headers]
        self._time = asyncio.get_running_loop().time
        self._is_busy = False
        """The client has not taken all that was sent."""
        self._rest: Awaitable[None] | None = None
        """Of a sending that nobody waits for yet."""
        self._has_taken = asyncio.Event()
        self._held = b""
        """What is to be sent after that."""
        self._is_finished = False
        self._last_sent = 0.0
        self.characters = 0
        self.size = 0
        """Bytes of text."""

    async def open(self) -> None:
        self._last_sent = self._time()
        await self._send({"type": "http.response.start", "status": 200, "headers": self._headers})

    def texts(self, pieces: Iterable[str]) -> bool:
        """Sends the pieces together. Whether the client keeps up; otherwise `drained` is to be
        awaited before there are more."""
        content = b""
        for piece in pieces:
            quoted = encode(piece)
            self.characters += len(piece)
            self.size += len(quoted) - 2
            content += b'data: {"text":' + quoted + b"}\n\n"
        if self._is_busy:
            self._held += content
        else:
            self._begin(content)
        return not self._is_busy

    async def drained(self) -> None:
        """Returns when the client has taken what was sent."""
        while self._held or self._is_busy:
            if self._rest is not None:
                await self._end()
            elif self._is_busy:
                await self._has_taken.wait()
            else:
                content, self._held = self._held, b""
                self._begin(content)

    async def finish(self, last: Mapping[str, Any] | None = None) -> None:
        """Ends the stream, after one last event where there is something to say."""
        event = b"" if last is None else _event(last)
        await self._write(event + DONE, is_last=True)

    async def beat(self) -> None:
        """Unless something is on its way already: then the client is slow, and not the provider."""
        if not self._is_busy:
            await self._write(HEARTBEAT)

    def silent_seconds(self) -> float:
        return self._time() - self._last_sent

    async def _write(self, content: bytes, *, is_last: bool = False) -> None:
        await self.drained()
        if not self._is_finished:
            self._is_finished = is_last
            self._begin(content, is_last=is_last)
            await self.drained()

    def _begin(self, content: bytes, *, is_last: bool = False) -> None:
        self._last_sent = self._time()
        try:
            self._rest = begun(
                self._send(
                    {"type": "http.response.body", "body": content, "more_body": not is_last}
                )
            )
        except OSError:
            raise ClientDisconnected from None
        if self._rest is not None:
            self._is_busy = True
            self._has_taken.clear()

    async def _end(self) -> None:
        rest, self._rest = self._rest, None
        assert rest is not None
        try:
            await rest
        except OSError:
            raise ClientDisconnected from None
        finally:
            self._is_busy = False
            self._has_taken.set()


def begun(sending: Awaitable[None]) -> Awaitable[None] | None:
    """Takes its first step, which is the last one as well unless there is something to wait for;
    what is returned then is the rest of it."""
    steps = sending.__await__()
    try:
        waits_for = next(steps)
    except StopIteration:
        return None
    return _rest_of(steps, waits_for)


@coroutine
def _rest_of(steps: Iterator[Any], waits_for: Any) -> Generator[Any, Any, None]:
    yield waits_for
    yield from steps


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + encode(value) + b"\n\n"
