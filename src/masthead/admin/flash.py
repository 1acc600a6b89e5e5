"""A sentence for the next page, such as "3 posts are published": in a short, signed cookie.

Signed, because a sibling site can set cookies for ours and must not put words into the admin.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from masthead.config.keyring import KeyRing
from masthead.web.cookies import set_own_cookie

COOKIE = "mh_flash"
_PURPOSE = "admin-flash"
_SECONDS = 60
_MAX_BYTES = 1_000


def flash_cookie(keyring: KeyRing, sentence: str, *, is_https: bool) -> str:
    """The `Set-Cookie` value."""
    text = base64.urlsafe_b64encode(sentence.encode()[:_MAX_BYTES]).decode().rstrip("=")
    signed = f"{text}.{_signature(keyring.derive(_PURPOSE), text)}"
    return admin_cookie(COOKIE, signed, seconds=_SECONDS, is_https=is_https)


def read_flash(keyring: KeyRing, cookie: str) -> str:
    """The sentence; '' for a cookie that is not ours."""
    text, _, given = cookie.partition(".")
    keys = keyring.derive_all(_PURPOSE)
    matches = [hmac.compare_digest(_signature(key, text).encode(), given.encode()) for key in keys]
    if not any(matches):
        return ""
    try:
        padded = text + "=" * (-len(text) % 4)
        return base64.urlsafe_b64decode(padded).decode(errors="ignore")
    except (binascii.Error, ValueError):
        return ""


def admin_cookie(name: str, value: str, *, seconds: int, is_https: bool) -> str:
    """A `Set-Cookie` value for the admin's own addresses; 0 seconds delete the cookie."""
    return set_own_cookie(name, value, path="/admin", seconds=seconds, is_https=is_https)


def _signature(key: bytes, text: str) -> str:
    return hmac.digest(key, text.encode(), hashlib.sha256).hex()[:32]
