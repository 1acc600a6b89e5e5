"""Host headers as a table: what is read, what is refused, and whose it is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import rounds

from masthead.base.errors import BadRequest
from masthead.identity.hosts import (
    BareHost,
    Foreign,
    Host,
    Subdomain,
    check_slug,
    classify_host,
    parse_host,
)


@pytest.mark.parametrize(
    ("raw", "host"),
    [
        ("localhost", Host("localhost")),
        ("localhost:8000", Host("localhost", 8000)),
        ("Demo.Example.COM", Host("demo.example.com")),
        ("demo.example.com.", Host("demo.example.com")),
        ("demo.example.com.:443", Host("demo.example.com", 443)),
        ("xn--bcher-kva.example", Host("xn--bcher-kva.example")),
        ("127.0.0.1:80", Host("127.0.0.1", 80)),
        ("[::1]", Host("[::1]")),
        ("[0:0:0:0:0:0:0:1]:8000", Host("[::1]", 8000)),
        ("[2001:DB8::1]", Host("[2001:db8::1]")),
        ("1.example.com", Host("1.example.com")),
        ("a" * 63 + ".com", Host("a" * 63 + ".com")),
        ("x:65535", Host("x", 65535)),
    ],
)
def test_a_valid_host_is_parsed(raw: str, host: Host) -> None:
    assert parse_host(raw) == host


@pytest.mark.parametrize(
    "raw",
    [
        "",
        ".",
        ":8000",
        " localhost",
        "localhost ",
        "local host",
        "user@example.com",
        "user:pass@example.com",
        "example.com/path",
        "example.com?x",
        "example.com#x",
        "example.com\\x",
        "example.com\n",
        "example.com\x00",
        "example.com\tx",
        "a..b",
        "a.b..",
        ".a",
        "-a.com",
        "a-.com",
        "a_b.com",
        "a,b.com",
        "a*.com",
        "bücher.example",
        "example。com",
        "a" * 64 + ".com",
        ".".join(["abcdefg"] * 40),
        "x:",
        "x:0",
        "x:65536",
        "x:123456",
        "x:-1",
        "x:+80",
        "x:80a",
        "x:٨٠",
        "x:80:80",
        "::1",
        "[::1",
        "[::1]x",
        "[::1]:",
        "[::1]80",
        "[fe80::1%eth0]",
        "[127.0.0.1]",
        "[]",
        "[x]",
        "127.1",
        "256.0.0.1",
        "127.0.0.01",
        "1.2.3.4.5",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
    ],
)
def test_a_malformed_host_is_refused(raw: str) -> None:
    with pytest.raises(BadRequest):
        parse_host(raw)


@settings(max_examples=rounds(30, 300))
@given(st.text())
def test_a_parsed_host_is_a_plain_name(raw: str) -> None:
    try:
        host = parse_host(raw)
    except BadRequest:
        return
    assert host.name == host.name.lower()
    assert host.name.isascii()
    assert not set(host.name) & set(" @/?#\\,_%")
    assert parse_host(host.name) == Host(host.name)


@pytest.mark.parametrize(
    ("host", "base_domain", "expected"),
    [
        ("demo.example.com", "example.com", Subdomain("demo")),
        ("DEMO.example.com.:8443", "example.com", Subdomain("demo")),
        ("demo.localhost:8000", "localhost", Subdomain("demo")),
        ("www.example.com", "example.com", Subdomain("www")),
        ("example.com", "example.com", BareHost()),
        ("localhost:8000", "example.com", BareHost()),
        ("127.0.0.1:8000", "example.com", BareHost()),
        ("127.9.9.9", "example.com", BareHost()),
        ("[::1]:8000", "example.com", BareHost()),
        ("[::ffff:127.0.0.1]", "example.com", BareHost()),
        ("service.host", "example.com", BareHost()),
        ("blog.org", "example.com", Foreign("blog.org")),
        ("a.b.example.com", "example.com", Foreign("a.b.example.com")),
        ("evilexample.com", "example.com", Foreign("evilexample.com")),
        ("example.com.evil.org", "example.com", Foreign("example.com.evil.org")),
        ("192.168.1.10", "example.com", Foreign("192.168.1.10")),
        ("com", "example.com", Foreign("com")),
    ],
)
def test_hosts_are_classified(
    host: str, base_domain: str, expected: Subdomain | BareHost | Foreign
) -> None:
    named = classify_host(parse_host(host), base_domain, "https://service.host:8443")
    assert named == expected


@pytest.mark.parametrize("slug", ["a", "demo", "my-blog", "2026", "a--b", "x" * 63])
def test_a_valid_slug_is_accepted(slug: str) -> None:
    assert check_slug(slug) is None


@pytest.mark.parametrize(
    "slug", ["", "A", "my blog", "a.b", "-a", "a-", "a_b", "é", "a\n", "xn--bcher-kva", "x" * 64]
)
def test_a_malformed_slug_is_refused(slug: str) -> None:
    problem = check_slug(slug)
    assert problem is not None
    assert problem.code == "validation_invalid_format"


@pytest.mark.parametrize(
    "slug", ["www", "api", "admin", "static", "media", "mail", "app", "mta-sts"]
)
def test_a_reserved_slug_is_refused(slug: str) -> None:
    problem = check_slug(slug)
    assert problem is not None
    assert problem.code == "validation_reserved"
