"""One attempt: the signed HTTP call of a delivery, and its result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime

from masthead.base import clock
from masthead.base.languages.words import staff_marked
from masthead.features.webhooks.attempts import SendResult
from masthead.features.webhooks.results import Delivery
from masthead.features.webhooks.signing import sign_attempt, signed_headers
from masthead.outside.outbound.client import OutboundClient
from masthead.outside.outbound.errors import OutboundError

ATTEMPT_SECONDS = 10.0
ANSWER_BYTES = 2048

ANSWERED = staff_marked("The receiver answered %(status)s.")


def body_of(event: str, created: str, payload: str) -> bytes:
    """The same bytes at every attempt."""
    timestamp = int(clock.from_text(created).timestamp())
    return f'{{"event":"{event}","timestamp":{timestamp},"payload":{payload}}}'.encode()


async def send(
    client: OutboundClient,
    delivery: Delivery,
    url: str,
    secrets: Sequence[str],
    *,
    more_headers: Mapping[str, str],
    now: datetime,
    timeout_seconds: float = ATTEMPT_SECONDS,
) -> SendResult:
    body = body_of(delivery.event, delivery.event_created, delivery.payload)
    signed = sign_attempt(secrets, delivery.id, int(now.timestamp()), body)
    own_headers = signed_headers(signed, event=delivery.event, delivery_id=delivery.id)
    headers = {**more_headers, **own_headers}
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        answer = await client.post(
            url,
            body,
            headers,
            timeout_seconds=timeout_seconds,
            max_answer_bytes=ANSWER_BYTES,
            share=delivery.queue_key.tenant_id,
        )
    except OutboundError as error:
        duration_ms = int((loop.time() - began) * 1000)
        return SendResult(url, signed, 0, duration_ms, str(error), "")
    # PostgreSQL's text can't hold a NUL.
    text = answer.body_start.decode("utf-8", "replace").replace("\x00", "\ufffd")
    error_text = "" if 200 <= answer.status < 300 else ANSWERED % {"status": answer.status}
    return SendResult(
        url, signed, answer.status, answer.duration_ms, error_text, text, answer.retry_after
    )
