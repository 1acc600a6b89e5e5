"""The network of a client's address, by which limits count.

An IPv6 client has a whole /64 and can use another address of it for each request.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

IPV6_PREFIX = 64


@lru_cache(4_096)
def network_of(address: str) -> str:
    """The address itself for IPv4, also if mapped into IPv6; the /64 for IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        # The peer of a Unix socket has no address.
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    if parsed.is_loopback:
        return str(parsed)
    # From the number, to drop a zone (`%eth0`).
    return str(ipaddress.IPv6Network((int(parsed), IPV6_PREFIX), strict=False))


@lru_cache(4_096)
def is_loopback(address: str) -> bool:
    """Whether the address is this machine's, or that of a proxy on it that is not trusted."""
    try:
        return ipaddress.ip_address(network_of(address)).is_loopback
    except ValueError:
        return False
