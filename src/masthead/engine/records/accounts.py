"""The fields that every collection whose records can sign in shares."""

from __future__ import annotations

import secrets
from typing import Any, Final

from masthead.engine.records.fields.base import Access, Field
from masthead.engine.records.fields.secrets import Hash
from masthead.engine.records.fields.values import Flag

SESSION_KEY: Final = "token_key"
ACCOUNT_FIELDS: tuple[Field, ...] = (
    Flag(name="verified", write=Access.ADMIN, help="The mailbox was confirmed."),
    Hash(name="password_hash", max=255),
    # Part of the key that signs the account's tokens: changing it ends every session.
    Hash(name=SESSION_KEY, max=64),
)


def new_token_key() -> str:
    return secrets.token_urlsafe(32)


def credentials(password_hash: str) -> dict[str, Any]:
    """The values of a new password. The new token key ends every older session."""
    return {"password_hash": password_hash, "token_key": new_token_key()}
