"""The log of deliveries for owners and operators: listing, attempts, and retrying dead ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from masthead import clock
from masthead.events.names import TEST_PING
from masthead.ids import TenantId
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Row, Transaction
from masthead.webhooks.collection import DEAD, webhook_deliveries, webhook_subscriptions
from masthead.webhooks.statements import QueueStatements

RETRY_BATCH = 500


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Selects deliveries of a tenant; all given conditions must hold."""

    ids: Sequence[str] | None = None
    state: str = ""
    webhook_id: str = ""
    event: str = ""
    since: datetime | None = None
    """Created at this time or later."""
    until: datetime | None = None
    """Created before this time."""


ALL = DeliveryFilter()


@dataclass(frozen=True, slots=True)
class LoggedDelivery:
    id: str
    webhook_id: str
    event: str
    event_id: str
    state: str
    attempts: int
    last_status: int | None
    next_attempt_at: str
    created: str


@dataclass(frozen=True, slots=True)
class LoggedAttempt:
    number: int
    status: int
    """0 without an answer; then `error` says why."""
    duration_ms: int
    error: str
    answer: str
    """Its first 2 KB; for the tenant's owner only."""
    created: str


# Defined here, because `list` is a method inside the class.
_Deliveries = list[LoggedDelivery]
_Attempts = list[LoggedAttempt]
_Rows = list[Row]
_Conditions = list[sa.ColumnElement[bool]]


class DeliveryLog:
    def __init__(
        self, database: Database, tables: Mapping[str, sa.Table], sql: QueueStatements
    ) -> None:
        self._database = database
        self._sql = sql
        self._deliveries = tables[webhook_deliveries.name]
        self._subscriptions = tables[webhook_subscriptions.name]

    async def list(
        self,
        tenant_id: TenantId,
        filter_: DeliveryFilter = ALL,
        *,
        limit: int = 100,
        after: tuple[str, str] | None = None,
    ) -> _Deliveries:
        """Newest first; `after` is the `created` and `id` of the last one of the page before."""
        d = self._deliveries.c
        columns = [d[name] for name in LoggedDelivery.__slots__]
        query = sa.select(*columns).where(*self._conditions(tenant_id, filter_))
        if after:
            query = query.where(sa.tuple_(d.created, d.id) < sa.tuple_(*after))
        query = query.order_by(d.created.desc(), d.id.desc()).limit(limit)
        return [LoggedDelivery(*row) for row in await self._fetch(query)]

    async def attempts(self, tenant_id: TenantId, delivery_id: str) -> _Attempts:
        sql = self._sql.attempts
        values = {"tenant": tenant_id, "delivery": delivery_id}
        rows = await self._database.fetch(EVERY_TENANT, sql, sql.bind(values))
        return [LoggedAttempt(*row) for row in rows]

    async def retry(
        self,
        tenant_id: TenantId,
        filter_: DeliveryFilter,
        now: datetime,
        *,
        batch: int = RETRY_BATCH,
    ) -> int:
        """Makes dead deliveries pending again; returns how many. Deliveries of deleted or disabled
        subscriptions and test events stay dead."""
        retried = 0
        while found := await self._dead(tenant_id, filter_, batch):
            async with self._database.transaction(EVERY_TENANT) as tx:
                requeued = await self._requeue(tx, tenant_id, found, clock.to_text(now))
            retried += requeued
            if not requeued or len(found) < batch:
                break
        return retried

    async def _dead(self, tenant_id: TenantId, filter_: DeliveryFilter, limit: int) -> _Rows:
        d, s = self._deliveries.c, self._subscriptions.c
        query = (
            sa.select(d.id, d.webhook_id)
            .join(self._subscriptions, sa.and_(s.tenant_id == d.tenant_id, s.id == d.webhook_id))
            .where(*self._conditions(tenant_id, filter_), d.state == DEAD)
            .where(s.disabled_at == "", d.event != TEST_PING)
            .order_by(d.created, d.id)
            .limit(limit)
        )
        return await self._fetch(query)

    async def _requeue(
        self, tx: Transaction, tenant_id: TenantId, found: _Rows, moment: str
    ) -> int:
        sql = self._sql
        for webhook_id in sorted({row[1] for row in found}):
            key = {"tenant_id": tenant_id, "webhook_id": webhook_id, "due_at": moment}
            await tx.execute(sql.open_queue, sql.open_queue.bind(key))
        ids = self._database.list_value([row[0] for row in found])
        values = {"tenant": tenant_id, "ids": ids, "now": moment}
        return await tx.execute(sql.requeue, sql.requeue.bind(values))

    def _conditions(self, tenant_id: TenantId, filter_: DeliveryFilter) -> _Conditions:
        d = self._deliveries.c
        conditions = [d.tenant_id == tenant_id]
        for column, value in (
            (d.state, filter_.state),
            (d.webhook_id, filter_.webhook_id),
            (d.event, filter_.event),
        ):
            if value:
                conditions.append(column == value)
        if filter_.ids is not None:
            conditions.append(dialects.any_of(d.id, self._ids(filter_.ids)))
        if filter_.since:
            conditions.append(d.created >= clock.to_text(filter_.since))
        if filter_.until:
            conditions.append(d.created < clock.to_text(filter_.until))
        return conditions

    def _ids(self, ids: Sequence[str]) -> Any:
        return sa.literal(self._database.list_value(ids), type_=sa.types.NullType())

    async def _fetch(self, query: sa.Select[Any]) -> _Rows:
        statement = self._database.compile(query)
        return await self._database.fetch(EVERY_TENANT, statement, statement.bind({}), slow=True)
