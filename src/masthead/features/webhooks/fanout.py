"""Inserts the deliveries of an event in the transaction of the change that caused it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from masthead.base import ids
from masthead.engine.records.write.unit import Unit
from masthead.engine.records.write.unit_events import WrittenEvent
from masthead.features.webhooks.collection import (
    ALL_EVENTS,
    PENDING,
    webhook_deliveries,
    webhook_subscriptions,
)
from masthead.features.webhooks.event_filter import passes
from masthead.features.webhooks.tables import webhook_lanes
from masthead.identity.limits.plans import Plan
from masthead.identity.tenants import tenants
from masthead.storage import dialects
from masthead.storage.database import Database, Statement

BATCH_SIZES = (64, 16, 4, 1)
"""A multi-row statement for each: a hundred subscribers must not cost hundreds of round trips."""


class Match(NamedTuple):
    webhook_id: str
    event: WrittenEvent


class Fanout:
    """Called by the engine once per unit, with all events the unit has written."""

    def __init__(self, database: Database, tables: Mapping[str, sa.Table]) -> None:
        compile_ = database.compile
        deliveries = tables[webhook_deliveries.name]
        self._subscribers = compile_(
            _subscribers(tables[webhook_subscriptions.name], tables[tenants.name])
        )
        self._deliver = {n: compile_(_deliveries(deliveries, n)) for n in BATCH_SIZES}
        self._open_queues = {n: compile_(_open_queues(n)) for n in BATCH_SIZES}
        # One round trip less, because the tenant's other writers wait.
        self._deliver_one = database.compile_both(_deliveries(deliveries, 1), _open_queues(1))

    async def __call__(self, unit: Unit, written: Sequence[WrittenEvent]) -> bool:
        """Whether anything was queued."""
        if unit.tenant.has_no_subscriber:
            return False
        rows = await unit.fetch(self._subscribers, {"tenant": unit.tenant_id})
        # Only the absence is cached: a worker disables a subscription without a new version.
        unit.tenant.has_no_subscriber = not rows
        matches = [
            Match(webhook_id, event)
            for webhook_id, names, filter_ in rows
            for event in written
            if lists(_event_names(names), event.name) and passes(filter_, event)
        ]
        if matches:
            await self.queue(unit, matches)
        return bool(matches)

    async def queue(self, unit: Unit, matches: Sequence[Match]) -> None:
        """Inserts these deliveries, due at the time of their events."""
        # All events of a unit have the same time.
        shared = {"tenant": unit.tenant_id, "now": matches[0].event.created}
        if len(matches) == 1 and self._deliver_one:
            await unit.execute(self._deliver_one, _values(shared, [_delivery(matches[0])]))
            return
        await _run(unit, self._deliver, shared, [_delivery(each) for each in matches])
        keys = dict.fromkeys(each.webhook_id for each in matches)
        await _run(unit, self._open_queues, shared, [{"webhook": key} for key in keys])


def lists(names: Collection[str], name: str) -> bool:
    return name in names or ALL_EVENTS in names


@lru_cache(maxsize=1_000)
def _event_names(names: str) -> frozenset[str]:
    return frozenset(msgspec.json.decode(names))


def _delivery(matches: Match) -> dict[str, str]:
    return {
        "delivery": ids.new_log_id(),
        "webhook": matches.webhook_id,
        "name": matches.event.name,
        "event": matches.event.id,
    }


async def _run(
    unit: Unit,
    statements: Mapping[int, Statement],
    shared: Mapping[str, str],
    rows: Sequence[Mapping[str, str]],
) -> None:
    for some in _batches(rows):
        await unit.execute(statements[len(some)], _values(shared, some))


def _values(shared: Mapping[str, str], rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    values = dict(shared)
    for number, row in enumerate(rows):
        values.update({f"{name}_{number}": value for name, value in row.items()})
    return values


def _batches(rows: Sequence[Mapping[str, str]]) -> Iterator[Sequence[Mapping[str, str]]]:
    start = 0
    for step in BATCH_SIZES:
        while len(rows) - start >= step:
            yield rows[start : start + step]
            start += step


def _subscribers(subscriptions: sa.Table, tenants_table: sa.Table) -> sa.Select[Any]:
    """None while the tenant's plan has no webhooks."""
    s, t = subscriptions.c, tenants_table.c
    has_webhooks = sa.exists().where(
        t.id == s.tenant_id, t.plan.in_([plan.value for plan in Plan if plan.has_api])
    )
    found = sa.select(s.id, s.events, s["filter"]).where(
        s.tenant_id == sa.bindparam("tenant"), s.disabled_at == "", has_webhooks
    )
    # All transactions lock queues in this order.
    return found.order_by(s.id)


def _deliveries(table: sa.Table, count: int) -> sa.Insert:
    now: Any = sa.bindparam("now")
    shared = {
        "tenant_id": sa.bindparam("tenant"),
        "state": sa.literal_column(f"'{PENDING}'"),
        "attempts": sa.literal_column("0"),
        "last_status": sa.null(),
        "next_attempt_at": now,
        "created": now,
        "updated": now,
        "version": sa.literal_column("1"),
    }
    return sa.insert(table).values(
        [
            {
                **shared,
                "id": sa.bindparam(f"delivery_{number}"),
                "webhook_id": sa.bindparam(f"webhook_{number}"),
                "event": sa.bindparam(f"name_{number}"),
                "event_id": sa.bindparam(f"event_{number}"),
            }
            for number in range(count)
        ]
    )


def _open_queues(count: int) -> sa.Insert:
    """Opens queues, or makes open ones due now."""
    opened = dialects.insert(webhook_lanes).values(
        [
            {
                "tenant_id": sa.bindparam("tenant"),
                "webhook_id": sa.bindparam(f"webhook_{number}"),
                "due_at": sa.bindparam("now"),
            }
            for number in range(count)
        ]
    )
    earlier = opened.excluded.due_at
    return dialects.or_update(
        opened,
        ("tenant_id", "webhook_id"),
        {"due_at": earlier},
        # If it is due already, nothing is written, but the row is locked.
        where=earlier < webhook_lanes.c.due_at,
    )
