"""A person of a provider between the way back from it and the press of “Connect”.

It is not the account's yet, so it is stored nowhere: the page holds it, sealed for the sign-in that
asked for it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from masthead.base.config.keyring import DecryptionError, KeyRing

PURPOSE = "sign-in to connect"
LIFETIME = timedelta(minutes=30)


class Connecting(msgspec.Struct, frozen=True):
    provider_id: str
    subject: str
    expires: int


def seal(keyring: KeyRing, provider_id: str, subject: str, *, sign_in: str, now: datetime) -> str:
    expires = int((now + LIFETIME).timestamp())
    text = msgspec.json.encode(Connecting(provider_id, subject, expires)).decode()
    return keyring.encrypt(PURPOSE, text, sign_in)


def unseal(keyring: KeyRing, sealed: str, *, sign_in: str, now: datetime) -> Connecting | None:
    """None if it is another sign-in's, too old or not ours."""
    try:
        text = keyring.decrypt(PURPOSE, sealed, sign_in)
    except DecryptionError:
        return None
    found = msgspec.json.decode(text, type=Connecting)
    return found if found.expires > now.timestamp() else None
