"""From an event to its deliveries, inside the transaction of the change that caused it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from masthead import ids
from masthead.records.unit import Unit, WrittenEvent
from masthead.storage import dialects
from masthead.storage.database import Database
from masthead.webhooks.collection import PENDING, webhook_deliveries, webhook_subscriptions
from masthead.webhooks.tables import webhook_lanes


class Fanout:
    """Called by the engine once per unit, with all events the unit has written."""

    def __init__(self, database: Database, tables: Mapping[str, sa.Table]) -> None:
        subscriptions = tables[webhook_subscriptions.name].c
        self._subscribers = database.compile(
            sa.select(subscriptions.id, subscriptions.events)
            .where(
                subscriptions.tenant_id == sa.bindparam("tenant"), subscriptions.disabled_at == ""
            )
            # Lanes are locked in this order by everybody.
            .order_by(subscriptions.id)
        )
        self._deliver = database.compile(sa.insert(tables[webhook_deliveries.name]))
        self._open_lane = database.compile(
            dialects.upsert_least(webhook_lanes, ("tenant_id", "webhook_id"), "due_at")
        )

    async def __call__(self, unit: Unit, written: Sequence[WrittenEvent]) -> bool:
        """Whether anything was queued."""
        rows = await unit.fetch(self._subscribers, {"tenant": unit.tenant_id})
        queued = False
        for webhook_id, wanted in rows:
            names = set(msgspec.json.decode(wanted))
            events = [event for event in written if event.name in names]
            for event in events:
                await unit.execute(self._deliver, _delivery(unit.tenant_id, webhook_id, event))
            if events:
                await unit.execute(
                    self._open_lane,
                    {
                        "tenant_id": unit.tenant_id,
                        "webhook_id": webhook_id,
                        "due_at": events[0].created,
                    },
                )
                queued = True
        return queued


def _delivery(tenant_id: str, webhook_id: str, event: WrittenEvent) -> dict[str, Any]:
    return {
        "tenant_id": tenant_id,
        "id": ids.new_id(),
        "webhook_id": webhook_id,
        "event": event.name,
        "event_id": event.id,
        "state": PENDING,
        "attempts": 0,
        "last_status": None,
        "next_attempt_at": event.created,
        "leased_until": "",
        "created": event.created,
        "updated": event.created,
        "version": 1,
    }
