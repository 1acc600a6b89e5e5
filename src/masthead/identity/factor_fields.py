"""The fields of an account that hold its second factors. No caller can read or set them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masthead.engine.records.fields.base import Access, Field
from masthead.engine.records.fields.documents import Json, TextList
from masthead.engine.records.fields.secrets import Secret
from masthead.engine.records.fields.values import Number

FACTOR_FIELDS: tuple[Field, ...] = (
    Secret(name="totp_secret", max=500, write=Access.ENGINE),
    # Of the last code that was accepted: no code counts twice, and none before it.
    Number(name="totp_step", read=Access.ENGINE, write=Access.ENGINE),
    TextList(name="recovery_hashes", read=Access.ENGINE, write=Access.ENGINE),
    # Public keys, which need no encryption: see `passkeys`.
    Json(name="passkeys", read=Access.ENGINE, write=Access.ENGINE),
)

NO_FACTORS: Mapping[str, Any] = {each.name: each.empty() for each in FACTOR_FIELDS}


def has_second_factor(account: Mapping[str, Any]) -> bool:
    """Recovery codes are no factor: they replace one."""
    return bool(account.get("totp_secret") or account.get("passkeys"))
