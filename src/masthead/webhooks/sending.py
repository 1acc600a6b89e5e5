"""One attempt: the signed HTTP call of a delivery, and its result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from masthead import clock
from masthead.outbound.client import OutboundClient
from masthead.outbound.errors import OutboundError
from masthead.webhooks.queue import Delivery
from masthead.webhooks.signing import signed_headers

ATTEMPT_SECONDS = 10.0
ANSWER_BYTES = 2048


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result of one HTTP call; status 0 without an answer."""

    status: int
    duration_ms: int
    error: str
    answer: str
    retry_after: int | None = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


def payload_text(payload: Mapping[str, Any]) -> str:
    return msgspec.json.encode(payload).decode()


def body_of(event: str, created: str, payload: str) -> bytes:
    """The same bytes at every attempt."""
    timestamp = int(clock.from_text(created).timestamp())
    return f'{{"event":"{event}","timestamp":{timestamp},"payload":{payload}}}'.encode()


async def send(
    client: OutboundClient,
    delivery: Delivery,
    url: str,
    secret: str,
    now: datetime,
    *,
    timeout_seconds: float = ATTEMPT_SECONDS,
) -> SendResult:
    body = body_of(delivery.event, delivery.event_created, delivery.payload)
    headers = signed_headers(
        secret,
        event=delivery.event,
        delivery_id=delivery.id,
        timestamp=int(now.timestamp()),
        body=body,
    )
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        answer = await client.post(
            url,
            body,
            headers,
            timeout_seconds=timeout_seconds,
            max_answer_bytes=ANSWER_BYTES,
        )
    except OutboundError as error:
        duration_ms = int((loop.time() - began) * 1000)
        return SendResult(0, duration_ms, str(error), "")
    # PostgreSQL's text can't hold a NUL.
    text = answer.body_start.decode("utf-8", "replace").replace("\x00", "\ufffd")
    error_text = "" if 200 <= answer.status < 300 else f"The receiver answered {answer.status}."
    return SendResult(answer.status, answer.duration_ms, error_text, text, answer.retry_after)
