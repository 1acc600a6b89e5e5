"""Fields that no caller can read: password hashes and encrypted settings."""

from __future__ import annotations

from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.text import Text


class Hash(Text, frozen=True, kw_only=True):
    """A digest or a token key, which only the engine sets."""

    read: Access = Access.ENGINE
    write: Access = Access.ENGINE


class Secret(Text, frozen=True, kw_only=True):
    """Text that an administrator can set but not read back; encrypted at rest."""

    read: Access = Access.ENGINE
    write: Access = Access.ADMIN
