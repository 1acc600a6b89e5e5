"""Checks that no webhook was lost: each event has a delivery for each subscription that it is for,
each pending delivery has an event, and a queue from which the worker takes it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.engine.events.names import TEST_PING
from masthead.engine.events.outbox import events
from masthead.engine.records.write.unit_events import WrittenEvent
from masthead.features.webhooks.collection import PENDING, webhook_deliveries, webhook_subscriptions
from masthead.features.webhooks.event_filter import passes
from masthead.features.webhooks.fanout import Match, lists
from masthead.features.webhooks.retention import FINISHED_RETENTION
from masthead.features.webhooks.tables import webhook_lanes
from masthead.identity.limits.plans import Plan
from masthead.identity.tenants import tenants
from masthead.service.deep_check.faults import DONE, Batch, Cursor, Fault, Look, Site, tenant
from masthead.service.schema import tables
from masthead.storage import dialects
from masthead.storage.database import Row
from masthead.storage.dialects import not_empty

EVENTS = 200
_MARGIN = timedelta(days=1)
"""The sweep of old deliveries may be at work."""


async def check_events(look: Look, site: Site, after: Cursor) -> AsyncIterator[Batch]:
    """Only events that are later than the last change of the subscription and of the site, whose
    plan might have had no webhooks before: for earlier ones nothing says what they were for."""
    since = clock.to_text(look.parts.records.clock() - FINISHED_RETENTION + _MARGIN)
    after = after or (-1, -1)
    while True:
        async with look.snapshot() as snapshot:
            subscribers = await snapshot.fetch(
                look.statement("subscribers", _subscribers)({"tenant": site.id})
            )
            if not subscribers:
                return
            values = {"tenant": site.id, "since": since, "version": after[0], "ordinal": after[1]}
            rows = await snapshot.fetch(look.statement("events", _events)(values))
            if not rows:
                return
            ids = look.list_value([row[2] for row in rows])
            delivered = {
                tuple(each)
                for each in await snapshot.fetch(
                    look.statement("delivered", _delivered)({"tenant": site.id, "ids": ids})
                )
            }
        faults = [
            _lost(look, site, webhook_id, event)
            for event in (WrittenEvent(row[2], row[3], row[4], payload=row[5]) for row in rows)
            for webhook_id in _wanted(subscribers, event)
            if (webhook_id, event.id) not in delivered
        ]
        after = (rows[-1][0], rows[-1][1])
        yield Batch(after, len(rows), faults)


def _wanted(subscribers: list[Row], event: WrittenEvent) -> list[str]:
    return [
        webhook_id
        for webhook_id, names, filter_, changed, site_changed in subscribers
        if event.created > max(changed, site_changed)
        and lists(msgspec.json.decode(names, type=list[str]), event.name)
        and passes(filter_, event)
    ]


def _lost(look: Look, site: Site, webhook_id: str, event: WrittenEvent) -> Fault:
    return Fault(
        "deliveries",
        webhook_subscriptions.name,
        webhook_id,
        f"{event.name} of {event.created} ({event.id}) was never queued for it",
        partial(_deliver, look, site, webhook_id, event),
    )


async def _deliver(look: Look, site: Site, webhook_id: str, event: WrittenEvent) -> None:
    async with look.unit(site) as unit:
        values = {"tenant": site.id, "ids": look.list_value([event.id])}
        found = await unit.fetch(look.statement("delivered", _delivered), values)
        if webhook_id not in {each for each, _ in found}:
            await look.fanout.queue(unit, [Match(webhook_id, event)])


async def check_queues(look: Look, site: Site, after: Cursor) -> AsyncIterator[Batch]:
    if after:
        return
    async with look.snapshot() as snapshot:
        values = {"tenant": site.id}
        closed = await snapshot.fetch(look.statement("closed", _closed)(values))
        lost = await snapshot.fetch(look.statement("eventless", _eventless)(values))
    faults = [
        Fault(
            "deliveries",
            webhook_subscriptions.name,
            webhook_id,
            "deliveries wait for it, and no worker would take them",
            partial(_open, look, site, webhook_id, due),
        )
        for webhook_id, due in closed
    ]
    detail = "its event is gone, so it can't be sent"
    faults += [Fault("deliveries", webhook_deliveries.name, each, detail) for (each,) in lost]
    yield Batch(DONE, 0, faults)


async def _open(look: Look, site: Site, webhook_id: str, due: str) -> None:
    async with look.unit(site) as unit:
        row = {"tenant_id": site.id, "webhook_id": webhook_id, "due_at": due}
        await unit.execute(look.statement("open", _opening), row)


def _subscribers() -> sa.Select[Any]:
    s, t = tables[webhook_subscriptions.name].c, tables[tenants.name].c
    return (
        sa.select(s.id, s.events, s["filter"], s.updated, t.updated.label("site_updated"))
        .join_from(tables[webhook_subscriptions.name], tables[tenants.name], t.id == s.tenant_id)
        .where(
            s.tenant_id == tenant,
            s.disabled_at == sa.literal_column("''"),
            t.plan.in_([plan.value for plan in Plan if plan.has_api]),
        )
    )


def _events() -> sa.Select[Any]:
    e = events.c
    last = sa.tuple_(sa.bindparam("version", required=True), sa.bindparam("ordinal", required=True))
    return (
        sa.select(e.version, e.ordinal, e.id, e.name, e.created, e.payload)
        .where(
            e.tenant_id == tenant,
            sa.tuple_(e.version, e.ordinal) > last,
            e.created > sa.bindparam("since", required=True),
            e.name != sa.literal_column(f"'{TEST_PING}'"),
        )
        .order_by(e.version, e.ordinal)
        .limit(sa.literal_column(str(EVENTS)))
    )


def _delivered() -> sa.Select[Any]:
    d = tables[webhook_deliveries.name].c
    return sa.select(d.webhook_id, d.event_id).where(
        d.tenant_id == tenant, dialects.any_of(d.event_id, sa.bindparam("ids", required=True))
    )


def _closed() -> sa.Select[Any]:
    """Subscriptions with pending deliveries and without a queue."""
    s, d = tables[webhook_subscriptions.name].c, tables[webhook_deliveries.name].c
    first = (
        sa.select(sa.func.min(d.next_attempt_at))
        .where(d.tenant_id == s.tenant_id, d.webhook_id == s.id, not_empty(d.next_attempt_at))
        .scalar_subquery()
    )
    queue = sa.exists().where(
        webhook_lanes.c.tenant_id == s.tenant_id, webhook_lanes.c.webhook_id == s.id
    )
    return sa.select(s.id, first).where(
        s.tenant_id == tenant,
        s.disabled_at == sa.literal_column("''"),
        first.is_not(None),
        ~queue,
    )


def _eventless() -> sa.Select[Any]:
    d = tables[webhook_deliveries.name].c
    event = sa.exists().where(events.c.tenant_id == d.tenant_id, events.c.id == d.event_id)
    return (
        sa.select(d.id)
        .where(
            d.tenant_id == tenant,
            d.state == sa.literal_column(f"'{PENDING}'"),
            not_empty(d.next_attempt_at),
            ~event,
        )
        .limit(sa.literal_column("100"))
    )


def _opening() -> Any:
    return dialects.upsert_least(webhook_lanes, ("tenant_id", "webhook_id"), "due_at")
