"""Parses the Host header strictly and classifies it. Does not query tenants."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import urlsplit

import msgspec

from masthead.base.errors import BadRequest, Problem
from masthead.base.languages.words import staff_words

# Names with a special meaning for visitors, browsers, mail servers or this service.
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
_MAX_NAME_LENGTH = 253


class BadHost(BadRequest):
    message = "The Host header is malformed."


class Host(msgspec.Struct, frozen=True):
    name: str
    """Lower case, without a trailing dot; an IPv6 address in brackets."""
    port: int | None = None


class Subdomain(msgspec.Struct, frozen=True):
    """`<slug>.<base domain>`; the tenant need not exist."""

    slug: str


class BareHost(msgspec.Struct, frozen=True):
    """The service's own host: no tenant, or the default one."""


class Foreign(msgspec.Struct, frozen=True):
    """Any other name: perhaps a tenant's custom domain."""

    domain: str


def parse_host(raw: str) -> Host:
    """Raises `BadHost` for anything but `name[:port]` in ASCII."""
    name, port = _split_port(raw)
    if name.startswith("["):
        return Host(_ipv6(name), port)
    name = name.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _MAX_NAME_LENGTH or not all(_LABEL.match(label) for label in labels):
        raise BadHost
    # A numeric last label makes it an IP address. Resolvers disagree on 127.1 and 0x7f.1, so only
    # dotted quads are accepted.
    if labels[-1].isdigit() or re.match(r"0x[0-9a-f]*\Z", labels[-1]):
        return Host(_ipv4(name), port)
    return Host(name, port)


HostKind: TypeAlias = Subdomain | BareHost | Foreign


def classify_host(host: Host, base_domain: str, base_url: str) -> HostKind:
    """The base domain, the base URL's host and loopback addresses are the service's own."""
    own_names = (base_domain, _host_of(base_url), "localhost")
    if host.name in own_names or _is_loopback(host.name):
        return BareHost()
    slug, dot, rest = host.name.partition(".")
    if dot and rest == base_domain:
        return Subdomain(slug)
    return Foreign(host.name)


def check_slug(slug: str) -> Problem | None:
    """Why a slug can't be a tenant's, or None."""
    # A slug is a label of a host name, which has no outer hyphens. Browsers display xn-- as another
    # name.
    if not _LABEL.match(slug) or slug.startswith("xn--"):
        return Problem(
            "validation_invalid_format",
            staff_words("Must be 1 to 63 of a-z, 0-9 and hyphens, with no hyphen at either end."),
        )
    if slug in RESERVED_SLUGS:
        return Problem(
            "validation_reserved", staff_words("This name is reserved. Choose another one.")
        )
    return None


def is_address(name: str) -> bool:
    """Whether a host name is an IP address; IPv6 in brackets."""
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
    # A zone (fe80::1%eth0) is valid on one machine only.
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
