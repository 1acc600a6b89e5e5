"""Refuses a backup whose root secret could not read the stored secrets in it."""

from __future__ import annotations

from masthead.base.config.keyring import KeyRing
from masthead.base.config.served_secret import DIFFERS, refuse_other
from masthead.base.config.settings import Settings, SettingsError
from masthead.engine.records.engine import Records


async def check_secrets(settings: Settings, keyring: KeyRing, records: Records) -> int:
    """Refuses a root secret with which a restored copy could read no stored secret. Returns how
    many it can't read although it reads others: those of an earlier root secret."""
    refuse_other(settings, keyring)
    readable, unreadable = await records.count_readable_secrets()
    if unreadable and not readable:
        raise SettingsError(DIFFERS)
    return unreadable
