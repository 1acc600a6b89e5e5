"""The network a client's address stands for: what every limit by address counts.

A subscriber of IPv6 gets a whole /64 and can take another address of it for each request.
"""

from __future__ import annotations

import ipaddress

IPV6_PREFIX = 64


def network_of(address: str) -> str:
    """An IPv4 address itself, also where it is written as an IPv6 one; of IPv6 its /64."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        # A Unix socket's peer has no address: all of them count as one.
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    # From the number, since a zone (`%eth0`) is no part of the network.
    return str(ipaddress.IPv6Network((int(parsed), IPV6_PREFIX), strict=False))
