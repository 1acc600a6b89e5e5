"""One delivery: the request with its signature, the answer, every attempt, and as a command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from masthead.base import clock, ids
from masthead.base.errors import NotFound
from masthead.base.languages.retelling import retold
from masthead.base.languages.words import counted, words
from masthead.engine.events.log import LoggedEvent
from masthead.engine.events.names import TEST_PING
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page
from masthead.faces.admin.environment import took
from masthead.faces.admin.pages.webhooks.deliveries import moment_of, state_of
from masthead.faces.admin.pages.webhooks.subscriptions import ADDRESS, is_good
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import POSTS
from masthead.features.posts.collection import posts
from masthead.features.webhooks.collection import DEAD, PENDING, webhook_subscriptions
from masthead.features.webhooks.delivery_log import LoggedAttempt, LoggedDelivery
from masthead.features.webhooks.sending import ANSWER_BYTES, body_of
from masthead.features.webhooks.signing import Signed, signed_headers


async def delivery_page(request: AdminRequest, delivery_id: str) -> Answer:
    services = request.services
    if not ids.is_id(delivery_id):
        raise NotFound
    # The attempts first: the state shown is then never older than the last attempt.
    attempts = await services.webhooks.deliveries.log.attempts(request.tenant_id, delivery_id)
    delivery = await services.webhooks.deliveries.log.get(request.tenant_id, delivery_id)
    if delivery is None:
        raise NotFound
    event = await services.event_log.get(request.tenant_id, delivery.event_id)
    webhook = await _webhook(request, delivery.webhook_id)
    name = webhook["name"] if webhook else words("a deleted webhook")
    badge, state = state_of(delivery)
    values = {
        "delivery": delivery,
        "webhook": webhook,
        "webhook_name": name,
        "badge_of": (badge, _state(delivery, state)),
        "sentence": _sentence(request, delivery, attempts),
        "post": _post(event),
        "attempts": attempts[::-1],
        "is_good": is_good,
        "last": attempts[-1] if attempts else None,
        "is_cut": bool(attempts) and len(attempts[-1].answer.encode()) >= ANSWER_BYTES,
        "is_test": delivery.event == TEST_PING,
        "cannot_retry": _cannot_retry(delivery, webhook),
        "back": ADDRESS,
        **_request(delivery, attempts[-1] if attempts else None, event),
    }
    return Page(
        "webhooks/delivery.html",
        words("%(event)s to %(name)s", event=delivery.event, name=name),
        values,
    )


async def _webhook(request: AdminRequest, webhook_id: str) -> Record | None:
    try:
        return await request.records.get(request.caller, webhook_subscriptions, webhook_id)
    except NotFound:
        return None


def _request(
    delivery: LoggedDelivery, attempt: LoggedAttempt | None, event: LoggedEvent | None
) -> dict[str, Any]:
    """The last request as it was sent. The secret is not part of it."""
    body = body_of(event.name, event.created, event.payload).decode() if event else ""
    headers: Mapping[str, str] = {}
    if attempt and attempt.url:
        signed = Signed(attempt.signed_at, attempt.signature, attempt.standard_signature)
        headers = signed_headers(signed, event=delivery.event, delivery_id=delivery.id)
    command = _curl(attempt.url, headers, body) if attempt and headers and body else ""
    return {"headers": headers, "body": body, "command": command}


def _curl(url: str, headers: Mapping[str, str], body: str) -> str:
    parts = [f"curl -X POST {shlex.quote(url)}"]
    parts += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
    parts.append(f"--data-binary {shlex.quote(body)}")
    return " \\\n  ".join(parts)


def _state(delivery: LoggedDelivery, state: str) -> str:
    if delivery.state != DEAD:
        return state
    return counted(
        "Dead after %(number)s attempt", "Dead after %(number)s attempts", delivery.attempts
    )


def _sentence(
    request: AdminRequest, delivery: LoggedDelivery, attempts: list[LoggedAttempt]
) -> str:
    if delivery.state == PENDING:
        if delivery.next_attempt_at <= clock.to_text(request.records.clock()):
            return words("It will be sent as soon as a worker is free.")
        return words(
            "The next attempt is on %(moment_of)s.",
            moment_of=moment_of(request, delivery.next_attempt_at),
        )
    if not attempts:
        return ""
    last = attempts[-1]
    when = moment_of(request, last.created)
    if last.status:
        return words(
            "The receiver answered %(status)s after %(took)s, on %(when)s.",
            status=last.status,
            took=took(last.duration_ms),
            when=when,
        )
    return words(
        "%(error)s That was on %(when)s.",
        error=retold(last.error) or words("There was no answer."),
        when=when,
    )


def _cannot_retry(delivery: LoggedDelivery, webhook: Record | None) -> str:
    """Why a dead delivery stays dead; empty where it can be retried."""
    if delivery.state != DEAD:
        return ""
    if webhook is None:
        return words("Its webhook was deleted, so it can't be sent again.")
    if webhook["disabled_at"]:
        return words("Turn its webhook on first, then retry.")
    return ""


def _post(event: LoggedEvent | None) -> dict[str, str] | None:
    """The post that the event is about. It may have been deleted."""
    if event is None or event.collection != posts.name:
        return None
    title = msgspec.json.decode(event.payload).get("title") or words("Open it")
    return {"url": POSTS.url(event.record_id), "title": title}
