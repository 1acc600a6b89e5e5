"""The log of deliveries for owners and operators: listing, attempts, and retrying dead ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec.structs import replace

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.engine.events.names import TEST_PING
from masthead.features.webhooks.collection import DEAD, webhook_deliveries, webhook_subscriptions
from masthead.features.webhooks.statements import MAX_LATELY_DEAD, QueueStatements
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Row, Transaction

RETRY_BATCH = 500
COUNT_BATCH = 5_000
MAX_SCANNED = 2_000
"""Rows that a page or a count reads at most. No index has an event together with a state or a
subscription, so their deliveries are searched in steps of this size."""
MAX_COUNTED = 1_000
"""A page does not wait for the number of more dead deliveries."""

Cursor = tuple[str, str]
"""The `created` and the `id` of a delivery."""


class DeliveryFilter(msgspec.Struct, frozen=True):
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


class LoggedDelivery(msgspec.Struct, frozen=True):
    id: str
    webhook_id: str
    event: str
    event_id: str
    state: str
    attempts: int
    last_status: int | None
    next_attempt_at: str
    created: str


class LogPage(msgspec.Struct, frozen=True):
    items: list[LoggedDelivery]
    has_more: bool
    scanned_to: Cursor | None = None
    """Where the search has ended before the page was full; more may match after it."""


class DeadCount(msgspec.Struct, frozen=True):
    total: int
    is_exact: bool
    """False where only so many were counted."""


class LoggedAttempt(msgspec.Struct, frozen=True):
    number: int
    status: int
    """0 without an answer; then `error` says why."""
    duration_ms: int
    error: str
    answer: str
    """Its first 2 KB; for the tenant's owner only."""
    created: str
    url: str
    """Empty, as the signatures, for attempts of versions that did not store it."""
    signed_at: int
    signature: str
    standard_signature: str


# Defined here, because `list` is a method inside the class.
_Deliveries = list[LoggedDelivery]
_Attempts = list[LoggedAttempt]
_LastAttempts = dict[str, LoggedAttempt]
_Rows = list[Row]
_Found = list[tuple[str, str, str]]
"""The id, the subscription and the time of each delivery."""
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
        after: Cursor | None = None,
    ) -> _Deliveries:
        """Newest first, however many have to be read; `after` is the last one of the page
        before."""
        query = self._newest_first(tenant_id, filter_, after).limit(limit)
        return [LoggedDelivery(*row) for row in await self._fetch(query)]

    async def get(self, tenant_id: TenantId, delivery_id: str) -> LoggedDelivery | None:
        found = await self.list(tenant_id, DeliveryFilter(ids=[delivery_id]), limit=1)
        return found[0] if found else None

    async def page(
        self, tenant_id: TenantId, filter_: DeliveryFilter, limit: int, after: Cursor | None
    ) -> LogPage:
        """Newest first, in a time that does not depend on the number of deliveries."""
        if not _is_scanned(filter_):
            query = self._newest_first(tenant_id, filter_, after).limit(_literal(limit + 1))
            return _log_page(await self._fetch(query), limit)
        scan = self._newest_first(tenant_id, replace(filter_, event=""), after)
        scanned = scan.limit(_literal(MAX_SCANNED)).subquery()
        matching = sa.select(scanned).where(scanned.c.event == filter_.event)
        newest = matching.order_by(scanned.c.created.desc(), scanned.c.id.desc())
        page = _log_page(await self._fetch(newest.limit(_literal(limit + 1))), limit)
        if page.has_more:
            return page
        d = self._deliveries.c
        last = scan.with_only_columns(d.created, d.id).offset(_literal(MAX_SCANNED - 1))
        end = await self._fetch(last.limit(_literal(2)))
        has_rest = len(end) == 2
        return replace(page, scanned_to=(end[0][0], end[0][1]) if has_rest else None)

    async def page_before(
        self, tenant_id: TenantId, filter_: DeliveryFilter, limit: int, before: Cursor
    ) -> LogPage:
        """The newer page. Not for an event together with a state or a subscription."""
        d = self._deliveries.c
        query = (
            self._all(tenant_id, filter_)
            .where(sa.tuple_(d.created, d.id) > sa.tuple_(*before))
            .order_by(d.created, d.id)
        )
        page = _log_page(await self._fetch(query.limit(_literal(limit + 1))), limit)
        return replace(page, items=page.items[::-1])

    async def count_lately_dead(self, tenant_id: TenantId, since: datetime) -> DeadCount:
        """For every page of the admin: its statement is compiled once."""
        values = {"tenant": tenant_id, "since": clock.to_text(since)}
        statement, bound = self._sql.count_lately_dead(values)
        [(total,)] = await self._database.fetch(EVERY_TENANT, statement, bound, slow=True)
        return DeadCount(total, total < MAX_LATELY_DEAD)

    async def count_dead(self, tenant_id: TenantId, filter_: DeliveryFilter) -> DeadCount:
        d = self._deliveries.c
        conditions = self._conditions(tenant_id, replace(filter_, state=DEAD, event=""))
        most = MAX_SCANNED if filter_.event else MAX_COUNTED
        dead = sa.select(d.event).where(*conditions).limit(_literal(most)).subquery()
        is_wanted = dead.c.event == filter_.event if filter_.event else sa.true()
        matching = sa.func.count(sa.case((is_wanted, sa.literal_column("1"))))
        [(counted, total)] = await self._fetch(
            sa.select(sa.func.count(), matching).select_from(dead)
        )
        return DeadCount(total, counted < most)

    async def last_attempts(self, tenant_id: TenantId, ids: Sequence[str]) -> _LastAttempts:
        """The last attempts by delivery; deliveries without one are left out."""
        values = {"tenant": tenant_id, "deliveries": self._database.list_value(ids)}
        rows = await self._database.fetch(EVERY_TENANT, *self._sql.attempts_of(values))
        return {delivery_id: LoggedAttempt(*row) for delivery_id, *row in rows}

    async def attempts(self, tenant_id: TenantId, delivery_id: str) -> _Attempts:
        values = {"tenant": tenant_id, "delivery": delivery_id}
        rows = await self._database.fetch(EVERY_TENANT, *self._sql.attempts(values))
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
        async for found in self.dead(tenant_id, filter_, now, batch):
            async with self._database.transaction(EVERY_TENANT) as tx:
                retried += await self.requeue(tx, tenant_id, found, now, now=now)
        return retried

    async def dead(
        self, tenant_id: TenantId, filter_: DeliveryFilter, until: datetime, batch: int
    ) -> AsyncIterator[_Found]:
        """Dead deliveries that can be retried and have been dead since `until`, oldest first. Each
        step reads a batch of dead ones and yields those of them that match, so that no statement
        reads the whole log."""
        after: Cursor | None = None
        rows: _Rows = [()] * batch
        while len(rows) == batch:
            rows = await self._fetch(self._dead(tenant_id, filter_, until, after, batch=batch))
            found = []
            for delivery_id, webhook_id, created, matches in rows:
                after = created, delivery_id
                if matches:
                    found.append((delivery_id, webhook_id, created))
            if found:
                yield found

    async def count_retried(
        self, tenant_id: TenantId, filter_: DeliveryFilter, until: datetime
    ) -> int:
        """Reads all of them, so it is not for a request."""
        found = self.dead(tenant_id, filter_, until, COUNT_BATCH)
        return sum([len(each) async for each in found])

    def _dead(
        self,
        tenant_id: TenantId,
        filter_: DeliveryFilter,
        until: datetime,
        after: Cursor | None,
        *,
        batch: int,
    ) -> sa.Select[Any]:
        """Some dead ones in the order of an index, and whether each of them can be retried."""
        d, s = self._deliveries.c, self._subscriptions.c
        columns = (d.tenant_id, d.id, d.webhook_id, d.created, d.event, d.updated)
        conditions = self._conditions(tenant_id, replace(filter_, state=DEAD, event=""))
        batched = sa.select(*columns).where(*conditions).order_by(d.created, d.id)
        if after:
            batched = batched.where(sa.tuple_(d.created, d.id) > sa.tuple_(*after))
        b = batched.limit(_literal(batch)).subquery().c
        wanted = sa.and_(
            s.disabled_at == "",
            b.event != TEST_PING,
            b.event == filter_.event if filter_.event else sa.true(),
            b.updated <= clock.to_text(until),
        )
        return (
            # Without a subscription the condition is neither true nor false.
            sa.select(b.id, b.webhook_id, b.created, sa.func.coalesce(wanted, sa.false()))
            .outerjoin(
                self._subscriptions, sa.and_(s.tenant_id == b.tenant_id, s.id == b.webhook_id)
            )
            .order_by(b.created, b.id)
        )

    async def requeue(
        self,
        tx: Transaction,
        tenant_id: TenantId,
        found: _Found,
        until: datetime,
        *,
        now: datetime,
    ) -> int:
        """Only those that have been dead since `until`: another retry may have sent them since they
        were found."""
        sql, moment = self._sql, clock.to_text(now)
        for webhook_id in sorted({webhook_id for _, webhook_id, _ in found}):
            key = {"tenant_id": tenant_id, "webhook_id": webhook_id, "due_at": moment}
            await tx.execute(*sql.open_queue(key))
        ids = self._database.list_value([delivery_id for delivery_id, *_ in found])
        values = {"tenant": tenant_id, "ids": ids, "until": clock.to_text(until), "now": moment}
        return await tx.execute(*sql.requeue(values))

    def _all(self, tenant_id: TenantId, filter_: DeliveryFilter) -> sa.Select[Any]:
        columns = [self._deliveries.c[name] for name in LoggedDelivery.__struct_fields__]
        return sa.select(*columns).where(*self._conditions(tenant_id, filter_))

    def _newest_first(
        self, tenant_id: TenantId, filter_: DeliveryFilter, after: Cursor | None
    ) -> sa.Select[Any]:
        d = self._deliveries.c
        query = self._all(tenant_id, filter_).order_by(d.created.desc(), d.id.desc())
        return query.where(sa.tuple_(d.created, d.id) < sa.tuple_(*after)) if after else query

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

    async def _fetch(self, query: sa.Select[*tuple[Any, ...]]) -> _Rows:
        statement = self._database.compile(query)
        return await self._database.fetch(EVERY_TENANT, *statement({}), slow=True)


def _is_scanned(filter_: DeliveryFilter) -> bool:
    return bool(filter_.event and (filter_.state or filter_.webhook_id))


def _log_page(rows: Sequence[Row], limit: int) -> LogPage:
    return LogPage([LoggedDelivery(*row) for row in rows[:limit]], len(rows) > limit)


def _literal(count: int) -> sa.ColumnElement[int]:
    # For a parameter PostgreSQL would plan to read a tenth of the table.
    return sa.literal_column(str(count))
