"""The links in data-protection emails and their random tokens, of which only hashes are stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import timedelta

import msgspec

PREFIX = "/api/gdpr"
EXPORT_LIFETIME = timedelta(days=7)
GRACE_PERIOD = timedelta(days=30)

_TOKEN_BYTES = 32


def new_token() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def is_token_of(token: str, token_hash: str) -> bool:
    """In constant time. Never true for an empty hash."""
    return hmac.compare_digest(hash_token(token), token_hash) and bool(token_hash)


class Links(msgspec.Struct, frozen=True):
    """Absolute URLs. Without a token a URL only identifies the request and gives no access."""

    base_url: str

    def download(self, request_id: str, token: str = "") -> str:
        return self._link(f"export/{request_id}", token)

    def cancel(self, request_id: str, token: str = "") -> str:
        return self._link(f"delete/{request_id}/cancel", token)

    def confirm(self, request_id: str, token: str) -> str:
        return self._link(f"delete/{request_id}/confirm", token)

    def _link(self, path: str, token: str) -> str:
        query = f"?token={token}" if token else ""
        return f"{self.base_url.rstrip('/')}{PREFIX}/{path}{query}"
