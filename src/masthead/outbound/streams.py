"""Calls whose answer is read while it is still being written, as AI providers send theirs.

Each call has a connection of its own that ends with it: nothing is shared, nothing waits in a
queue, and a caller that stops reading closes the connection at once.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_network
from pathlib import Path
from types import SimpleNamespace

import aiohttp

from masthead import clock
from masthead.config.values import Network
from masthead.outbound.client import CONNECT_SECONDS, new_session, told_apart
from masthead.outbound.connections import Gate, connector, trust_of
from masthead.outbound.lookup import Lookup, SystemLookup
from masthead.outbound.reach import RULES, Reach
from masthead.outbound.retry_after import read_retry_after
from masthead.outbound.targets import read_url

EVERYWHERE = (ip_network("0.0.0.0/0"), ip_network("::/0"))
MAX_PIECE_BYTES = 16 * 1024
"""Returned by one read, so that no answer becomes one long piece of work."""


class Incoming:
    """An answer whose head has come."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._content = response.content
        self.status = response.status
        self.retry_after = read_retry_after(response.headers.get("Retry-After"), clock.now())
        """Seconds."""

    async def read(self, timeout_seconds: float) -> bytes:
        """The next piece of the body as soon as there is one; empty at its end. Raises
        OutboundError."""
        with told_apart():
            async with asyncio.timeout(timeout_seconds):
                return await self._content.read(MAX_PIECE_BYTES)


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
        self._own_lookup = SystemLookup()
        allowed = {Reach.OPERATOR: EVERYWHERE, Reach.PUBLIC: (), Reach.LISTED: tuple(allow)}
        self._gates = {
            reach: Gate(rules, allowed[reach], lookup or self._own_lookup, connect_seconds)
            for reach, rules in RULES.items()
        }
        self._ca_file = ca_file
        self._connect_seconds = connect_seconds
        self._trust: ssl.SSLContext | None = None
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
        when_sent: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[Incoming]:
        """Yields once the answer's head is there, which `timeout_seconds` are for; redirects are
        not followed. From `when_sent` on the far side may have the request and charge for it.
        Raises OutboundError."""
        target = read_url(url, RULES[reach])
        with told_apart():
            async with asyncio.timeout(timeout_seconds):
                response = await self._session(reach).post(
                    target,
                    data=body,
                    headers={"Accept-Encoding": "identity", **headers},
                    allow_redirects=False,
                    trace_request_ctx=SimpleNamespace(when_connected=when_sent),
                )
        try:
            yield Incoming(response)
        finally:
            response.close()

    def _session(self, reach: Reach) -> aiohttp.ClientSession:
        # On first use: reading the system's certificates is nothing that a start should wait for.
        if reach not in self._sessions:
            self._trust = self._trust or trust_of(self._ca_file)
            connections = connector(self._gates[reach], self._trust, keeps_alive=False)
            self._sessions[reach] = new_session(connections, self._connect_seconds)
        return self._sessions[reach]
