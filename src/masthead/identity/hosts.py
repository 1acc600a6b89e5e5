"""The Host header read strictly, and what it says about the tenant. Pure: no lookups here."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import urlsplit

from masthead.errors import BadRequest, Problem

# Names that visitors, browsers, mail servers or we ourselves give a meaning of their own.
# fmt: off
RESERVED_SLUGS = frozenset({
    "about", "abuse", "account", "accounts", "admin", "administrator", "admins", "api",
    "apis", "app", "apps", "asset", "assets", "auth", "autoconfig", "autodiscover", "billing",
    "cdn", "checkout", "console", "contact", "css", "dashboard", "db", "dev", "dns", "docs",
    "download", "downloads", "email", "errors", "export", "feed", "feeds", "files", "ftp",
    "git", "graphql", "health", "help", "hooks", "host", "hostmaster", "http", "https", "id",
    "identity", "images", "imap", "img", "import", "info", "internal", "invite", "isatap",
    "jobs", "js", "legal", "local", "localdomain", "localhost", "login", "logout", "mail",
    "mailer-daemon", "mailhost", "mailing", "masthead", "media", "member", "members",
    "metrics", "monitor", "mta-sts", "mx", "network", "no-reply", "nobody", "noreply", "ns",
    "ns1", "ns2", "ns3", "ns4", "oauth", "operator", "operators", "ops", "owner", "owners",
    "password", "pay", "payment", "payments", "ping", "pop", "pop3", "postmaster", "preview",
    "privacy", "private", "prod", "production", "proxy", "public", "register", "root", "rss",
    "sales", "sandbox", "secure", "security", "server", "session", "sessions", "settings",
    "setup", "sftp", "signin", "signup", "site", "sitemap", "smtp", "ssh", "ssl", "sso",
    "stage", "staging", "static", "statics", "stats", "status", "superuser", "support",
    "sysadmin", "system", "tenant", "tenants", "terms", "tls", "token", "tokens", "upload",
    "uploads", "usenet", "user", "users", "verify", "vpn", "web", "webhook", "webhooks",
    "webmail", "webmaster", "wildcard", "worker", "wpad", "ws", "www", "www1", "www2",
})
# fmt: on

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z")
_PORT = re.compile(r"[0-9]{1,5}\Z")
_MAXIMUM_NAME_LENGTH = 253


class BadHost(BadRequest):
    message = "The Host header is malformed."


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    """Lower case, without a trailing dot; an IPv6 address in brackets."""
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Subdomain:
    """`<slug>.<base domain>`; whether there is such a tenant is not known here."""

    slug: str


@dataclass(frozen=True, slots=True)
class BareHost:
    """The service's own address: no tenant, or the default one."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Some other name: a tenant's own domain, or nobody's."""

    domain: str


def parse_host(raw: str) -> Host:
    """Raises `BadHost` for whatever is not a plain `name[:port]` in ASCII."""
    name, port = _split_port(raw)
    if name.startswith("["):
        return Host(_ipv6(name), port)
    name = name.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _MAXIMUM_NAME_LENGTH or not all(_LABEL.match(label) for label in labels):
        raise BadHost
    # A last label of digits makes it an address; 127.1 and 0x7f.1 are spellings that resolvers
    # read in their own ways, so only the dotted quad is taken.
    if labels[-1].isdigit() or re.match(r"0x[0-9a-f]*\Z", labels[-1]):
        return Host(_ipv4(name), port)
    return Host(name, port)


Place: TypeAlias = Subdomain | BareHost | Foreign


def place_of(host: Host, base_domain: str, base_url: str) -> Place:
    """The base domain, the base URL's host and loopback addresses are the service itself."""
    own_names = (base_domain, _host_of(base_url), "localhost")
    if host.name in own_names or _is_loopback(host.name):
        return BareHost()
    slug, dot, rest = host.name.partition(".")
    if dot and rest == base_domain:
        return Subdomain(slug)
    return Foreign(host.name)


def check_slug(slug: str) -> Problem | None:
    """What keeps a slug from being a tenant's name."""
    # A slug is a label of a host name, hence no outer hyphens; browsers would show xn-- as another
    # name.
    if not _LABEL.match(slug) or slug.startswith("xn--"):
        return Problem(
            "validation_invalid_format",
            "Must be 1 to 63 of a-z, 0-9 and hyphens, with no hyphen at either end.",
        )
    if slug in RESERVED_SLUGS:
        return Problem("validation_reserved", "This name is reserved. Choose another one.")
    return None


def is_address(name: str) -> bool:
    """Whether a host's name is an IP address; one of IPv6 stands in brackets."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _split_port(raw: str) -> tuple[str, int | None]:
    if raw.startswith("["):
        address, bracket, rest = raw.partition("]")
        name = address + bracket
        colon, port = rest[:1], rest[1:]
    else:
        name, colon, port = raw.partition(":")
    if colon not in {"", ":"}:
        raise BadHost
    if not colon:
        return name, None
    if not _PORT.match(port) or not 0 < int(port) < 65536:
        raise BadHost
    return name, int(port)


def _ipv6(bracketed: str) -> str:
    # A zone (fe80::1%eth0) means something on one machine only.
    if not bracketed.endswith("]") or "%" in bracketed:
        raise BadHost
    try:
        return f"[{ipaddress.IPv6Address(bracketed[1:-1])}]"
    except ValueError as error:
        raise BadHost from error


def _ipv4(name: str) -> str:
    try:
        return str(ipaddress.IPv4Address(name))
    except ValueError as error:
        raise BadHost from error


@lru_cache(maxsize=16)
def _host_of(url: str) -> str:
    return parse_host(urlsplit(url).netloc).name


def _is_loopback(name: str) -> bool:
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
