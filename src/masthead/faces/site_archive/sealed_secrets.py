"""The secrets of a site, encrypted with a passphrase: keys of the payment processor and of the AI
provider, signing secrets of webhooks, keys that sign emails.

In the database they are encrypted with the installation's root secret, which stays there.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from masthead.base.errors import MastheadError
from masthead.faces.site_archive.header import DamagedSite

MIN_PASSPHRASE: Final = 12
_COST: Final = 2**16
"""64 MiB and a quarter of a second for each guess."""
_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 12

SecretKey = tuple[str, str, str]
"""Collection, id and field."""


class WrongPassphrase(MastheadError):
    message = "The passphrase is wrong. Nothing was imported."


class ShortPassphrase(MastheadError):
    message = f"The passphrase must have at least {MIN_PASSPHRASE} characters."


class _Sealed(msgspec.Struct, frozen=True):
    salt: bytes
    nonce: bytes
    data: bytes


def check_passphrase(passphrase: str) -> None:
    if len(passphrase) < MIN_PASSPHRASE:
        raise ShortPassphrase


def seal(values: Mapping[SecretKey, str], passphrase: str, tenant_id: str) -> bytes:
    """The id binds them to their archive."""
    salt, nonce = secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(_NONCE_BYTES)
    plain = msgspec.json.encode([[*key, value] for key, value in values.items()])
    data = AESGCM(_key(passphrase, salt)).encrypt(nonce, plain, tenant_id.encode())
    return msgspec.json.encode(_Sealed(salt, nonce, data))


def unseal(sealed: bytes, passphrase: str, tenant_id: str) -> dict[SecretKey, str]:
    try:
        entry = msgspec.json.decode(sealed, type=_Sealed)
        key = _key(passphrase, entry.salt)
        plain = AESGCM(key).decrypt(entry.nonce, entry.data, tenant_id.encode())
        rows = msgspec.json.decode(plain, type=list[tuple[str, str, str, str]])
    except InvalidTag as error:
        raise WrongPassphrase from error
    except ValueError as error:
        raise DamagedSite from error
    return {row[:3]: row[3] for row in rows}


def _key(passphrase: str, salt: bytes) -> bytes:
    return Scrypt(salt=salt, length=32, n=_COST, r=8, p=1).derive(passphrase.encode())
