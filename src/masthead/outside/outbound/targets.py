"""Parses the URL of an outgoing call strictly, with the parser that the client uses too.

With two parsers that disagree about the host, a checked URL could lead elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING

import idna
import msgspec

from masthead.base.config.values import Network
from masthead.base.languages.words import staff_marked
from masthead.outside.outbound.addresses import Address, is_allowed, is_listed
from masthead.outside.outbound.errors import refused

if TYPE_CHECKING:
    from yarl import URL

MAX_URL_LENGTH = 2048


class Rules(msgspec.Struct, frozen=True):
    """The schemes and ports of one kind of call."""

    schemes: frozenset[str]
    ports: frozenset[int] | None = None
    """None allows every port but the bad ones. Other ports are allowed only on networks that the
    operator has listed."""


# The Fetch standard's "bad ports": servers there use other protocols and might interpret a request
# as commands.
# fmt: off
BAD_PORTS = frozenset((
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389,
    427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
    989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665,
    6666, 6667, 6668, 6669, 6679, 6697, 10080,
))
# fmt: on

WEBHOOKS = Rules(frozenset({"https"}))
IMAGES = Rules(frozenset({"http", "https"}), frozenset({80, 443, 8080, 8443}))

NOT_A_URL = staff_marked("Must be a full URL, such as https://example.com/hook.")
NOT_A_HOST_NAME = staff_marked("The host can't be a host name. Use one such as example.com.")

_AUTHORITY = re.compile(r"[A-Za-z]+://([^/?#]*)")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\Z")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)\Z")


# A subscription's URL is parsed at every delivery.
@lru_cache(maxsize=4096)
def parse_url(text: str, rules: Rules) -> URL:
    """Raises OutboundError if the URL itself is not allowed."""
    url = _parsed(text)
    if url.scheme not in rules.schemes:
        either = staff_marked("Must start with http:// or https://.")
        raise refused(
            either if "http" in rules.schemes else staff_marked("Must start with https://.")
        )
    if not url.raw_host or not url.port:
        raise refused(NOT_A_URL)
    if literal_address(url) is None:
        _check_name(url.raw_host)
    return url


def literal_address(url: URL) -> Address | None:
    """The IP address in the URL, in the canonical form; None for a host name."""
    try:
        address = ip_address(url.raw_host or "")
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise refused(staff_marked("Must not name a network interface."))
    return address


def allowed_addresses(
    addresses: Sequence[Address], port: int, rules: Rules, allow: Sequence[Network]
) -> Sequence[Address]:
    """The addresses of one host that may be called; raises OutboundError if there are none.

    One refused address refuses the host: a public name that also resolves to a private address is
    an attack or a mistake. Only the operator's own networks are selected, so that `localhost` works
    if 127.0.0.0/8 is listed and ::1 is not.
    """
    listed = [address for address in addresses if is_listed(address, allow)]
    if listed:
        return listed
    if not all(is_allowed(address, allow) for address in addresses):
        raise refused(staff_marked("The host is at an address that this service does not call."))
    check_port(port, rules)
    return addresses


def check_target(url: URL, rules: Rules, allow: Sequence[Network]) -> None:
    """Checks without resolving a name; raises OutboundError."""
    literal = literal_address(url)
    if literal is not None:
        allowed_addresses([literal], url.port or 0, rules, allow)
    elif not allow:
        check_port(url.port or 0, rules)


def check_port(port: int, rules: Rules) -> None:
    """For hosts that are not known to be on the operator's own networks."""
    if rules.ports is None and port in BAD_PORTS:
        said = staff_marked("This service does not call port %(port)s; use another, such as 443.")
        raise refused(said % {"port": port})
    if rules.ports is not None and port not in rules.ports:
        ports = ", ".join(map(str, sorted(rules.ports)))
        said = staff_marked("This service does not call this port; use one of %(ports)s.")
        raise refused(said % {"ports": ports})


def _parsed(text: str) -> URL:
    # Parsers treat blanks, control characters and backslashes differently.
    authority = _AUTHORITY.match(text)
    if authority is None or len(text) > MAX_URL_LENGTH or not text.isprintable():
        raise refused(NOT_A_URL)
    if " " in text or "\\" in text:
        raise refused(NOT_A_URL)
    if "@" in authority[1]:
        raise refused(staff_marked("Must not contain a user name or password."))
    # Imported here: a command has no address to parse.
    from yarl import URL

    try:
        url = URL(text)
    except ValueError:
        raise refused(NOT_A_URL) from None
    if "[" in authority[1] and ":" not in (url.raw_host or ""):
        # "[v1.example]" is an address of a future kind; this parser takes it for a name.
        raise refused(NOT_A_URL)
    return url


def _check_name(host: str) -> None:
    name = host.removesuffix(".")
    if _NUMBER.match(name.rpartition(".")[2]):
        # Some resolvers take 2130706433, 0x7f.1, 0177.0.0.1, 127.1 and 127.0.0.1. for 127.0.0.1.
        raise refused(
            staff_marked("An address must be written as four decimal numbers, such as 192.0.2.1.")
        )
    if not _NAME.match(name) or not all(map(_is_valid_label, name.split("."))):
        raise refused(NOT_A_HOST_NAME)


def _is_valid_label(label: str) -> bool:
    """Labels with `xn--` must be valid in IDNA 2008. The URL parser falls back to IDNA 2003, which
    accepts more."""
    if not label.startswith("xn--"):
        return True
    try:
        idna.ulabel(label)
    except idna.IDNAError:
        return False
    return True
