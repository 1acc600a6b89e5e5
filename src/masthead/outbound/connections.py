"""Connections whose addresses are checked when they are opened, not when the URL is parsed.

A name may resolve to another address a moment after it was checked. So the resolver returns only
checked addresses, and every socket is checked again when it is opened.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from weakref import WeakSet

from aiohttp import AddrInfoType, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult

from masthead.config.values import Network
from masthead.outbound.addresses import Address
from masthead.outbound.errors import Kind, OutboundError
from masthead.outbound.lookup import Lookup
from masthead.outbound.targets import Rules, allowed_addresses

KEEP_ALIVE_SECONDS = 15.0


class CheckedResolver(AbstractResolver):
    """Resolves names to addresses that one kind of call may use."""

    def __init__(
        self, rules: Rules, allow: Sequence[Network], lookup: Lookup, lookup_seconds: float
    ) -> None:
        self.rules = rules
        self._allow = allow
        self._lookup = lookup
        self._lookup_seconds = lookup_seconds
        self._sockets: WeakSet[socket.socket] = WeakSet()

    @property
    def open_sockets(self) -> int:
        return len(self._sockets)

    def check(self, addresses: Sequence[Address], port: int) -> Sequence[Address]:
        return allowed_addresses(addresses, port, self.rules, self._allow)

    async def find(self, host: str, port: int) -> Sequence[Address]:
        """The allowed addresses of a name; raises OutboundError."""
        try:
            async with asyncio.timeout(self._lookup_seconds):
                addresses = await self._lookup(host)
        except TimeoutError as error:
            message = "The host name could not be looked up in time."
            raise OutboundError(Kind.DNS, message) from error
        except OSError:
            addresses = ()
        if not addresses:
            raise OutboundError(Kind.DNS, "The host name has no address.")
        return self.check(addresses, port)

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
            for address in await self.find(host, port)
        ]

    async def close(self) -> None:
        """The lookup is closed by its owner."""

    def open_socket(self, target: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, sockaddr = target
        self.check([ip_address(sockaddr[0])], int(sockaddr[1]))
        opened = socket.socket(family, kind, protocol)
        self._sockets.add(opened)
        return opened


def connector(resolver: CheckedResolver, tls: ssl.SSLContext, *, keeps_alive: bool) -> TCPConnector:
    # No limits here: time in the connector's own queue would count as the receiver's.
    pooling: dict[str, Any] = (
        {"keepalive_timeout": KEEP_ALIVE_SECONDS} if keeps_alive else {"force_close": True}
    )
    return TCPConnector(
        ssl=tls,
        resolver=resolver,
        use_dns_cache=False,
        socket_factory=resolver.open_socket,
        limit=0,
        **pooling,
    )


@cache
def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """Trusts the system's authorities and the operator's own. Reading them takes long."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context
