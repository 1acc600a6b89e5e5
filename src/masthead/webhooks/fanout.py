"""From an event to its deliveries, inside the transaction of the change that caused it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from masthead import ids
from masthead.identity.plans import Plan
from masthead.identity.tenants import tenants
from masthead.records.write.unit import Unit, WrittenEvent
from masthead.storage import dialects
from masthead.storage.database import Database, Statement
from masthead.webhooks.collection import PENDING, webhook_deliveries, webhook_subscriptions
from masthead.webhooks.tables import webhook_lanes

ROWS_AT_ONCE = (64, 16, 4, 1)
"""A statement for each: a hundred subscribers must not cost a write hundreds of round trips."""


class Wanted(NamedTuple):
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
        self._deliver = {n: compile_(_deliveries(deliveries, n)) for n in ROWS_AT_ONCE}
        self._open_lanes = {n: compile_(_open_lanes(n)) for n in ROWS_AT_ONCE}
        # A round trip less counts: the tenant's other writers wait.
        self._deliver_one = database.compile_both(_deliveries(deliveries, 1), _open_lanes(1))

    async def __call__(self, unit: Unit, written: Sequence[WrittenEvent]) -> bool:
        """Whether anything was queued."""
        if unit.tenant.has_no_subscriber:
            return False
        rows = await unit.fetch(self._subscribers, {"tenant": unit.tenant_id})
        # Only that there are none is remembered: a worker disables one without a new version.
        unit.tenant.has_no_subscriber = not rows
        wanted = [
            Wanted(webhook_id, event)
            for webhook_id, names in rows
            for event in written
            if event.name in _listed(names)
        ]
        if wanted:
            await self._queue(unit, wanted)
        return bool(wanted)

    async def _queue(self, unit: Unit, wanted: Sequence[Wanted]) -> None:
        # All events of a unit happened at the same moment.
        same = {"tenant": unit.tenant_id, "now": wanted[0].event.created}
        if len(wanted) == 1 and self._deliver_one:
            await unit.execute(self._deliver_one, _values(same, [_delivery(wanted[0])]))
            return
        await _run(unit, self._deliver, same, [_delivery(each) for each in wanted])
        lanes = dict.fromkeys(each.webhook_id for each in wanted)
        await _run(unit, self._open_lanes, same, [{"webhook": lane} for lane in lanes])


@lru_cache(maxsize=1_000)
def _listed(names: str) -> frozenset[str]:
    return frozenset(msgspec.json.decode(names))


def _delivery(wanted: Wanted) -> dict[str, str]:
    return {
        "delivery": ids.new_log_id(),
        "webhook": wanted.webhook_id,
        "name": wanted.event.name,
        "event": wanted.event.id,
    }


async def _run(
    unit: Unit,
    statements: Mapping[int, Statement],
    same: Mapping[str, str],
    rows: Sequence[Mapping[str, str]],
) -> None:
    for some in _in_steps(rows):
        await unit.execute(statements[len(some)], _values(same, some))


def _values(same: Mapping[str, str], rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    values = dict(same)
    for number, row in enumerate(rows):
        values.update({f"{name}_{number}": value for name, value in row.items()})
    return values


def _in_steps(rows: Sequence[Mapping[str, str]]) -> Iterator[Sequence[Mapping[str, str]]]:
    start = 0
    for step in ROWS_AT_ONCE:
        while len(rows) - start >= step:
            yield rows[start : start + step]
            start += step


def _subscribers(subscriptions: sa.Table, tenants_table: sa.Table) -> sa.Select[Any]:
    """None while the tenant's plan has no webhooks: its subscriptions wait for a better one."""
    s, t = subscriptions.c, tenants_table.c
    has_webhooks = sa.exists().where(
        t.id == s.tenant_id, t.plan.in_([plan.value for plan in Plan if plan.has_api])
    )
    found = sa.select(s.id, s.events).where(
        s.tenant_id == sa.bindparam("tenant"), s.disabled_at == "", has_webhooks
    )
    # Lanes are locked in this order by everybody.
    return found.order_by(s.id)


def _deliveries(table: sa.Table, count: int) -> sa.Insert:
    now: Any = sa.bindparam("now")
    same = {
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
                **same,
                "id": sa.bindparam(f"delivery_{number}"),
                "webhook_id": sa.bindparam(f"webhook_{number}"),
                "event": sa.bindparam(f"name_{number}"),
                "event_id": sa.bindparam(f"event_{number}"),
            }
            for number in range(count)
        ]
    )


def _open_lanes(count: int) -> sa.Insert:
    """Lanes that are open stay so, due now if they were due later."""
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
        # Where it is due already, nothing is written; the row is locked all the same.
        where=earlier < webhook_lanes.c.due_at,
    )
