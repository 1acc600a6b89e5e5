"""Connections whose addresses are checked when they are opened, not when the URL is parsed.

A name may resolve to another address a moment after it was checked. So the resolver returns only
checked addresses, and every socket is checked again when it is opened.
"""

from __future__ import annotations

import socket
import ssl
from ipaddress import ip_address
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from masthead.base.version import NUMBER
from masthead.outside.outbound.checked_lookup import CheckedLookup

USER_AGENT = f"Masthead/{NUMBER}"
KEEP_ALIVE_SECONDS = 15.0


class CheckedResolver(AbstractResolver):
    def __init__(self, names: CheckedLookup) -> None:
        self._names = names
        self._sockets: WeakSet[socket.socket] = WeakSet()

    @property
    def open_sockets(self) -> int:
        return len(self._sockets)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in await self._names.find(host, port)
        ]

    async def close(self) -> None:
        """The lookup is closed by its owner."""

    def open_socket(self, target: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, sockaddr = target
        self._names.check([ip_address(sockaddr[0])], int(sockaddr[1]))
        opened = socket.socket(family, kind, protocol)
        self._sockets.add(opened)
        return opened


def connector(
    resolver: CheckedResolver, tls: ssl.SSLContext, *, keeps_alive: bool
) -> aiohttp.TCPConnector:
    # No limits here: time in the connector's own queue would count as the receiver's.
    pooling: dict[str, Any] = (
        {"keepalive_timeout": KEEP_ALIVE_SECONDS} if keeps_alive else {"force_close": True}
    )
    return aiohttp.TCPConnector(
        ssl=tls,
        resolver=resolver,
        use_dns_cache=False,
        socket_factory=resolver.open_socket,
        limit=0,
        **pooling,
    )


def new_session(connections: aiohttp.TCPConnector, connect_seconds: float) -> aiohttp.ClientSession:
    tracing = aiohttp.TraceConfig()
    tracing.on_connection_reuseconn.append(_on_reuse)
    tracing.on_connection_create_end.append(_on_connected)
    return aiohttp.ClientSession(
        connector=connections,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": USER_AGENT},
        skip_auto_headers=("Accept-Encoding", "Content-Type"),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_seconds),
        auto_decompress=False,
        trust_env=False,
        trace_configs=[tracing],
    )


async def _on_reuse(_session: object, context: SimpleNamespace, _parameters: object) -> None:
    context.trace_request_ctx.is_reused = True


async def _on_connected(_session: object, context: SimpleNamespace, _parameters: object) -> None:
    if on_connected := getattr(context.trace_request_ctx, "on_connected", None):
        on_connected()
