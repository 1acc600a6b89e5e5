"""One client counts as one: what the limits by address see of it."""

from __future__ import annotations

import pytest

from masthead.identity.limits.networks import network_of


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("::ffff:cb00:7107", "203.0.113.7"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:0DB8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("a socket", "a socket"),
    ],
)
def test_ipv4_counts_by_address_and_ipv6_by_its_64(address: str, network: str) -> None:
    assert network_of(address) == network
