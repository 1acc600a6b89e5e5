"""Tokens of links, cookies and hidden fields: signed ones, which anybody can read; sealed ones,
which nobody can; and random ones, of which only a hash is stored.

A purpose that names the tenant makes a token no use at another site. Tokens outlive a rotation of
the root secret: each is compared with every one that is configured.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import msgspec

from masthead.base.config.keyring import DecryptionError, KeyRing

T = TypeVar("T")


def new_token() -> str:
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def is_token_of(token: str, token_hash: str) -> bool:
    """In constant time. Never true for an empty hash."""
    return hmac.compare_digest(hash_token(token), token_hash) and bool(token_hash)


def sign(keyring: KeyRing, purpose: str, text: str, *, length: int = 64) -> str:
    """The signature of a text, of at most 64 characters."""
    return _signature(keyring.derive(purpose), text, length)


def is_signed(keyring: KeyRing, purpose: str, text: str, given: str, *, length: int = 64) -> bool:
    """In constant time."""
    sent = given.encode(errors="replace")
    keys = keyring.derive_all(purpose)
    matches = [hmac.compare_digest(_signature(key, text, length).encode(), sent) for key in keys]
    return any(matches)


class Sealed(msgspec.Struct, Generic[T], frozen=True):
    """A kind of values that a page or a cookie holds for us, so that nothing is stored."""

    purpose: str
    lifetime: timedelta
    type: type[T]

    def seal(self, keyring: KeyRing, value: T, bound_to: str, now: datetime) -> str:
        """`bound_to`: whom it is for, such as a sign-in or a site."""
        content = (value, int((now + self.lifetime).timestamp()))
        return keyring.encrypt(self.purpose, msgspec.json.encode(content).decode(), bound_to)

    def open(self, keyring: KeyRing, sealed: str, bound_to: str, now: datetime) -> T | None:
        """None if it is another one's, too old or not ours."""
        try:
            text = keyring.decrypt(self.purpose, sealed, bound_to)
            value, expires = msgspec.json.decode(text, type=tuple[self.type, int])  # type: ignore[name-defined]
        except (DecryptionError, msgspec.DecodeError):
            return None
        return value if expires > now.timestamp() else None


def _signature(key: bytes, text: str, length: int) -> str:
    return hmac.digest(key, text.encode(errors="replace"), hashlib.sha256).hex()[:length]
