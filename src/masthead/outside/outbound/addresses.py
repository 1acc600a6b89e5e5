"""The IP addresses that the service may call for a tenant: global unicast only.

The tables are our own, because what `ipaddress` calls global changes between Python releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from masthead.base.config.values import Network

Address = IPv4Address | IPv6Address

# IANA's special-purpose registry, with multicast, the reserved block and addresses of clouds.
_REFUSED_IPV4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; one cloud's metadata service
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's agent, on a global address that answers only inside Azure
        "169.254.0.0/16",  # link-local; most clouds' metadata service
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; one cloud's metadata service
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT relays
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and the broadcast address
    )
)

# Everything else (loopback, ULA, link-local, site-local, multicast, IPv4-compatible, the local-use
# NAT64 prefix 64:ff9b:1::/48 …) lies outside of global unicast.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_REFUSED_IPV6 = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: may embed any IPv4 address, and is not used for serving
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # 6bone, given back
        "3fff::/20",  # documentation
    )
)

# DNS64 returns these for every IPv4-only name on a host without IPv4, so they can't be refused.
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP_MARKS = (0x00005EFE, 0x02005EFE)
_LAST_32_BITS = 0xFFFFFFFF


def is_allowed(address: Address, allow: Sequence[Network] = ()) -> bool:
    """`allow` holds the networks that the operator allows although they aren't global."""
    if is_listed(address, allow):
        return True
    if isinstance(address, IPv4Address):
        return not _is_within(address, _REFUSED_IPV4)
    embedded = _embedded_ipv4(address)
    if address.ipv4_mapped is not None or address in _NAT64:
        return embedded is not None and is_allowed(embedded, allow)
    if embedded is not None and not is_allowed(embedded, allow):
        return False
    return address in _GLOBAL_UNICAST and not _is_within(address, _REFUSED_IPV6)


def is_listed(address: Address, allow: Sequence[Network]) -> bool:
    """Whether the operator has listed this address, as IPv4 or as IPv4-mapped IPv6."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return _is_within(address, allow) or _is_within(address.ipv4_mapped, allow)
    return _is_within(address, allow)


def _embedded_ipv4(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a router or the kernel would extract from this one."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    number = int(address)
    is_isatap = (number >> 32) & _LAST_32_BITS in _ISATAP_MARKS
    if address in _NAT64 or is_isatap:
        return IPv4Address(number & _LAST_32_BITS)
    return None


def _is_within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)
