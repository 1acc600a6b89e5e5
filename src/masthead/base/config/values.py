"""The types of settings and their parsers.

A parser raises `ValueError` with the end of a sentence ("must be …"). It never quotes the value,
which may be a secret.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import timedelta
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.utils import parseaddr
from enum import StrEnum
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import msgspec

from masthead.base.email_address import ascii_domain

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Secret(str):
    """Text that must not appear in a traceback, a log line or a settings dump."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


class Url(str):
    """A valid URL; its repr leaves the credentials out."""

    __slots__ = ()

    def __repr__(self) -> str:
        without_login = re.sub(r"//[^/]*@", "//***@", self)
        return repr(re.sub(r"\?.*", "?***", without_login))


class RateLimits(StrEnum):
    A = "a"
    """Per minute and per hour by plan."""
    B = "b"
    """100 a minute per key."""
    OFF = "off"


class ErrorCodes(StrEnum):
    A = "a"
    B = "b"


class GdprHeaderAuth(StrEnum):
    OFF = "off"
    LIMITED = "limited"
    FULL = "full"


class AiProvider(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class AiFor(StrEnum):
    """Who may use the AI of a site, and so spend its key or the platform's."""

    ANYONE = "anyone"
    STAFF = "staff"


class LogFormat(StrEnum):
    CONSOLE = "console"
    JSON = "json"


class RetryPolicy(msgspec.Struct, frozen=True):
    """The delays between attempts of a delivery, and when a failing subscription is disabled."""

    delays_seconds: tuple[int, ...]
    disable_after: int | None = None
    """Consecutive exhausted deliveries that disable a subscription; None: never."""


RETRY_POLICIES = {
    "a": RetryPolicy((60, 300, 900, 3600, 21600)),
    "b": RetryPolicy((1, 2, 4), disable_after=5),
}


class SmtpSecurity(StrEnum):
    PLAIN = "plain"
    STARTTLS = "starttls"
    TLS = "tls"


class SmtpServer(msgspec.Struct, frozen=True):
    host: str
    port: int
    security: SmtpSecurity
    username: str | None = None
    password: Secret | None = None


_Choice = TypeVar("_Choice", bound=StrEnum)


def parse_choice(options: type[_Choice]) -> Callable[[str], _Choice]:
    names = [option.value for option in options]
    listed = " or ".join([", ".join(names[:-1]), names[-1]])

    def parse(text: str) -> _Choice:
        if text not in names:
            raise ValueError(f"must be {listed}")
        return options(text)

    return parse


def parse_switch(text: str) -> bool:
    lowered = text.lower()
    if lowered in {"1", "true", "yes", "on"}:
        return True
    if lowered in {"0", "false", "no", "off"}:
        return False
    raise ValueError("must be 1 or 0")


def parse_spf(text: str) -> str:
    if not re.fullmatch(r"(include|a|mx|ip4|ip6|exists):[\w.:/-]+|a|mx", text, re.ASCII):
        raise ValueError("must be one part of an SPF record, such as include:amazonses.com")
    return text


def parse_text(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be printable text")
    return text


def parse_secret(text: str) -> Secret:
    return Secret(parse_text(text))


MIN_SECRET_LENGTH = 16


def parse_secret_keys(text: str) -> tuple[Secret, ...]:
    keys = tuple(Secret(key.strip()) for key in text.split(","))
    if any(len(key) < MIN_SECRET_LENGTH for key in keys):
        raise ValueError(
            f"must be one or more secrets of at least {MIN_SECRET_LENGTH} characters, "
            "separated by commas"
        )
    return keys


def parse_path(text: str) -> Path:
    # Absolute, because the working directory may change.
    return Path(text).expanduser().absolute()


def parse_existing_file(text: str) -> Path:
    path = parse_path(text)
    if not path.is_file():
        raise ValueError("must be a file that exists")
    return path


_SIZE = re.compile(r"([0-9]{1,15}) ?(|B|KiB|MiB|GiB)\Z")
_UNITS = {"": 1, "B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def parse_size(text: str) -> int:
    match = _SIZE.match(text)
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if size == 0:
        raise ValueError("must be a number of bytes above 0, such as 52428800 or 50MiB")
    return size


def parse_count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 100:
        raise ValueError("must be a number from 1 to 100")
    return int(text)


def parse_rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0.01 <= rate <= 100_000:
        raise ValueError("must be a number above 0, such as 50 or 0.5")
    return rate


def parse_networks(text: str) -> tuple[Network, ...]:
    names = [name.strip() for name in text.split(",")] if text else []
    try:
        return tuple(ipaddress.ip_network(name) for name in names)
    except ValueError:
        raise ValueError(
            "must be networks such as 127.0.0.0/8 or fd00::/8, separated by commas"
        ) from None


_TOPIC = re.compile(r"arn:aws(-[a-z]+)*:sns:[a-z]{2}(-[a-z]+)+-[0-9]{1,2}:[0-9]{12}:[\w.-]{1,256}")


def parse_topics(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")] if text else []
    if not all(_TOPIC.fullmatch(name) for name in names):
        raise ValueError(
            "must be ARNs such as arn:aws:sns:eu-west-1:123456789012:bounces, separated by commas"
        )
    return tuple(names)


def parse_name_server(text: str) -> tuple[str, int]:
    """The IP address and the port."""
    expected = "must be an IP address, with a port or without, such as 192.0.2.53 or [::1]:5353"
    address, mark, port = text.rpartition(":")
    if not mark or (":" in address.strip("[]") and not text.startswith("[")):
        address, port = text, "53"
    try:
        found = ipaddress.ip_address(address.removeprefix("[").removesuffix("]"))
        number = int(port)
    except ValueError:
        raise ValueError(expected) from None
    if not port.isascii() or not 0 < number < 65_536:
        raise ValueError(expected)
    return str(found), number


class MetricsAccess(msgspec.Struct, frozen=True):
    """Where `/metrics` is: on a separate port, or behind a token on the service's port."""

    host: str = ""
    port: int = 0
    token: Secret | None = None


def parse_metrics(text: str) -> MetricsAccess:
    expected = "must be HOST:PORT, such as 127.0.0.1:9100, or token:SECRET"
    kind, _, secret = text.partition(":")
    if kind == "token":
        if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
            raise ValueError(expected)
        return MetricsAccess(token=Secret(secret))
    parts = _split(f"//{text}", expected)
    if not parts.hostname or parts.port is None or parts.path or _has_extras(parts):
        raise ValueError(expected)
    return MetricsAccess(parts.hostname, parts.port)


_DELAYS = re.compile(r"([0-9]{1,8}(?:,[0-9]{1,8})*)(?:;disable_after=([0-9]{1,6}))?\Z")


def parse_retry_policy(text: str) -> RetryPolicy:
    compact = text.replace(" ", "")
    if compact in RETRY_POLICIES:
        return RETRY_POLICIES[compact]
    match = _DELAYS.match(compact)
    delays = tuple(int(delay) for delay in match[1].split(",")) if match else ()
    disable_after = int(match[2]) if match and match[2] else None
    if not delays or 0 in delays or disable_after == 0:
        raise ValueError("must be a, b, or delays in seconds such as 60,300,900;disable_after=5")
    return RetryPolicy(delays, disable_after)


_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_CONTACT = re.compile(r"(?:mailto:[!-~]{1,200}@[!-~]{1,200}|https://[!-~]{1,400})")
_DOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\Z")
_SLUG = re.compile(rf"{_LABEL}\Z")


def parse_domain(text: str) -> str:
    domain = text.lower().rstrip(".")
    if not _DOMAIN.match(domain):
        raise ValueError("must be a domain name without port, such as example.com")
    return domain


def parse_contact(text: str) -> str:
    if not _CONTACT.fullmatch(text):
        raise ValueError("must be mailto: and an email address, or an https URL")
    return text


def parse_slug(text: str) -> str:
    if not _SLUG.match(text):
        raise ValueError("must be a tenant's slug: 1 to 63 of a-z, 0-9 and inner hyphens")
    return text


def parse_address(text: str) -> Address:
    """In ASCII, because not every mail server accepts other senders."""
    name, given = parseaddr(text)
    local, _, domain = given.rpartition("@")
    address = f"{local}@{ascii_domain(domain)}"
    if not text.isprintable() or address.count("@") != 1 or not address.isascii():
        raise ValueError("must be an email address, such as Masthead <no-reply@example.com>")
    try:
        return Address(display_name=name, addr_spec=address)
    except (ValueError, HeaderParseError):
        raise ValueError(
            "must be an email address, such as Masthead <no-reply@example.com>"
        ) from None


def parse_base_url(text: str) -> Url:
    expected = "must be an http or https address without a path, such as https://example.com"
    parts = _split(text, expected)
    if not _is_http(parts) or parts.path not in {"", "/"} or _has_extras(parts):
        raise ValueError(expected)
    return Url(f"{parts.scheme}://{parts.netloc.lower()}")


def parse_http_url(text: str) -> Url:
    expected = "must be an http or https address, such as https://example.com/v1"
    parts = _split(text, expected)
    if not _is_http(parts) or _has_extras(parts):
        raise ValueError(expected)
    return Url(text.rstrip("/"))


def parse_database_url(text: str) -> Url:
    expected = "must be sqlite:///path or postgresql://user:password@host:port/name"
    if text.startswith("sqlite:"):
        # Not parsed as a URL: a space or # is part of the path.
        is_valid = text.isprintable() and bool(re.match(r"sqlite:///.*[^/]\Z", text))
    else:
        parts = _split(text, expected)
        is_valid = parts.scheme in {"postgresql", "postgres"} and parts.path.strip("/") != ""
    if not is_valid:
        raise ValueError(expected)
    return Url(text)


def parse_storage_url(text: str) -> Url:
    expected = "must be file:///path or s3://bucket/prefix"
    parts = _split(text, expected)
    is_folder = parts.scheme == "file" and not parts.netloc and parts.path.startswith("/")
    is_bucket = parts.scheme == "s3" and re.fullmatch(r"[A-Za-z0-9._-]{1,255}", parts.netloc)
    if not (is_folder or is_bucket) or parts.query or parts.fragment:
        raise ValueError(expected)
    return Url(text.rstrip("/") if is_bucket or parts.path != "/" else text)


def parse_backup_place(text: str) -> Url:
    expected = "must be an absolute folder such as /backups, or s3://bucket/prefix"
    if text.startswith("/") and "\0" not in text:
        return Url(text.rstrip("/") or "/")
    try:
        place = parse_storage_url(text)
    except ValueError:
        raise ValueError(expected) from None
    if not place.startswith("s3://"):
        raise ValueError(expected)
    return place


_INTERVAL = re.compile(r"([1-9][0-9]{0,4})([mhd])")
_MINUTES = {"m": 1, "h": 60, "d": 24 * 60}


def parse_interval(text: str) -> timedelta:
    match = _INTERVAL.fullmatch(text)
    found = timedelta(minutes=int(match[1]) * _MINUTES[match[2]]) if match else timedelta()
    if not timedelta(minutes=10) <= found <= timedelta(days=31):
        raise ValueError("must be 10m to 31d, such as 6h or 1d")
    return found


def parse_redis_url(text: str) -> Url:
    expected = "must be redis://host:port/number (or rediss://, unix://)"
    parts = _split(text, expected)
    has_target = parts.path if parts.scheme == "unix" else parts.hostname
    if parts.scheme not in {"redis", "rediss", "unix"} or not has_target:
        raise ValueError(expected)
    return Url(text)


def parse_smtp_url(text: str) -> SmtpServer:
    expected = "must be smtp://user:pass@host:port (or smtps://, or with ?starttls=1)"
    parts = _split(text, expected)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if (
        parts.scheme not in {"smtp", "smtps"}
        or not parts.hostname
        or parts.path not in {"", "/"}
        or options.keys() - {"starttls"}
    ):
        raise ValueError(expected)
    security = SmtpSecurity.TLS if parts.scheme == "smtps" else SmtpSecurity.PLAIN
    if security is SmtpSecurity.PLAIN and parse_switch(options.get("starttls", "0")):
        security = SmtpSecurity.STARTTLS
    return SmtpServer(
        host=parts.hostname,
        port=parts.port or _SMTP_PORTS[security],
        security=security,
        username=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else Secret(unquote(parts.password)),
    )


_SMTP_PORTS = {SmtpSecurity.PLAIN: 25, SmtpSecurity.STARTTLS: 587, SmtpSecurity.TLS: 465}


def _split(text: str, expected: str) -> SplitResult:
    """Checks the port and the characters too; `urlsplit` drops tabs and newlines."""
    try:
        parts = urlsplit(text)
        is_valid = text.isprintable() and " " not in text and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError(expected)
    return parts


def _is_http(parts: SplitResult) -> bool:
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _has_extras(parts: SplitResult) -> bool:
    return bool("@" in parts.netloc or parts.query or parts.fragment)
