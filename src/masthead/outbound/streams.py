"""Calls with a streamed response, as of AI providers.

Each call has its own connection: nothing is shared or queued, and a caller that stops reading
closes the connection at once.
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
from masthead.outbound.client import CONNECT_SECONDS, new_session, translated_errors
from masthead.outbound.connections import CheckedResolver, connector, tls_context
from masthead.outbound.lookup import Lookup, SystemLookup
from masthead.outbound.policies import POLICY_RULES, OutboundPolicy
from masthead.outbound.retry_after import parse_retry_after
from masthead.outbound.targets import parse_url

ALL_NETWORKS = (ip_network("0.0.0.0/0"), ip_network("::/0"))
MAX_READ_BYTES = 16 * 1024
"""Of one read, so that no response blocks the event loop for long."""


class StreamedResponse:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._content = response.content
        self.status = response.status
        self.retry_after = parse_retry_after(response.headers.get("Retry-After"), clock.now())
        """Seconds."""

    async def read(self, timeout_seconds: float) -> bytes:
        """The next bytes of the body as soon as there are any; empty at its end. Raises
        OutboundError."""
        with translated_errors():
            async with asyncio.timeout(timeout_seconds):
                return await self._content.read(MAX_READ_BYTES)


class OutboundStreams:
    """Constructed and closed inside the running loop; one per process."""

    def __init__(
        self,
        *,
        allow: Sequence[Network] = (),
        ca_file: Path | None = None,
        lookup: Lookup | None = None,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self._own_lookup = SystemLookup()
        allowed = {
            OutboundPolicy.OPERATOR: ALL_NETWORKS,
            OutboundPolicy.PUBLIC: (),
            OutboundPolicy.LISTED: tuple(allow),
        }
        self._resolvers = {
            policy: CheckedResolver(
                rules, allowed[policy], lookup or self._own_lookup, connect_seconds
            )
            for policy, rules in POLICY_RULES.items()
        }
        self._ca_file = ca_file
        self._connect_seconds = connect_seconds
        self._tls: ssl.SSLContext | None = None
        self._sessions: dict[OutboundPolicy, aiohttp.ClientSession] = {}

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
        policy: OutboundPolicy,
        timeout_seconds: float,
        on_sent: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[StreamedResponse]:
        """Yields after the response's headers, for which `timeout_seconds` is; redirects are not
        followed. After `on_sent` the provider may have the request and charge for it. Raises
        OutboundError."""
        target = parse_url(url, POLICY_RULES[policy])
        with translated_errors():
            async with asyncio.timeout(timeout_seconds):
                response = await self._session(policy).post(
                    target,
                    data=body,
                    headers={"Accept-Encoding": "identity", **headers},
                    allow_redirects=False,
                    trace_request_ctx=SimpleNamespace(on_connected=on_sent),
                )
        try:
            yield StreamedResponse(response)
        finally:
            response.close()

    def _session(self, policy: OutboundPolicy) -> aiohttp.ClientSession:
        # On first use, because reading the system's certificates would slow down the start.
        if policy not in self._sessions:
            self._tls = self._tls or tls_context(self._ca_file)
            connections = connector(self._resolvers[policy], self._tls, keeps_alive=False)
            self._sessions[policy] = new_session(connections, self._connect_seconds)
        return self._sessions[policy]
