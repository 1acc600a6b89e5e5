"""A sentence for the next page, such as "3 posts are published", and what undoes it: in a short,
signed cookie.

Signed, because a sibling site can set cookies for ours and must not put words into the admin.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import NamedTuple

from masthead.base.config.keyring import KeyRing
from masthead.web.cookies import set_own_cookie

COOKIE = "mh_flash"
_PURPOSE = "admin-flash"
_SECONDS = 60
_MAX_BYTES = 1_000


class Flash(NamedTuple):
    sentence: str = ""
    undo: str = ""
    """The address that undoes what the sentence tells; empty if nothing does."""


NOTHING = Flash()


def flash_cookie(keyring: KeyRing, flash: Flash, *, is_https: bool) -> str:
    """The `Set-Cookie` value."""
    content = f"{flash.undo}\n{flash.sentence}".encode()[:_MAX_BYTES]
    text = base64.urlsafe_b64encode(content).decode().rstrip("=")
    signed = f"{text}.{_signature(keyring.derive(_PURPOSE), text)}"
    return admin_cookie(COOKIE, signed, seconds=_SECONDS, is_https=is_https)


def read_flash(keyring: KeyRing, cookie: str) -> Flash:
    """Nothing for a cookie that is not ours."""
    text, _, given = cookie.partition(".")
    keys = keyring.derive_all(_PURPOSE)
    matches = [hmac.compare_digest(_signature(key, text).encode(), given.encode()) for key in keys]
    if not any(matches):
        return NOTHING
    try:
        padded = text + "=" * (-len(text) % 4)
        undo, _, sentence = base64.urlsafe_b64decode(padded).decode(errors="ignore").partition("\n")
    except (binascii.Error, ValueError):
        return NOTHING
    return Flash(sentence, undo)


def admin_cookie(name: str, value: str, *, seconds: int, is_https: bool) -> str:
    """A `Set-Cookie` value for the admin's own addresses; 0 seconds delete the cookie."""
    return set_own_cookie(name, value, path="/admin", seconds=seconds, is_https=is_https)


def _signature(key: bytes, text: str) -> str:
    return hmac.digest(key, text.encode(), hashlib.sha256).hex()[:32]
