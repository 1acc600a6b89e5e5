"""Whose word counts about where a request came from."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from masthead.web.proxies import client_address, is_https

TRUSTED = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


def scope(peer: str | None, scheme: str = "http", **headers: str) -> dict[str, Any]:
    return {
        "type": "http",
        "scheme": scheme,
        "client": (peer, 1) if peer is not None else None,
        "headers": [
            (name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()
        ],
    }


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("203.0.113.5", "198.51.100.1", "203.0.113.5"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1, nonsense", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1, nonsense, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", " , ,198.51.100.1,", "198.51.100.1"),
        ("::ffff:10.0.0.1", "2001:db8::1", "2001:db8::1"),
        ("fd00::1", "198.51.100.1", "198.51.100.1"),
        (None, "198.51.100.1", ""),
    ],
)
def test_the_client_is_the_last_untrusted_hop(
    peer: str | None, forwarded: str, expected: str
) -> None:
    assert client_address(scope(peer, x_forwarded_for=forwarded), TRUSTED) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["198.51.100.1", "10.0.0.2"], "198.51.100.1"),
        (["1.1.1.1", "198.51.100.1"], "198.51.100.1"),
        (["1.1.1.1, 198.51.100.1", "10.0.0.3, 10.0.0.2"], "198.51.100.1"),
    ],
)
def test_a_proxy_may_add_a_line_instead_of_lengthening_one(lines: list[str], expected: str) -> None:
    request = scope("10.0.0.1")
    request["headers"] = [(b"x-forwarded-for", line.encode()) for line in lines]
    assert client_address(request, TRUSTED) == expected


@pytest.mark.parametrize(
    ("lines", "expected"), [(["http", "https"], True), (["https", "http"], False)]
)
def test_the_nearest_proxys_line_tells_whether_it_was_https(
    lines: list[str], expected: bool
) -> None:
    request = scope("10.0.0.1")
    request["headers"] = [(b"x-forwarded-proto", line.encode()) for line in lines]
    assert is_https(request, TRUSTED) is expected


def test_without_trusted_proxies_only_the_connection_counts() -> None:
    request = scope("10.0.0.1", x_forwarded_for="198.51.100.1", x_forwarded_proto="https")
    assert client_address(request, ()) == "10.0.0.1"
    assert not is_https(request, ())


@pytest.mark.parametrize(
    ("peer", "scheme", "proto", "expected"),
    [
        ("203.0.113.5", "https", "", True),
        ("203.0.113.5", "http", "https", False),
        ("10.0.0.1", "http", "https", True),
        ("10.0.0.1", "http", "HTTPS", True),
        ("10.0.0.1", "http", "https, http", False),
        ("10.0.0.1", "http", "http, https", True),
        ("10.0.0.1", "http", "", False),
    ],
)
def test_https(peer: str, scheme: str, proto: str, expected: bool) -> None:
    assert is_https(scope(peer, scheme, x_forwarded_proto=proto), TRUSTED) is expected
