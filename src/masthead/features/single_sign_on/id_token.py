"""Verifies ID tokens (OpenID Connect Core, 3.1.3.7). PyJWT checks the signature; the times are
compared with the service's own clock."""

from __future__ import annotations

import hmac
import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from masthead.features.single_sign_on.collection import MAX_SUBJECT
from masthead.features.single_sign_on.documents import Document
from masthead.features.single_sign_on.errors import TokenRefused

if TYPE_CHECKING:
    from jwt.types import Options

KEY_TYPES = {"RS256": "RSA", "PS256": "RSA", "ES256": "EC", "EdDSA": "OKP"}
"""The algorithms that are accepted, each with its kind of key: only signatures with public keys."""
LEEWAY = timedelta(minutes=2)
OLDEST = timedelta(days=1)
MAX_TOKEN = 64 * 1024
MAX_MODULUS = 1_400
"""Characters of base64: 8,192 bits. A larger key would take too long."""


class Expected(msgspec.Struct, frozen=True):
    issuer: str
    client_id: str
    nonce: str
    now: datetime


def key_id(token: str) -> str:
    """The id of the key that the token names, unverified; empty if it names none."""
    return str(_header(token).get("kid") or "")


def verify(token: str, keys: list[Document], expected: Expected) -> dict[str, Any]:
    """The claims. Raises TokenRefused."""
    # Imported here: few processes need it at their start.
    import jwt

    header = _header(token)
    algorithm = str(header.get("alg"))
    if algorithm not in KEY_TYPES or "crit" in header:
        raise TokenRefused(f"The algorithm {algorithm[:20]!r} or a critical header is refused.")
    options: Options = {
        "require": ["exp", "iat", "iss", "aud", "sub"],
        "verify_exp": False,
        "verify_iat": False,
        "verify_nbf": False,
        "enforce_minimum_key_length": True,
    }
    try:
        key = jwt.PyJWK(_chosen(keys, header, algorithm), algorithm)
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=expected.client_id,
            issuer=expected.issuer,
            options=options,
        )
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise TokenRefused(f"{type(error).__name__}: {error}") from error
    _check_times(claims, expected.now)
    _check_party(claims, expected)
    return claims


def _header(token: str) -> dict[str, Any]:
    import jwt

    if len(token) > MAX_TOKEN:
        raise TokenRefused("The token is too long.")
    try:
        return dict(jwt.get_unverified_header(token))
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise TokenRefused(f"{type(error).__name__}: {error}") from error


def _chosen(keys: list[Document], header: Mapping[str, Any], algorithm: str) -> Document:
    """The key that the token names, or the only one that fits if it names none."""
    wanted = header.get("kid")
    fitting = [each for each in keys if _fits(each, algorithm)]
    if wanted is not None:
        fitting = [each for each in fitting if each.get("kid") == wanted]
    if len(fitting) != 1:
        raise TokenRefused(f"{len(fitting)} keys fit the token.")
    return fitting[0]


def _fits(key: Document, algorithm: str) -> bool:
    if key.get("kty") != KEY_TYPES[algorithm] or len(str(key.get("n", ""))) > MAX_MODULUS:
        return False
    return key.get("use") in (None, "sig") and key.get("alg") in (None, algorithm)


def _check_times(claims: Mapping[str, Any], now: datetime) -> None:
    expires, issued = _seconds(claims, "exp"), _seconds(claims, "iat")
    leeway, at = LEEWAY.total_seconds(), now.timestamp()
    if expires <= at - leeway:
        raise TokenRefused("The token has expired.")
    if issued > at + leeway:
        raise TokenRefused("The token is from the future.")
    if issued < at - OLDEST.total_seconds():
        raise TokenRefused("The token is too old.")
    if "nbf" in claims and _seconds(claims, "nbf") > at + leeway:
        raise TokenRefused("The token is not valid yet.")


def _seconds(claims: Mapping[str, Any], name: str) -> float:
    value = claims[name]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or (isinstance(value, float) and not math.isfinite(value)):
        raise TokenRefused(f"{name} is no time.")
    # As it is: an integer may be too large for a float.
    seconds: float = value
    return seconds


def _check_party(claims: Mapping[str, Any], expected: Expected) -> None:
    audience, party = claims["aud"], claims.get("azp")
    if isinstance(audience, list) and len(audience) > 1 and party is None:
        raise TokenRefused("The token is for several clients and names none of them.")
    if party is not None and party != expected.client_id:
        raise TokenRefused("The token was issued to another client.")
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not hmac.compare_digest(
        nonce.encode(errors="replace"), expected.nonce.encode()
    ):
        raise TokenRefused("The nonce is another one.")
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT:
        raise TokenRefused("The subject is missing or too long.")
    if not subject.isascii() or not subject.isprintable():
        raise TokenRefused("The subject has characters other than printable ASCII.")
