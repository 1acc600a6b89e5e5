"""The links in mails about comments: one that ends them, and one that approves a comment.

Each is signed for one account of one site, and works without signing in.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final
from urllib.parse import quote

import msgspec

from masthead.base.config.keyring import KeyRing
from masthead.base.ids import TenantId

OFF_PATH: Final = "/member/comment-mails"
APPROVE_PATH: Final = "/member/approve-comment"


class Recipient(msgspec.Struct, frozen=True):
    """An account that gets a mail."""

    collection: str
    id: str


class CommentMailLinks:
    def __init__(self, keyring: KeyRing) -> None:
        self._keyring = keyring

    def off(self, site_url: str, tenant_id: TenantId, to: Recipient) -> str:
        token = _signature(self._keyring.derive(_purpose("off", tenant_id)), to)
        return f"{site_url}{OFF_PATH}?{_account(to)}&token={token}"

    def approve(self, site_url: str, tenant_id: TenantId, to: Recipient, comment_id: str) -> str:
        key = self._keyring.derive(_purpose("approve", tenant_id))
        token = _signature(key, to, comment_id)
        return f"{site_url}{APPROVE_PATH}?{_account(to)}&comment={comment_id}&token={token}"

    def is_off(self, tenant_id: TenantId, to: Recipient, token: str) -> bool:
        return self._is_genuine(_purpose("off", tenant_id), token, to)

    def is_approve(self, tenant_id: TenantId, to: Recipient, comment_id: str, token: str) -> bool:
        return self._is_genuine(_purpose("approve", tenant_id), token, to, comment_id)

    def _is_genuine(self, purpose: str, token: str, to: Recipient, *more: str) -> bool:
        """In constant time, and with every root secret: old mails outlive a rotation."""
        given = token.encode(errors="replace")
        keys = self._keyring.derive_all(purpose)
        matches = [hmac.compare_digest(_signature(key, to, *more).encode(), given) for key in keys]
        return any(matches)


def recipient_in(query: dict[str, str]) -> Recipient:
    return Recipient(query.get("account", ""), query.get("id", ""))


def _account(to: Recipient) -> str:
    return f"account={quote(to.collection)}&id={to.id}"


def _signature(key: bytes, to: Recipient, *more: str) -> str:
    text = "\x1f".join((to.collection, to.id, *more))
    return hmac.digest(key, text.encode(errors="replace"), hashlib.sha256).hex()


def _purpose(name: str, tenant_id: TenantId) -> str:
    return f"comment-mails/{name}/{tenant_id}"
