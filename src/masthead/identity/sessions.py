"""Session tokens and their cookies, as in PocketBase: JWTs with `exp`.

A token is signed with a key derived from the account's `token_key` and a root secret. So changing
the `token_key` (a new password, a logout everywhere, an erasure) invalidates every token. A token
also names its sign-in, which can be ended by itself: see `sign_ins`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from masthead.base import clock
from masthead.base.clock import Clock
from masthead.base.config.keyring import KeyRing

if TYPE_CHECKING:
    from jwt.types import Options

ADMIN_COOKIE = "pb_auth"
MEMBER_COOKIE = "pb_member_auth"
FORGET = (b"clear-site-data", b'"cache"')
"""Sent with the end of a session: no page of it comes back with the browser's button. What an
author has typed and not saved stays in the browser's storage, so that none is lost."""
HOST_PREFIX = "__Host-"
"""Browsers accept such a cookie over https only, from this very host and for all its paths."""

_ALGORITHM = "HS256"
_SIGN_IN = "signIn"
_MAX_TOKEN_LENGTH = 4096


class TokenType(StrEnum):
    AUTH = "auth"
    FILE = "file"
    """Gives access to protected files by a query parameter; short-lived."""
    PASSWORD_RESET = "passwordReset"  # noqa: S105  (a name)
    """In an emailed link: sets a new password, once."""
    SECOND_STEP = "secondStep"
    """The password was right; a second factor has to follow. Opens nothing by itself."""


class Claims(msgspec.Struct, frozen=True):
    id: str
    type: TokenType
    collection_id: str
    expires: datetime
    refreshable: bool
    sign_in: str = ""
    """Empty in tokens that are older than the table of sign-ins."""


def issue(
    keyring: KeyRing,
    *,
    account_id: str,
    collection_id: str,
    token_key: str,
    lifetime: timedelta,
    token_type: TokenType = TokenType.AUTH,
    refreshable: bool = True,
    sign_in: str = "",
    now: Clock = clock.now,
) -> str:
    if not token_key:
        raise ValueError("an account without a token key can't have sessions")
    claims: dict[str, object] = {
        "id": account_id,
        "type": token_type.value,
        "collectionId": collection_id,
        "exp": int((now() + lifetime).timestamp()),
    }
    if token_type is TokenType.AUTH:
        claims["refreshable"] = refreshable
    if sign_in:
        claims[_SIGN_IN] = sign_in
    key = _signing_key(keyring.derive("sessions"), token_key)
    import jwt

    return jwt.encode(claims, key, algorithm=_ALGORITHM)


def peek(token: str) -> Claims | None:
    """The unverified claims of a token, to find the account that verifies it."""
    if len(token) > _MAX_TOKEN_LENGTH:
        return None
    return _decoded(token, b"", {"verify_signature": False})


def verify(
    keyring: KeyRing,
    token: str,
    token_key: str,
    *,
    token_type: TokenType = TokenType.AUTH,
    now: Clock = clock.now,
) -> Claims | None:
    """The claims of a token of this type that is signed with the account's key and not expired.

    `token_key` must belong to the account that the claims name by id and collection.
    """
    if not token_key or len(token) > _MAX_TOKEN_LENGTH:
        return None
    for secret in keyring.derive_all("sessions"):
        # The expiry is checked below, with the service's clock.
        claims = _decoded(token, _signing_key(secret, token_key), {"verify_exp": False})
        if claims is not None:
            is_good = claims.type is token_type and claims.expires > now()
            return claims if is_good else None
    return None


def set_cookies(name: str, token: str, *, lifetime: timedelta, secure: bool) -> tuple[str, ...]:
    """`Set-Cookie` values: host-only, so that no tenant's site can read another's. Over https a
    second one has a prefix with which no sibling site can set it: see `session_values`."""
    age = int(lifetime.total_seconds())
    cookie = f"{name}={token}; Max-Age={age}; Path=/; HttpOnly; SameSite=Lax"
    if not secure:
        return (cookie,)
    return f"{cookie}; Secure", f"{HOST_PREFIX}{cookie}; Secure"


def end_cookies(name: str, *, secure: bool) -> tuple[str, ...]:
    """`Set-Cookie` values that delete the cookies of a session."""
    return set_cookies(name, "", lifetime=timedelta(0), secure=secure)


def _signing_key(secret: bytes, token_key: str) -> bytes:
    return hmac.digest(secret, token_key.encode(), hashlib.sha256)


def _decoded(token: str, key: bytes, options: Options) -> Claims | None:
    # Imported here: with all of `cryptography` that it loads, it is a tenth of a command's start.
    import jwt

    try:
        return _claims(jwt.decode(token, key, algorithms=[_ALGORITHM], options=options))
    # RecursionError: the JSON in a token may be nested too deeply.
    except (jwt.InvalidTokenError, ValueError, RecursionError):
        return None


def _claims(payload: dict[str, object]) -> Claims:
    """Raises `ValueError` if a claim is missing or has the wrong type."""
    account_id, collection_id = payload.get("id"), payload.get("collectionId")
    expires = payload.get("exp")
    if not (isinstance(account_id, str) and isinstance(collection_id, str)):
        raise ValueError("no account")
    if not isinstance(expires, int) or isinstance(expires, bool):
        raise ValueError("no expiry")
    try:
        moment = datetime.fromtimestamp(expires, UTC)
    except (OverflowError, OSError) as error:
        raise ValueError("an expiry out of range") from error
    return Claims(
        id=account_id,
        type=TokenType(str(payload.get("type"))),
        collection_id=collection_id,
        expires=moment,
        refreshable=payload.get("refreshable") is True,
        sign_in=str(payload.get(_SIGN_IN, "")),
    )


class _ClientCookie(msgspec.Struct):
    token: str


_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\Z")


def token_in_cookie(value: str) -> str | None:
    """The token in a cookie's value: plain, or in the JSON that PocketBase's client writes."""
    text = unquote(value.strip('"'))
    if text.startswith("{"):
        try:
            text = msgspec.json.decode(text, type=_ClientCookie).token
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return None
    return text if _TOKEN.match(text) else None
