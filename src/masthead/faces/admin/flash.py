"""A sentence for the next page, such as "3 posts are published", and what undoes it: in a short,
signed cookie.

Signed, because a sibling site can set cookies for ours and must not put words into the admin.
"""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

from masthead.base.config.keyring import KeyRing
from masthead.base.config.tokens import is_signed, sign
from masthead.web.cookies import set_own_cookie

COOKIE = "mh_flash"
_PURPOSE, _LENGTH = "admin-flash", 32
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
    signed = f"{text}.{sign(keyring, _PURPOSE, text, length=_LENGTH)}"
    return admin_cookie(COOKIE, signed, seconds=_SECONDS, is_https=is_https)


def read_flash(keyring: KeyRing, cookie: str) -> Flash:
    """Nothing for a cookie that is not ours."""
    text, _, given = cookie.partition(".")
    if not is_signed(keyring, _PURPOSE, text, given, length=_LENGTH):
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
