"""The bodies that are arriving at this process: how slowly one may come, how many bytes all of them
hold, and how many connections and bytes one network has.

A body that comes in one message is there at once, so it costs one entry in a dictionary. A longer
one counts until its request is answered.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, Final

from masthead.base.counters import BODIES_REFUSED
from masthead.base.errors import (
    BadRequest,
    BodyBroken,
    BodyStalled,
    MastheadError,
    RateLimited,
    TooLarge,
    Unavailable,
)
from masthead.identity.limits.networks import is_loopback, network_of
from masthead.web.answers import header_lines
from masthead.web.asgi import Message, Receive, Scope

STALLED_SECONDS: Final = 60.0
"""That a body may keep the service waiting in all, and `LEAST_RATE` adds to it."""
LEAST_RATE: Final = 4 * 1024
"""Bytes a second. A body that comes faster earns time for a pause of up to `STALLED_SECONDS`."""
PROCESS_BYTES: Final = 128 * 1024 * 1024
NETWORK_BYTES: Final = 64 * 1024 * 1024
"""Twice the largest body that is read into memory, a batch of the record store."""
NETWORK_BODIES: Final = 100
"""Connections of one network that wait for a body. Those of a loopback address belong to a proxy
that is not trusted, or to this machine: they have no limit of their own."""
LOOK_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 10

TOO_MANY: Final = "Too many requests from your network are still being sent. Try again later."
TOO_MUCH: Final = "The service is receiving too much at once. Try again in a moment."


class Sender:
    """The part of a request that a body needs: who sends it, and what is closed when the handler
    has answered."""

    __slots__ = ("_resources", "address")

    def __init__(self, address: str) -> None:
        self.address = address
        """The client's IP address, behind trusted proxies too."""
        self._resources: AsyncExitStack | None = None

    @property
    def resources(self) -> AsyncExitStack:
        """Closes what is entered here when the handler has answered."""
        if self._resources is None:
            self._resources = AsyncExitStack()
        return self._resources

    @property
    def holds_resources(self) -> bool:
        return self._resources is not None


class ArrivingBody:
    """The body of a request, read chunk by chunk under its limits."""

    __slots__ = (
        "_cancelling",
        "_declared",
        "_held",
        "_in_memory",
        "_limit",
        "_receive",
        "_received",
        "_request",
        "_waited",
        "is_whole",
        "refusal",
        "task",
        "until",
    )

    def __init__(self, scope: Scope, receive: Receive, limit: int, in_memory: int) -> None:
        """Its reader keeps at most `in_memory` bytes of it in memory. Raises TooLarge if it says
        that it has more than `limit` bytes."""
        # None for a reader without a service around it.
        self._request: Sender | None = scope.get("masthead.request")
        self._receive = receive
        self._declared = _declared_length(scope, limit)
        self._limit = limit
        self._in_memory = in_memory
        self._received = 0
        self._held = 0
        self._waited = 0.0
        self._cancelling = 0
        self.is_whole = False
        self.refusal: Callable[[], MastheadError] | None = None
        self.task: asyncio.Task[Any] | None = None
        self.until = 0.0

    @property
    def network(self) -> str:
        """'' if it has no limit of its own."""
        address = self._request.address if self._request is not None else ""
        return "" if is_loopback(address) else network_of(address)

    async def next(self) -> bytes:
        """The next chunk. Raises TooLarge, BodyBroken, BodyStalled, RateLimited and Unavailable;
        BadRequest if the server lets a body end before its declared length: half a body must not
        be taken for a whole."""
        message = await self._next_message()
        if message["type"] == "http.disconnect":
            raise BodyBroken
        chunk: bytes = message.get("body", b"")
        self._received += len(chunk)
        if self._received > self._limit:
            raise TooLarge(_too_large(self._limit))
        self.is_whole = not message.get("more_body", False)
        if not self.is_whole:
            self._hold(min(self._received, self._in_memory) - self._held)
        elif self._declared is not None and self._received != self._declared:
            raise BadRequest(
                f"The request body ended after {self._received:,} of {self._declared:,} bytes. "
                "Send it again."
            )
        return chunk

    async def _next_message(self) -> Message:
        task = asyncio.current_task()
        assert task is not None
        loop = task.get_loop()
        began = loop.time()
        left = STALLED_SECONDS + self._received / LEAST_RATE - self._waited
        self.until = began + min(STALLED_SECONDS, left)
        self.task, self._cancelling = task, task.cancelling()
        _waiting.add(self, loop)
        try:
            return await self._receive()
        except asyncio.CancelledError:
            if self.refusal is not None and task.uncancel() <= self._cancelling:
                raise self.refusal() from None
            raise
        finally:
            _waiting.remove(self)
            self.task = None
            self._waited += loop.time() - began

    def _hold(self, count: int) -> None:
        """Counts bytes until the request is answered. Raises RateLimited or Unavailable."""
        if self._request is None or count <= 0:
            return
        network = self.network
        if _held.total + count > PROCESS_BYTES:
            BODIES_REFUSED.add("process")
            raise Unavailable(TOO_MUCH)
        if network and _held.by_network[network] + count > NETWORK_BYTES:
            BODIES_REFUSED.add("network")
            raise _too_many()
        if not self._held:
            self._request.resources.callback(self._release, network)
        self._held += count
        _held.add(network, count)

    def _release(self, network: str) -> None:
        _held.add(network, -self._held)
        self._held = 0

    def refuse(self, reason: str, error: Callable[[], MastheadError]) -> None:
        """Ends its wait."""
        if self.refusal is None and self.task is not None:
            BODIES_REFUSED.add(reason)
            self.refusal = error
            self.task.cancel()


def _too_many() -> RateLimited:
    return RateLimited(RETRY_SECONDS, TOO_MANY)


def _declared_length(scope: Scope, limit: int) -> int | None:
    """None where the header is missing, as with chunks, or is no number."""
    declared = None
    for value in header_lines(scope).get(b"content-length", ()):
        # Twenty digits are more than any limit, and int() is slow or refuses on thousands.
        if value.isdigit():
            declared = int(value[:20])
            if declared > limit:
                raise TooLarge(_too_large(limit))
    return declared


def _too_large(limit: int) -> str:
    return f"The request body is larger than the {limit:,} bytes accepted here."


class _BodyBytes:
    """Bytes of bodies in memory."""

    def __init__(self) -> None:
        self.total = 0
        self.by_network: Counter[str] = Counter()

    def add(self, network: str, count: int) -> None:
        self.total += count
        self.by_network[network] += count
        if not self.by_network[network]:
            del self.by_network[network]


class _Waiting:
    """The bodies whose next message has not come. One timer looks at all of them: a timeout for
    each would cost more than the message."""

    def __init__(self) -> None:
        self._bodies: dict[ArrivingBody, None] = {}
        """Those that wait longest come first."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, body: ArrivingBody, loop: asyncio.AbstractEventLoop) -> None:
        self._bodies[body] = None
        # Another loop: the one of the timer has been closed.
        if self._loop is not loop:
            self._loop = loop
            loop.call_later(LOOK_SECONDS, self._look, loop)

    def remove(self, body: ArrivingBody) -> None:
        del self._bodies[body]

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is not loop:
            return
        now, newest_first = loop.time(), list(reversed(self._bodies))
        counts: Counter[str] = Counter()
        for body in newest_first:
            if body.task is None or body.task.get_loop() is not loop:
                continue
            if now >= body.until:
                body.refuse("slow", BodyStalled)
            elif network := body.network:
                counts[network] += 1
                if counts[network] > NETWORK_BODIES:
                    body.refuse("network", _too_many)
        if self._bodies:
            loop.call_later(LOOK_SECONDS, self._look, loop)
        else:
            self._loop = None


_held = _BodyBytes()
_waiting = _Waiting()


def held_bytes() -> int:
    """The bytes of all bodies that this process has in memory."""
    return _held.total
