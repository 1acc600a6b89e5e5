"""The secret of an authenticator app between its QR code and the first code of the app.

It is not the account's yet, so it is stored nowhere: the page holds it, sealed for the sign-in that
asked for it.
"""

from __future__ import annotations

import msgspec

from masthead.base.config.keyring import DecryptionError, KeyRing

PURPOSE = "pending authenticator app"
LIFETIME_SECONDS = 30 * 60


class _Pending(msgspec.Struct):
    secret: str
    expires: int


def seal(keyring: KeyRing, secret: str, sign_in: str, now: float) -> str:
    pending = _Pending(secret, int(now) + LIFETIME_SECONDS)
    return keyring.encrypt(PURPOSE, msgspec.json.encode(pending).decode(), sign_in)


def unseal(keyring: KeyRing, sealed: str, sign_in: str, now: float) -> str:
    """The secret; empty if it is another sign-in's, too old or not ours."""
    try:
        text = keyring.decrypt(PURPOSE, sealed, sign_in)
    except DecryptionError:
        return ""
    pending = msgspec.json.decode(text, type=_Pending)
    return pending.secret if pending.expires > now else ""
