"""Calls whose answer is read while it is still being written, as AI providers send theirs.

Each call has a connection of its own that ends with it: nothing is shared, nothing waits in a
queue, and whoever stops reading closes the connection at once.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from ipaddress import ip_network
from pathlib import Path
from types import SimpleNamespace

import aiohttp

from masthead import clock
from masthead.outbound.client import CONNECT_SECONDS, new_session, told_apart
from masthead.outbound.connections import Gate, connector, trust_of
from masthead.outbound.errors import Kind, OutboundError
from masthead.outbound.lookup import Lookup, SystemLookup
from masthead.outbound.reach import RULES, Reach
from masthead.outbound.retry_after import read_retry_after
from masthead.outbound.targets import read_url
from masthead.setting_values import Network

EVERYWHERE = (ip_network("0.0.0.0/0"), ip_network("::/0"))


class Incoming:
    """An answer whose head has come. One timer watches all its reads: chunks come many times a
    second, and a timer for each would cost as much as the chunk."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._content = response.content
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._watched_until = math.inf
        self._deadline = math.inf
        """Of the read under way."""
        self.status = response.status
        self.retry_after = read_retry_after(response.headers.get("Retry-After"), clock.now())
        """Seconds."""

    async def read(self, timeout_seconds: float) -> bytes:
        """What has come since the last time, or the next bytes; b"" at the end."""
        self._deadline = self._loop.time() + timeout_seconds
        if self._timer is None or self._deadline < self._watched_until:
            self._watch()
        try:
            return await self._content.readany()
        except Exception as error:
            with told_apart():
                raise error
        finally:
            self._deadline = math.inf

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _watch(self) -> None:
        self.close()
        self._watched_until = self._deadline
        self._timer = self._loop.call_at(self._deadline, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._loop.time() >= self._deadline:
            self._content.set_exception(TimeoutError())
        elif self._deadline < math.inf:
            self._watch()


class OutboundStreams:
    """Made and closed inside the running loop; one for the whole process."""

    def __init__(
        self,
        *,
        allow: Sequence[Network] = (),
        ca_file: Path | None = None,
        lookup: Lookup | None = None,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self._allowed = {Reach.OPERATOR: EVERYWHERE, Reach.PUBLIC: (), Reach.LISTED: tuple(allow)}
        self._ca_file = ca_file
        self._own_lookup = SystemLookup()
        self._lookup = lookup or self._own_lookup
        self._connect_seconds = connect_seconds
        self._sessions: dict[Reach, aiohttp.ClientSession] = {}

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()
        await self._own_lookup.close()

    @asynccontextmanager
    async def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        reach: Reach,
        timeout_seconds: float,
    ) -> AsyncIterator[Incoming]:
        """Yields once the answer's head is there, which `timeout_seconds` are for; redirects are
        not followed. Raises OutboundError."""
        target = read_url(url, RULES[reach])
        with told_apart(), _unsent():
            async with asyncio.timeout(timeout_seconds):
                response = await self._session(reach).post(
                    target,
                    data=body,
                    headers=headers,
                    allow_redirects=False,
                    trace_request_ctx=SimpleNamespace(),
                )
        incoming = Incoming(response)
        try:
            yield incoming
        finally:
            incoming.close()
            response.close()

    def _session(self, reach: Reach) -> aiohttp.ClientSession:
        # On first use: reading the system's certificates is nothing that a start should wait for.
        session = self._sessions.get(reach)
        if session is None:
            gate = Gate(RULES[reach], self._allowed[reach], self._lookup)
            connections = connector(gate, trust_of(self._ca_file), keeps_alive=False)
            session = self._sessions[reach] = new_session(connections, self._connect_seconds)
        return session


@contextmanager
def _unsent() -> Iterator[None]:
    """A host that was too slow to take the connection has not got the request, and a caller may
    have to pay for one that it has got: not the same as a slow answer."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        message = "The host did not take the connection in time."
        raise OutboundError(Kind.CONNECT, message) from error
