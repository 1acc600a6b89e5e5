"""The addresses and notations of addresses that are called or refused."""

from __future__ import annotations

from ipaddress import IPv6Network, ip_address, ip_network

import pytest

from masthead.outside.outbound.addresses import is_allowed, is_listed
from masthead.outside.outbound.errors import Kind, OutboundError
from masthead.outside.outbound.targets import (
    IMAGES,
    WEBHOOKS,
    allowed_addresses,
    literal_address,
    parse_url,
)

REFUSED = [
    # this network, loopback, private
    "0.0.0.0",
    "0.1.2.3",
    "127.0.0.1",
    "127.255.255.254",
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.254",
    "192.168.0.1",
    "192.168.255.254",
    # link-local and the clouds' metadata services
    "169.254.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    # carrier-grade NAT, protocol assignments, documentation, benchmarks, relays
    "100.64.0.1",
    "100.127.255.254",
    "192.0.0.1",
    "192.0.2.1",
    "198.51.100.7",
    "203.0.113.7",
    "198.18.0.1",
    "198.19.255.254",
    "192.88.99.1",
    "192.31.196.1",
    "192.52.193.1",
    "192.175.48.1",
    # multicast, reserved, broadcast
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    # IPv6: unspecified, loopback, ULA, link-local, site-local, multicast
    "::",
    "::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd12:3456:789a::1",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    # documentation, benchmarks, ORCHID, discard-only, segment routing, given back, unassigned
    "2001:db8::1",
    "3fff::1",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:1::1",
    "100::1",
    "5f00::1",
    "3ffe::1",
    "2620:4f:8000::1",
    "4000::1",
    "e000::1",
    # IPv4 inside IPv6: mapped, compatible, translated, 6to4, Teredo, NAT64, ISATAP
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:a9fe:a9fe",
    "::ffff:0.0.0.0",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:0:127.0.0.1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2002:808:808::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
    "64:ff9b::127.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::127.0.0.1",
    "64:ff9b:1::8.8.8.8",
    "64:ff9b:1:7f00:0:100::",
    "2a00:1450::5efe:10.0.0.1",
    "2a00:1450::200:5efe:127.0.0.1",
    "fe80::5efe:8.8.8.8",
]

ALLOWED = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.1",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2001:4860:4860::8888",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "2a00:1450::5efe:8.8.8.8",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]

SPELLINGS = [
    "https://2130706433/",
    "https://017700000001/",
    "https://0x7f000001/",
    "https://0x7F000001/",
    "https://127.1/",
    "https://127.0.1/",
    "https://0177.0.0.1/",
    "https://0x7f.0.0.1/",
    "https://0x7f.1/",
    "https://127.0.0.0x1/",
    "https://127.0.0.1./",
    "https://127.0.0.01/",
    "https://127.000.000.001/",
    "https://0/",
    "https://0./",
    "https://256.256.256.256/",
    "https://1.2.3.4.5/",
    "https://example.com.0x7f/",
    "https://１２７.０.０.１/",
    "https://127。0。0。1/",
    "https://①②⑦.0.0.1/",
    "https://%31%32%37.0.0.1/",
    "https://127.0.0.1%00.example.com/",
    "https://127.0.0.1%2f.example.com/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[fe80::1%25eth0]/",
    "https://[fe80::1%eth0]/",
    "https://[::1].example.com/",
    "https://[v1.example]/",
    "https://[::1/",
    "https://user@example.com/",
    "https://user:password@example.com/",
    "https://@example.com/",
    "https://example.com@127.0.0.1/",
    "https://example.com:443@127.0.0.1/",
    "https://127.0.0.1\\@example.com/",
    "https://example.com\\.127.0.0.1/",
    "https://127.0.0.1 .example.com/",
    "https://127.0.0.1\t/",
    "https://exam\nple.com/",
    "https://example.com/\r\nX-Injected: 1",
    "https://example.com\u200b/",
    "https://",
    "https:///hook",
    "https:127.0.0.1",
    "https:/127.0.0.1/",
    "https://:443/",
    "https://./",
    "https://../",
    "https://a..example.com/",
    "https://-.example.com/",
    "https://*.example.com/",
    "https://example.com:0/",
    "https://example.com:65536/",
    "https://example.com:-1/",
    "https://example.com:443:443/",
    "https://example.com:http/",
    f"https://{'a' * 64}.example.com/",
    f"https://{'a.' * 127}example.com/",
    f"https://example.com/{'x' * 2048}",
    "http://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "data:text/plain,x",
    "//example.com/",
    "example.com/hook",
    "",
]


def read_and_check(url: str) -> None:
    """As the client does: by the URL's text, then by its address."""
    target = parse_url(url, WEBHOOKS)
    address = literal_address(target)
    assert address is not None, f"{url} is taken for the name {target.raw_host}"
    allowed_addresses([address], target.port or 0, WEBHOOKS, ())


def refusal(url: str) -> str:
    with pytest.raises(OutboundError) as raised:
        read_and_check(url)
    assert raised.value.kind is Kind.REFUSED_ADDRESS
    return raised.value.message


@pytest.mark.parametrize("text", REFUSED)
def test_a_special_address_is_refused(text: str) -> None:
    assert not is_allowed(ip_address(text))
    host = f"[{text}]" if ":" in text else text
    assert refusal(f"https://{host}/hook")


@pytest.mark.parametrize("text", ALLOWED)
def test_a_global_address_is_allowed(text: str) -> None:
    assert is_allowed(ip_address(text))


@pytest.mark.parametrize("url", SPELLINGS)
def test_another_notation_is_refused(url: str) -> None:
    assert refusal(url)


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://example.com", "example.com", 443),
        ("https://EXAMPLE.com:8443/a?b=c", "example.com", 8443),
        ("https://example.com./hook", "example.com.", 443),
        ("https://münchen.example/", "xn--mnchen-3ya.example", 443),
        ("https://a_b.example.com/", "a_b.example.com", 443),
        ("https://example.com/@user", "example.com", 443),
        ("https://example.com/?next=http://127.0.0.1/", "example.com", 443),
        ("https://1.1.1.1/", "1.1.1.1", 443),
        ("https://[2606:4700::1111]/", "2606:4700::1111", 443),
    ],
)
def test_an_ordinary_url_is_parsed(url: str, host: str, port: int) -> None:
    read = parse_url(url, WEBHOOKS)
    assert (read.raw_host, read.port) == (host, port)


@pytest.mark.parametrize(
    ("text", "network", "is_open"),
    [
        ("127.0.0.1", "127.0.0.0/8", True),
        ("::ffff:127.0.0.1", "127.0.0.0/8", True),
        ("::1", "127.0.0.0/8", False),
        ("::1", "::1/128", True),
        ("10.0.0.1", "127.0.0.0/8", False),
        ("10.1.0.1", "10.1.0.0/16", True),
        ("10.2.0.1", "10.1.0.0/16", False),
        ("fd00::1", "fd00::/8", True),
        ("64:ff9b::10.1.0.1", "10.1.0.0/16", True),
        ("2002:7f00:1::", "127.0.0.0/8", False),
        ("2a00::5efe:10.1.0.1", "10.1.0.0/16", True),
    ],
)
def test_the_operator_allows_networks(text: str, network: str, is_open: bool) -> None:
    assert is_allowed(ip_address(text), [ip_network(network)]) is is_open


def test_a_listed_address_differs_from_an_allowed_one() -> None:
    allow = [ip_network("127.0.0.0/8")]
    assert is_listed(ip_address("127.0.0.1"), allow)
    assert is_listed(ip_address("::ffff:127.0.0.1"), allow)
    assert is_listed(ip_address("::ffff:127.0.0.1"), [IPv6Network("::ffff:0:0/96")])
    assert not is_listed(ip_address("8.8.8.8"), allow)


PUBLIC, PRIVATE, LOOPBACK = (ip_address(text) for text in ("8.8.8.8", "10.0.0.1", "127.0.0.1"))


def test_one_refused_address_refuses_the_host() -> None:
    for addresses in ([PUBLIC, PRIVATE], [PRIVATE, PUBLIC], [PRIVATE]):
        with pytest.raises(OutboundError):
            allowed_addresses(addresses, 443, WEBHOOKS, ())
    assert allowed_addresses([PUBLIC], 443, WEBHOOKS, ()) == [PUBLIC]


def test_the_operators_networks_are_selected_from_a_hosts_addresses() -> None:
    allow = [ip_network("127.0.0.0/8")]
    assert allowed_addresses([ip_address("::1"), LOOPBACK], 9443, WEBHOOKS, allow) == [LOOPBACK]


@pytest.mark.parametrize(
    ("port", "webhooks", "images"),
    [
        (443, True, True),
        (8443, True, True),
        (80, True, True),
        (8080, True, True),
        (6379, True, False),
        (9443, True, False),
        (65535, True, False),
        *((port, False, False) for port in (0, 1, 22, 25, 53, 465, 587, 993, 6000, 6667, 10080)),
    ],
)
def test_ports(port: int, webhooks: bool, images: bool) -> None:
    for rules, is_open in ((WEBHOOKS, webhooks), (IMAGES, images)):
        if is_open:
            assert allowed_addresses([PUBLIC], port, rules, ())
        else:
            with pytest.raises(OutboundError):
                allowed_addresses([PUBLIC], port, rules, ())


def test_only_images_may_use_plain_http() -> None:
    assert parse_url("http://example.com/a.png", IMAGES).port == 80
    for url in ("ftp://example.com/a.png", "file:///a.png", "http://2130706433/a.png"):
        with pytest.raises(OutboundError):
            parse_url(url, IMAGES)


def test_messages_do_not_contain_the_url() -> None:
    assert "169.254" not in refusal("https://169.254.169.254/latest/meta-data")
    assert "secret" not in refusal("https://user:secret@example.com/")
