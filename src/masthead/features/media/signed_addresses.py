"""Addresses that open one file for whoever has them, for a time: those in emails.

The signature covers the site, the file's record and the end, so it opens nothing else."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime, timedelta
from typing import Final

from masthead.base.config.keyring import KeyRing

PARAMETER: Final = "signed"
IN_EMAILS: Final = timedelta(days=5 * 365)
"""An email is read again years later."""
_SIGNATURE_BYTES: Final = 16
_MAX_LENGTH: Final = 100


def sign_file(keyring: KeyRing, tenant_id: str, item_id: str, until: datetime) -> str:
    """The value of `signed` in the file's address."""
    end = f"{int(until.timestamp()):x}"
    return f"{end}.{_signature(keyring.derive(_purpose(tenant_id)), item_id, end)}"


def is_signed(keyring: KeyRing, tenant_id: str, item_id: str, given: str, *, now: datetime) -> bool:
    if not given or len(given) > _MAX_LENGTH or not given.isascii():
        return False
    end, _, signature = given.partition(".")
    keys = keyring.derive_all(_purpose(tenant_id))
    matches = [hmac.compare_digest(_signature(key, item_id, end), signature) for key in keys]
    # The end is only read where we have written it.
    return any(matches) and int(end, 16) > now.timestamp()


def _purpose(tenant_id: str) -> str:
    return f"files/{tenant_id}"


def _signature(key: bytes, item_id: str, end: str) -> str:
    text = f"{item_id} {end}".encode()
    return hmac.digest(key, text, hashlib.sha256)[:_SIGNATURE_BYTES].hex()
