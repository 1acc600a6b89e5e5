"""How long events, deliveries and attempts are kept, and the chore that removes them after that.

A few rows at a time with pauses in between, so that nobody's writes wait for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from masthead import clock
from masthead.events.outbox import events
from masthead.records.tables import tenant_states
from masthead.storage.database import EVERY_TENANT, Database, Row, Statement
from masthead.webhooks.collection import DEAD, DELIVERED, DROPPED, PENDING, webhook_deliveries
from masthead.webhooks.tables import webhook_attempts

ATTEMPTS_KEPT = timedelta(days=30)
FINISHED_KEPT = timedelta(days=30)
"""Deliveries that were made or dropped."""
DEAD_KEPT = timedelta(days=90)
EVENTS_KEPT = timedelta(days=90)

ROWS_AT_ONCE = 200
PAUSES = 4
"""How often as long as a batch took the others have the database for themselves."""
TENANTS_AT_ONCE = 100

_tenant: Any = sa.bindparam("tenant")
_before: Any = sa.bindparam("before")


class Retention:
    def __init__(self, database: Database, tables: Mapping[str, sa.Table]) -> None:
        self._database = database
        deliveries = tables[webhook_deliveries.name]
        self._tenants = database.compile(_with_old_rows(deliveries))
        self._attempts = database.compile(_old_attempts())
        self._deliveries = {
            state: database.compile(_old_deliveries(deliveries, state))
            for state in (DELIVERED, DROPPED, DEAD)
        }
        self._events = database.compile(_old_events(deliveries))
        self._is_stopping = False

    def stop(self) -> None:
        """The batch in hand is the last; the next sweep goes on from there."""
        self._is_stopping = True

    async def sweep(self, now: datetime) -> None:
        finished, dead = _text(now - FINISHED_KEPT), _text(now - DEAD_KEPT)
        await self._remove(self._attempts, {"before": _text(now - ATTEMPTS_KEPT)})
        old_events = _text(now - EVENTS_KEPT)
        async for tenant_id in self._with_old_rows(finished, dead, old_events):
            for state, statement in self._deliveries.items():
                before = dead if state == DEAD else finished
                await self._remove(statement, {"tenant": tenant_id, "before": before})
            await self._remove(self._events, {"tenant": tenant_id, "before": old_events})

    async def _with_old_rows(self, finished: str, dead: str, old_events: str) -> AsyncIterator[str]:
        values = {"finished": finished, "dead": dead, "events": old_events}
        rows: list[Row] = [("",)]
        while rows and not self._is_stopping:
            bound = self._tenants.bind({**values, "last": rows[-1][0]})
            rows = await self._database.fetch(EVERY_TENANT, self._tenants, bound, slow=True)
            for (tenant_id,) in rows:
                yield tenant_id

    async def _remove(self, statement: Statement, values: Mapping[str, Any]) -> None:
        bound, removed = statement.bind(values), ROWS_AT_ONCE
        while removed == ROWS_AT_ONCE and not self._is_stopping:
            async with self._database.transaction(EVERY_TENANT) as tx:
                began = time.monotonic()
                removed = await tx.execute(statement, bound, slow=True)
                took = time.monotonic() - began
            await asyncio.sleep(took * PAUSES)


def _old_attempts() -> sa.Delete:
    a = webhook_attempts.c
    old = sa.select(a.tenant_id, a.id).where(a.created < _before).limit(_rows_at_once())
    return sa.delete(webhook_attempts).where(sa.tuple_(a.tenant_id, a.id).in_(old))


def _old_deliveries(deliveries: sa.Table, state: str) -> sa.Delete:
    d = deliveries.c
    old = sa.select(d.id).where(
        d.tenant_id == _tenant,
        d.state == state,
        # The index knows when it was made; what counts is when it ended, which was later.
        d.created < _before,
        d.updated < _before,
    )
    return sa.delete(deliveries).where(d.tenant_id == _tenant, d.id.in_(old.limit(_rows_at_once())))


def _old_events(deliveries: sa.Table) -> sa.Delete:
    """All but those that may still be sent, and but the newest of each name: whoever polls and
    keeps pace stands at one of those, and can go on from there however long nothing happens."""
    e, d, newer = events.c, deliveries.c, events.alias("newer")
    is_wanted = sa.exists().where(
        d.tenant_id == e.tenant_id, d.event_id == e.id, d.state.in_((PENDING, DEAD))
    )
    is_followed = sa.exists().where(
        newer.c.tenant_id == e.tenant_id,
        newer.c.name == e.name,
        sa.tuple_(newer.c.version, newer.c.ordinal) > sa.tuple_(e.version, e.ordinal),
    )
    old = sa.select(e.version, e.ordinal).where(
        e.tenant_id == _tenant, e.created < _before, sa.not_(is_wanted), is_followed
    )
    return sa.delete(events).where(
        e.tenant_id == _tenant,
        sa.tuple_(e.version, e.ordinal).in_(old.limit(_rows_at_once())),
    )


def _with_old_rows(deliveries: sa.Table) -> sa.Select[Any]:
    """The next tenants of which something may have to go."""
    t, d, e = tenant_states.c, deliveries.c, events.c

    def has_old(state: str, before: str) -> sa.Exists:
        return sa.exists().where(
            d.tenant_id == t.tenant_id, d.state == state, d.created < sa.bindparam(before)
        )

    return (
        sa.select(t.tenant_id)
        .where(
            t.tenant_id > sa.bindparam("last"),
            sa.or_(
                has_old(DELIVERED, "finished"),
                has_old(DROPPED, "finished"),
                has_old(DEAD, "dead"),
                sa.exists().where(e.tenant_id == t.tenant_id, e.created < sa.bindparam("events")),
            ),
        )
        .order_by(t.tenant_id)
        .limit(sa.literal_column(str(TENANTS_AT_ONCE)))
    )


def _rows_at_once() -> sa.ColumnElement[int]:
    # In the text: for a parameter PostgreSQL would plan to read a tenth of the table.
    return sa.literal_column(str(ROWS_AT_ONCE))


def _text(moment: datetime) -> str:
    return clock.to_text(moment)
