"""Fields that no caller can read: password hashes and encrypted settings."""

from __future__ import annotations

from dataclasses import dataclass

from masthead.records.fields.base import Access
from masthead.records.fields.text import Text


@dataclass(frozen=True, kw_only=True)
class Hash(Text):
    """A digest or a token key, which only the engine sets."""

    read: Access = Access.ENGINE
    write: Access = Access.ENGINE


@dataclass(frozen=True, kw_only=True)
class Secret(Text):
    """Text that an administrator can set but not read back; encrypted at rest."""

    read: Access = Access.ENGINE
    write: Access = Access.ADMIN
