"""Subscriptions and the log of their deliveries, for `bench.admin`: a few subscriptions and events
have most of the deliveries, one receiver has refused for days, and every attempt is logged."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from bench.admin_fill import insert, moments
from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId, new_id, new_log_id
from masthead.engine.events.outbox import events
from masthead.engine.records.changes import Tally
from masthead.engine.records.derived.daily_counts import DailyCounts, day_of
from masthead.features.webhooks.attempts import SendResult, attempt_row
from masthead.features.webhooks.collection import (
    DEAD,
    DELIVERED,
    DELIVERIES_DELIVERED,
    DELIVERIES_DIED,
    DROPPED,
    PENDING,
    webhook_deliveries,
    webhook_subscriptions,
)
from masthead.features.webhooks.delivery_log import DeliveryFilter
from masthead.features.webhooks.signing import Signed
from masthead.features.webhooks.tables import webhook_attempts, webhook_lanes
from masthead.service import schema
from masthead.service.services import Services

EVENTS = ("post.updated", "post.published", "comment.posted", "order.paid", "gift_card.issued")
_EVENT_SHARES = (500, 300, 150, 49, 1)
_SHARES = (400, 250, 150, 100, 50, 30, 15, 5)
"""Of deliveries, by subscription. The third has failed since long."""
_DEAD_HOOK = 2
_WAITING = 200
_LENGTH = timedelta(days=29)
_SIGNED = Signed(1_700_000_000, f"v1={'5f' * 32}", f"v1,{'Zm9n' * 11}")
_ATTEMPTS = 6
_PER_EVENT = 4
_CHUNK = 20_000
_NAMES = {DEAD: "webhook_deliveries", PENDING: "webhook_deliveries-pending"}
"""The newest of each is one of the pages."""

Row = dict[str, Any]


async def seed(parts: Services, tenant_id: TenantId, count: int) -> dict[str, str]:
    now = parts.records.clock()
    hooks = [await _subscribe(parts, tenant_id, number, now) for number in range(len(_SHARES))]
    names = {"webhook_subscriptions": hooks[0], "webhook_subscriptions-off": hooks[_DEAD_HOOK]}
    if not count:
        return names
    told = [str(new_log_id()) for _ in range(count // _PER_EVENT + 1)]
    await insert(parts, events, _events(tenant_id, told, now))
    tallies: Counter[tuple[str, str, str]] = Counter()
    table = schema.tables[webhook_deliveries.name]
    waiting = _deliveries(tenant_id, hooks, told, count, now)
    while chunk := list(islice(waiting, _CHUNK)):
        made = chunk
        await insert(parts, table, iter(made))
        await insert(parts, webhook_attempts, _attempts(tenant_id, made, now))
        tallies += _tallies(made)
        names |= {_NAMES[each["state"]]: each["id"] for each in made if each["state"] in _NAMES}
    await insert(parts, webhook_lanes, _lanes(tenant_id, made))
    await DailyCounts(parts.database).add_all(
        (tenant_id, Tally(metric, day, subject, number))
        for (metric, day, subject), number in tallies.items()
    )
    run = str(new_id())
    # An hour of one event: the worker of the measured server puts them back into the queue.
    some = DeliveryFilter(event=EVENTS[-1], since=now - timedelta(hours=1))
    await parts.retries.start(tenant_id, run, some)
    names["webhook_retries"] = run
    return names


async def _subscribe(parts: Services, tenant_id: TenantId, number: int, now: datetime) -> str:
    given = {
        "name": f"Board {number}",
        "url": f"https://hooks{number}.big.example/",
        "events": list(EVENTS),
    }
    is_off = number == _DEAD_HOOK
    stamped = {
        "secret": "s" * 40,
        "last_delivery_at": clock.to_text(now - timedelta(minutes=1)),
        "last_status": 503 if is_off else 200,
        "failure_count": 50 if is_off else 0,
        "disabled_at": clock.to_text(now - timedelta(hours=1)) if is_off else "",
    }
    record = await parts.records.create(
        system(tenant_id), webhook_subscriptions, given, stamped=stamped
    )
    return str(record["id"])


def _events(tenant_id: TenantId, ids: Sequence[str], now: datetime) -> Iterator[Row]:
    at = moments(len(ids), now, _LENGTH)
    for number, event_id in enumerate(ids):
        yield {
            "tenant_id": tenant_id,
            "version": 1,
            "ordinal": number,
            "id": event_id,
            "name": EVENTS[number % 2],
            "collection": "posts",
            "record_id": f"post{number:011}",
            "payload": json.dumps({"title": f"Post {number}", "slug": f"post-{number}"}),
            "created": at(number),
        }


def _deliveries(
    tenant_id: TenantId, hooks: Sequence[str], told: Sequence[str], count: int, now: datetime
) -> Iterator[Row]:
    chance = random.Random(22)
    at = moments(count, now, _LENGTH)
    for number in range(count):
        place = chance.choices(range(len(hooks)), _SHARES)[0]
        shares = (60, 35, 5) if place == _DEAD_HOOK else (985, 10, 5)
        state = chance.choices((DELIVERED, DEAD, DROPPED), shares)[0]
        if number >= count - _WAITING and place != _DEAD_HOOK:
            state = PENDING
        moment = at(number)
        yield {
            "tenant_id": tenant_id,
            "id": str(new_log_id()),
            "webhook_id": hooks[place],
            "event": chance.choices(EVENTS, _EVENT_SHARES)[0],
            "event_id": told[number // _PER_EVENT],
            "state": state,
            "attempts": {DELIVERED: 1, DEAD: _ATTEMPTS}.get(state, 0),
            "last_status": {DELIVERED: 200, DEAD: 503}.get(state),
            # Not while it is measured.
            "next_attempt_at": clock.to_text(now + timedelta(days=9)) if state == PENDING else "",
            "created": moment,
            "updated": moment,
            "version": 1,
        }


def _attempts(
    tenant_id: TenantId, made: Sequence[Row], now: datetime
) -> Iterator[Mapping[str, Any]]:
    for each in made:
        for number in range(1, each["attempts"] + 1):
            status = 200 if each["state"] == DELIVERED else 503
            error = "" if status == 200 else f"The receiver answered {status}."
            sent = SendResult(
                "https://hooks.big.example/", _SIGNED, status, 40 + number, error, "Thank you"
            )
            row = attempt_row(tenant_id, str(new_log_id()), each["id"], number, sent=sent, at=now)
            yield row | {"created": each["created"]}


def _lanes(tenant_id: TenantId, made: Sequence[Row]) -> Iterator[Row]:
    due = {each["webhook_id"]: each["next_attempt_at"] for each in made[-_WAITING:]}
    for webhook_id, moment in due.items():
        if moment:
            yield {"tenant_id": tenant_id, "webhook_id": webhook_id, "due_at": moment}


def _tallies(made: Sequence[Row]) -> Counter[tuple[str, str, str]]:
    metrics = {DELIVERED: DELIVERIES_DELIVERED, DEAD: DELIVERIES_DIED}
    found: Counter[tuple[str, str, str]] = Counter()
    for each in made:
        if each["state"] in metrics:
            for subject in ("", each["webhook_id"]):
                found[metrics[each["state"]], day_of(each["updated"]), subject] += 1
    return found
