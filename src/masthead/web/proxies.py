"""The client's address and scheme of a request that came through trusted proxies."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import TypeAlias

from masthead.web.asgi import Scope

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


def client_address(scope: Scope, trusted: Sequence[Network]) -> str:
    """The peer, or behind trusted proxies the right-most address that is not one of them: addresses
    to its left can't be trusted."""
    peer = scope["client"][0] if scope.get("client") else ""
    if not trusted or not _is_trusted(peer, trusted):
        return peer
    address = peer
    for hop in reversed(_header_values(scope, b"x-forwarded-for")):
        if _parsed(hop) is None:
            return address
        address = hop
        if not _is_trusted(hop, trusted):
            return address
    return address


def is_https(scope: Scope, trusted: Sequence[Network]) -> bool:
    if scope["scheme"] == "https":
        return True
    peer = scope["client"][0] if scope.get("client") else ""
    if not trusted or not _is_trusted(peer, trusted):
        return False
    return _header_values(scope, b"x-forwarded-proto")[-1:] == ["https"]


def claims_https(scope: Scope) -> bool:
    """Whether some proxy says so, trusted or not: nothing may be granted by it."""
    return "https" in _header_values(scope, b"x-forwarded-proto")


def is_plain(scope: Scope, trusted: Sequence[Network]) -> bool:
    """Whether nothing on the way spoke TLS, as far as can be seen. What a proxy says counts,
    trusted or not; a trusted one that says nothing may well speak it."""
    if scope["scheme"] == "https":
        return False
    said = _header_values(scope, b"x-forwarded-proto")
    if said:
        return set(said) == {"http"}
    peer = scope["client"][0] if scope.get("client") else ""
    return not _is_trusted(peer, trusted)


def _header_values(scope: Scope, name: bytes) -> list[str]:
    """The values of a header in order: some proxies append to its line, others add a line."""
    lines = (value.decode("latin-1") for key, value in scope["headers"] if key == name)
    return [part.strip().lower() for line in lines for part in line.split(",") if part.strip()]


def _is_trusted(address: str, trusted: Sequence[Network]) -> bool:
    parsed = _parsed(address)
    return parsed is not None and any(parsed in network for network in trusted)


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
        return parsed.ipv4_mapped
    return parsed
