"""The links in emails about comments: one that ends them, and one that approves a comment.

Each is signed for one account of one site, and works without signing in.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import msgspec

from masthead.base.config.keyring import KeyRing
from masthead.base.config.tokens import is_signed, sign
from masthead.base.ids import TenantId

OFF_PATH: Final = "/member/comment-mails"
APPROVE_PATH: Final = "/member/approve-comment"


class Recipient(msgspec.Struct, frozen=True):
    """An account that gets an email."""

    collection: str
    id: str


class CommentMailLinks:
    def __init__(self, keyring: KeyRing) -> None:
        self._keyring = keyring

    def off(self, site_url: str, tenant_id: TenantId, to: Recipient) -> str:
        token = sign(self._keyring, _purpose("off", tenant_id), _signed(to))
        return f"{site_url}{OFF_PATH}?{_account(to)}&token={token}"

    def approve(self, site_url: str, tenant_id: TenantId, to: Recipient, comment_id: str) -> str:
        token = sign(self._keyring, _purpose("approve", tenant_id), _signed(to, comment_id))
        return f"{site_url}{APPROVE_PATH}?{_account(to)}&comment={comment_id}&token={token}"

    def is_off(self, tenant_id: TenantId, to: Recipient, token: str) -> bool:
        return is_signed(self._keyring, _purpose("off", tenant_id), _signed(to), token)

    def is_approve(self, tenant_id: TenantId, to: Recipient, comment_id: str, token: str) -> bool:
        signed = _signed(to, comment_id)
        return is_signed(self._keyring, _purpose("approve", tenant_id), signed, token)


def recipient_in(query: dict[str, str]) -> Recipient:
    return Recipient(query.get("account", ""), query.get("id", ""))


def _account(to: Recipient) -> str:
    return f"account={quote(to.collection)}&id={to.id}"


def _signed(to: Recipient, *more: str) -> str:
    return "\x1f".join((to.collection, to.id, *more))


def _purpose(name: str, tenant_id: TenantId) -> str:
    return f"comment-mails/{name}/{tenant_id}"
