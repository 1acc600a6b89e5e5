"""The links in data-protection emails."""

from __future__ import annotations

from datetime import timedelta

import msgspec

PREFIX = "/api/gdpr"
EXPORT_LIFETIME = timedelta(days=7)
GRACE_PERIOD = timedelta(days=30)


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
