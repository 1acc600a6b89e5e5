"""A worker's claim from the delivery queue, its results, and the rows made from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.engine.records.changes import Tally
from masthead.engine.records.derived.daily_counts import day_of
from masthead.features.webhooks.attempts import SendResult, attempt_row
from masthead.features.webhooks.collection import (
    DEAD,
    DELIVERED,
    DELIVERIES_DELIVERED,
    DELIVERIES_DIED,
    PENDING,
)


class QueueKey(NamedTuple):
    """Identifies the queue of a subscription: a row of `webhook_lanes`."""

    tenant_id: TenantId
    webhook_id: str


class Subscription(msgspec.Struct, frozen=True):
    is_held: bool
    """The site is suspended: its deliveries wait."""
    url: str
    secret: str
    """Encrypted, as stored; so are the headers."""
    headers: str = ""
    previous_secret: str = ""
    previous_secret_until: str = ""
    per_minute: int | None = None


class Delivery(msgspec.Struct, frozen=True):
    queue_key: QueueKey
    leased_until: datetime
    id: str
    event_id: str
    event: str
    event_created: str
    payload: str
    """JSON text, the same bytes at every attempt."""
    attempts: int


class Result(msgspec.Struct, frozen=True):
    """The result of an attempt, and the new state of its delivery."""

    attempt_id: str
    delivery: Delivery
    number: int
    sent: SendResult
    at: datetime
    state: str
    next_attempt_at: datetime | None


class Outcome(msgspec.Struct):
    """The effect of ordered results on the subscription: `failure_count` is the number of
    consecutive exhausted deliveries, reset by any success; `last_delivery_at` and `last_status` are
    those of the last attempt, successful or not."""

    at: datetime
    status: int = 0
    failures: int = 0
    has_success: bool = False


def outcomes_of(results: Iterable[Result]) -> dict[QueueKey, Outcome]:
    outcomes: dict[QueueKey, Outcome] = {}
    for result in results:
        outcome = outcomes.setdefault(result.delivery.queue_key, Outcome(result.at))
        outcome.at, outcome.status = result.at, result.sent.status
        if result.state == DELIVERED:
            outcome.has_success, outcome.failures = True, 0
        elif result.state == DEAD:
            outcome.failures += 1
    return outcomes


def tallies_of(results: Iterable[Result]) -> Iterator[tuple[str, Tally]]:
    """Counts of finished deliveries, by the day of their end."""
    metrics = {DELIVERED: DELIVERIES_DELIVERED, DEAD: DELIVERIES_DIED}
    for result in results:
        if result.state in metrics:
            key = result.delivery.queue_key
            tally = Tally(metrics[result.state], day_of(result.at))
            yield key.tenant_id, tally
            yield key.tenant_id, tally._replace(subject=key.webhook_id)


def next_due(results: Iterable[Result]) -> dict[QueueKey, str]:
    """When each queue is due: at its next retry, or at once if an exhausted delivery may disable
    the subscription, so that its other deliveries are dropped."""
    due: dict[QueueKey, str] = {}
    for result in results:
        if result.state in (PENDING, DEAD):
            moment = clock.to_text(result.next_attempt_at or result.at)
            key = result.delivery.queue_key
            due[key] = min(due.get(key, moment), moment)
    return due


def attempt_of(result: Result) -> dict[str, Any]:
    delivery = result.delivery
    return attempt_row(
        delivery.queue_key.tenant_id,
        result.attempt_id,
        delivery.id,
        result.number,
        sent=result.sent,
        at=result.at,
    )


def end_of(result: Result) -> dict[str, Any]:
    again = result.next_attempt_at
    return {
        "tenant": result.delivery.queue_key.tenant_id,
        "id_": result.delivery.id,
        "new_state": result.state,
        "number": result.number,
        "status": result.sent.status or None,
        "again": clock.to_text(again) if again else "",
        "now": clock.to_text(result.at),
    }
