"""Calls with a streamed response, as of AI providers.

Each call has its own connection: nothing is shared or queued, and a caller that stops reading
closes the connection at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING

from masthead.base.config.values import Network
from masthead.outside.outbound.checked_lookup import CheckedLookup
from masthead.outside.outbound.client import CONNECT_SECONDS
from masthead.outside.outbound.loading import load_http
from masthead.outside.outbound.lookup import Lookup, SystemLookup
from masthead.outside.outbound.policies import POLICY_RULES, OutboundPolicy
from masthead.outside.outbound.targets import parse_url

if TYPE_CHECKING:
    from aiohttp import ClientSession

    from masthead.outside.outbound.streamed_response import StreamedResponse

ALL_NETWORKS = (ip_network("0.0.0.0/0"), ip_network("::/0"))


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
        self._names = {
            policy: CheckedLookup(
                rules, allowed[policy], lookup or self._own_lookup, connect_seconds
            )
            for policy, rules in POLICY_RULES.items()
        }
        self._ca_file = ca_file
        self._connect_seconds = connect_seconds
        self._sessions: dict[OutboundPolicy, ClientSession] = {}

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
        session = await self._session(policy)
        from masthead.outside.outbound.streamed_response import post_for_stream

        response = await post_for_stream(
            session, target, body, headers, timeout_seconds=timeout_seconds, on_sent=on_sent
        )
        try:
            yield response
        finally:
            response.close()

    async def _session(self, policy: OutboundPolicy) -> ClientSession:
        if policy not in self._sessions:
            tls = await load_http(self._ca_file)
            from masthead.outside.outbound.connections import (
                CheckedResolver,
                connector,
                new_session,
            )

            # Another call may have waited for the same.
            if policy not in self._sessions:
                resolver = CheckedResolver(self._names[policy])
                connections = connector(resolver, tls, keeps_alive=False)
                self._sessions[policy] = new_session(connections, self._connect_seconds)
        return self._sessions[policy]
