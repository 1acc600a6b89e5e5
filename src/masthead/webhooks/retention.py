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
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Row, Statement, Transaction
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
        self._look = database.compile(_next_events(deliveries))
        self._remove_events = database.compile(_remove_events())
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
            await self._remove_old_events(tenant_id, old_events)

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

    async def _remove_old_events(self, tenant_id: str, before: str) -> None:
        """From the log's beginning on, as far as it is old."""
        last: tuple[int, int] | None = (0, -1)
        while last is not None and not self._is_stopping:
            async with self._database.transaction(EVERY_TENANT) as tx:
                began = time.monotonic()
                last = await self._remove_some_events(tx, tenant_id, before, last)
                took = time.monotonic() - began
            await asyncio.sleep(took * PAUSES)

    async def _remove_some_events(
        self, tx: Transaction, tenant_id: str, before: str, last: tuple[int, int]
    ) -> tuple[int, int] | None:
        """Where to go on; None at the end of what is old."""
        values = {"tenant": tenant_id, "version": last[0], "ordinal": last[1]}
        rows = await tx.fetch(self._look, self._look.bind(values))
        old = [row for row in rows if row[2] < before]
        going = [event_id for *_, event_id, is_kept in old if not is_kept]
        if going:
            wanted = {"tenant": tenant_id, "ids": self._database.list_value(going)}
            await tx.execute(self._remove_events, self._remove_events.bind(wanted), slow=True)
        return (old[-1][0], old[-1][1]) if len(old) == ROWS_AT_ONCE else None


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


def _next_events(deliveries: sa.Table) -> sa.Select[Any]:
    """The next in a tenant's log, and whether each is kept however old it is: what may still be
    sent is, and the newest of each name. Whoever polls and keeps pace stands at one of those, and
    can go on from there however long nothing happens."""
    e, d, newer = events.c, deliveries.c, events.alias("newer")
    is_wanted = sa.exists().where(
        d.tenant_id == e.tenant_id, d.event_id == e.id, d.state.in_((PENDING, DEAD))
    )
    is_followed = sa.exists().where(
        newer.c.tenant_id == e.tenant_id,
        newer.c.name == e.name,
        sa.tuple_(newer.c.version, newer.c.ordinal) > sa.tuple_(e.version, e.ordinal),
    )
    return (
        sa.select(e.version, e.ordinal, e.created, e.id, sa.or_(is_wanted, sa.not_(is_followed)))
        .where(
            e.tenant_id == _tenant,
            sa.tuple_(e.version, e.ordinal)
            > sa.tuple_(
                sa.bindparam("version", type_=sa.BigInteger()),
                sa.bindparam("ordinal", type_=sa.BigInteger()),
            ),
        )
        .order_by(e.version, e.ordinal)
        .limit(_rows_at_once())
    )


def _remove_events() -> sa.Delete:
    e = events.c
    return sa.delete(events).where(
        e.tenant_id == _tenant, dialects.any_of(e.id, sa.bindparam("ids"))
    )


def _with_old_rows(deliveries: sa.Table) -> sa.Select[Any]:
    """The next tenants of which something may have to go."""
    t, d, e = tenant_states.c, deliveries.c, events.c
    first_event = (
        sa.select(e.created)
        .where(e.tenant_id == t.tenant_id)
        .order_by(e.version, e.ordinal)
        .limit(sa.literal_column("1"))
        .scalar_subquery()
    )

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
                first_event < sa.bindparam("events"),
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
