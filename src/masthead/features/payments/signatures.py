"""Verifies the signature of a payment event, in each of the accepted header formats."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

TOLERANCE_SECONDS = 300

_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_UNIX_TIME = re.compile(r"[0-9]{1,12}")


class Claim(msgspec.Struct, frozen=True):
    """The content of a header: digests of the body, or of `<at>.<body>` if it has a time."""

    digests: tuple[str, ...]
    at: str = ""


def digest(secret: str, raw_body: bytes, at: str = "") -> str:
    signed = f"{at}.".encode() + raw_body if at else raw_body
    return hmac.digest(secret.encode(), signed, "sha256").hex()


def is_authentic(headers: Mapping[str, str], secret: str, raw_body: bytes, now: int) -> bool:
    """`headers` holds the sent ones of `PARSERS`; `now` is in Unix seconds."""
    claims = (PARSERS[name](value) for name, value in headers.items())
    return any(_is_valid(claim, secret, raw_body, now) for claim in claims if claim is not None)


def _is_valid(claim: Claim, secret: str, raw_body: bytes, now: int) -> bool:
    if claim.at and abs(now - int(claim.at)) > TOLERANCE_SECONDS:
        return False
    expected = digest(secret, raw_body, claim.at)
    # Each in constant time; which of several signatures matched is no secret.
    return any(hmac.compare_digest(expected, each) for each in claim.digests)


def _plain(value: str, prefixes: Iterable[str]) -> Claim | None:
    """`<prefix><hex>` of the body itself."""
    for prefix in prefixes:
        given = value.removeprefix(prefix)
        if value.startswith(prefix) and _DIGEST.fullmatch(given):
            return Claim((given.lower(),))
    return None


def _timed(value: str) -> Claim | None:
    """`t=<unix>,v1=<hex>[,v1=<hex>]`. There are two v1 while the secret is rolled. `v0` is ignored:
    the processor sends it for test events, and anyone can get one."""
    pairs = [part.strip().partition("=") for part in value.split(",")]
    times = [text for name, _, text in pairs if name == "t"]
    if len(times) != 1 or not _UNIX_TIME.fullmatch(times[0]):
        return None
    digests = [text.lower() for name, _, text in pairs if name == "v1" and _DIGEST.fullmatch(text)]
    return Claim(tuple(digests), times[0])


PARSERS: Mapping[str, Callable[[str], Claim | None]] = {
    "payment-signature": lambda value: _plain(value, ("", "sha256=", "v1=")) or _timed(value),
    "stripe-signature": _timed,
    "x-service-signature": lambda value: _plain(value, ("sha256=",)),
}
