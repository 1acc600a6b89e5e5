"""How long events, deliveries and attempts are stored, and the sweep that deletes them after that.

It deletes in small batches with pauses in between, so that writes do not wait long.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from masthead.base import clock
from masthead.engine.events.outbox import events
from masthead.engine.records.tables import tenant_states
from masthead.features.webhooks.collection import (
    DEAD,
    DELIVERED,
    DROPPED,
    PENDING,
    webhook_deliveries,
)
from masthead.features.webhooks.tables import webhook_attempts
from masthead.storage import dialects
from masthead.storage.batches import PAUSE_FACTOR, remove_in_batches
from masthead.storage.database import EVERY_TENANT, Database, Row, Statement, Transaction

ATTEMPT_RETENTION = timedelta(days=30)
FINISHED_RETENTION = timedelta(days=30)
"""How long deliveries that were delivered or dropped are stored."""
DEAD_RETENTION = timedelta(days=90)
EVENT_RETENTION = timedelta(days=90)

BATCH = 200
TENANT_PAGE = 100

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
        self._event_page = database.compile(_next_events(deliveries))
        self._remove_events = database.compile(_remove_events())
        self._is_stopping = False

    def stop(self) -> None:
        """Stops after the current batch; the next sweep continues from there."""
        self._is_stopping = True

    async def sweep(self, now: datetime) -> None:
        finished, dead = _text(now - FINISHED_RETENTION), _text(now - DEAD_RETENTION)
        await self._remove(self._attempts, {"before": _text(now - ATTEMPT_RETENTION)})
        old_events = _text(now - EVENT_RETENTION)
        async for tenant_id in self._with_old_rows(finished, dead, old_events):
            for state, statement in self._deliveries.items():
                before = dead if state == DEAD else finished
                await self._remove(statement, {"tenant": tenant_id, "before": before})
            await self._remove_old_events(tenant_id, old_events)

    async def _with_old_rows(self, finished: str, dead: str, old_events: str) -> AsyncIterator[str]:
        values = {"finished": finished, "dead": dead, "events": old_events}
        rows: list[Row] = [("",)]
        while rows and not self._is_stopping:
            bound = self._tenants({**values, "last": rows[-1][0]})
            rows = await self._database.fetch(EVERY_TENANT, *bound, slow=True)
            for (tenant_id,) in rows:
                yield tenant_id

    async def _remove(self, statement: Statement, values: Mapping[str, Any]) -> None:
        await remove_in_batches(
            self._database,
            statement(values),
            BATCH,
            is_stopping=lambda: self._is_stopping,
        )

    async def _remove_old_events(self, tenant_id: str, before: str) -> None:
        """From the beginning of the log to the first event that is not old."""
        last: tuple[int, int] | None = (0, -1)
        while last is not None and not self._is_stopping:
            async with self._database.transaction(EVERY_TENANT) as tx:
                began = time.monotonic()
                last = await self._remove_some_events(tx, tenant_id, before, last)
                took = time.monotonic() - began
            await asyncio.sleep(took * PAUSE_FACTOR)

    async def _remove_some_events(
        self, tx: Transaction, tenant_id: str, before: str, last: tuple[int, int]
    ) -> tuple[int, int] | None:
        """Returns the position to continue from; None at the end of the old events."""
        values = {"tenant": tenant_id, "version": last[0], "ordinal": last[1]}
        rows = await tx.fetch(*self._event_page(values))
        old = [each for each in (_LoggedRow(*row) for row in rows) if each.created < before]
        deleted = [each.id for each in old if not each.is_kept]
        if deleted:
            wanted = {"tenant": tenant_id, "ids": self._database.list_value(deleted)}
            await tx.execute(*self._remove_events(wanted), slow=True)
        return (old[-1].version, old[-1].ordinal) if len(old) == BATCH else None


class _LoggedRow(NamedTuple):
    version: int
    ordinal: int
    created: str
    id: str
    is_kept: bool


def _old_attempts() -> sa.Delete:
    a = webhook_attempts.c
    old = sa.select(a.tenant_id, a.id).where(a.created < _before).limit(_batch_limit())
    return sa.delete(webhook_attempts).where(sa.tuple_(a.tenant_id, a.id).in_(old))


def _old_deliveries(deliveries: sa.Table, state: str) -> sa.Delete:
    d = deliveries.c
    old = sa.select(d.id).where(
        d.tenant_id == _tenant,
        d.state == state,
        # `created` is indexed; `updated` is when the delivery ended, which is later.
        d.created < _before,
        d.updated < _before,
    )
    return sa.delete(deliveries).where(d.tenant_id == _tenant, d.id.in_(old.limit(_batch_limit())))


def _next_events(deliveries: sa.Table) -> sa.Select[Any]:
    """The next events in a tenant's log, and whether each is kept at any age: events that may still
    be sent are, and the newest of each name. A client that has polled everything continues from one
    of those, even after a long time without events."""
    e, d, newer = events.c, deliveries.c, events.alias("newer")
    may_be_sent = sa.exists().where(
        d.tenant_id == e.tenant_id, d.event_id == e.id, d.state.in_((PENDING, DEAD))
    )
    has_newer = sa.exists().where(
        newer.c.tenant_id == e.tenant_id,
        newer.c.name == e.name,
        sa.tuple_(newer.c.version, newer.c.ordinal) > sa.tuple_(e.version, e.ordinal),
    )
    return (
        sa.select(e.version, e.ordinal, e.created, e.id, sa.or_(may_be_sent, sa.not_(has_newer)))
        .where(
            e.tenant_id == _tenant,
            sa.tuple_(e.version, e.ordinal)
            > sa.tuple_(
                sa.bindparam("version", type_=sa.BigInteger()),
                sa.bindparam("ordinal", type_=sa.BigInteger()),
            ),
        )
        .order_by(e.version, e.ordinal)
        .limit(_batch_limit())
    )


def _remove_events() -> sa.Delete:
    e = events.c
    return sa.delete(events).where(
        e.tenant_id == _tenant, dialects.any_of(e.id, sa.bindparam("ids"))
    )


def _with_old_rows(deliveries: sa.Table) -> sa.Select[Any]:
    """The next tenants that may have expired rows."""
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
        .limit(sa.literal_column(str(TENANT_PAGE)))
    )


def _batch_limit() -> sa.ColumnElement[int]:
    # A literal: for a parameter PostgreSQL would plan to read a tenth of the table.
    return sa.literal_column(str(BATCH))


def _text(moment: datetime) -> str:
    return clock.to_text(moment)
