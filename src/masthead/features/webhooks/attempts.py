"""One attempt: the request, the answer, and the row in the log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.features.webhooks.signing import Signed


class SendResult(msgspec.Struct, frozen=True):
    """The result of one HTTP call; status 0 without an answer."""

    url: str
    signed: Signed
    status: int
    duration_ms: int
    error: str
    answer: str
    retry_after: int | None = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


def attempt_row(
    tenant_id: TenantId,
    attempt_id: str,
    delivery_id: str,
    number: int,
    *,
    sent: SendResult,
    at: datetime,
) -> dict[str, Any]:
    return {
        "tenant_id": tenant_id,
        "id": attempt_id,
        "delivery_id": delivery_id,
        "number": number,
        "status": sent.status,
        "duration_ms": sent.duration_ms,
        "error": sent.error,
        "answer": sent.answer,
        "url": sent.url,
        "signed_at": sent.signed.timestamp,
        "signature": sent.signed.signature,
        "standard_signature": sent.signed.standard_signature,
        "created": clock.to_text(at),
    }
