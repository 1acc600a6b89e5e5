"""Addresses that open one file for whoever has them, for a time: those in emails.

The signature covers the site, the file's record and the end, so it opens nothing else."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from masthead.base.config.keyring import KeyRing
from masthead.base.config.tokens import is_signed, sign

PARAMETER: Final = "signed"
IN_EMAILS: Final = timedelta(days=5 * 365)
"""An email is read again years later."""
_LENGTH: Final = 32
_MAX_LENGTH: Final = 100


def sign_file(keyring: KeyRing, tenant_id: str, item_id: str, until: datetime) -> str:
    """The value of `signed` in the file's address."""
    end = f"{int(until.timestamp()):x}"
    return f"{end}.{sign(keyring, _purpose(tenant_id), f'{item_id} {end}', length=_LENGTH)}"


def opens_file(
    keyring: KeyRing, tenant_id: str, item_id: str, given: str, *, now: datetime
) -> bool:
    if not given or len(given) > _MAX_LENGTH or not given.isascii():
        return False
    end, _, signature = given.partition(".")
    text = f"{item_id} {end}"
    # The end is only read where we have written it.
    return (
        is_signed(keyring, _purpose(tenant_id), text, signature, length=_LENGTH)
        and int(end, 16) > now.timestamp()
    )


def _purpose(tenant_id: str) -> str:
    return f"files/{tenant_id}"
