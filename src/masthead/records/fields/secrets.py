"""Fields that never leave the engine: password hashes and encrypted settings."""

from __future__ import annotations

from dataclasses import dataclass

from masthead.records.fields.base import Access
from masthead.records.fields.text import Text


@dataclass(frozen=True, kw_only=True)
class Hash(Text):
    """A digest or a token key, written by the engine alone."""

    read: Access = Access.ENGINE
    write: Access = Access.ENGINE


@dataclass(frozen=True, kw_only=True)
class Secret(Text):
    """Text that an administrator may set and nobody may read back; encrypted at rest."""

    read: Access = Access.ENGINE
    write: Access = Access.ADMIN
