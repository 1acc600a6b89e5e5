"""The delivery queue in the database: claiming what is due, lane by lane, and recording results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from masthead import clock, ids
from masthead.events.outbox import events
from masthead.ids import TenantId
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Transaction
from masthead.webhooks.collection import (
    DEAD,
    DROPPED,
    PENDING,
    webhook_deliveries,
    webhook_subscriptions,
)
from masthead.webhooks.tables import webhook_attempts, webhook_lanes

LEASE = timedelta(seconds=60)
"""Longer than the slowest attempt; what a dead worker held is tried again after it."""
KEPT_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Lane:
    tenant_id: TenantId
    webhook_id: str


@dataclass(frozen=True, slots=True)
class Subscription:
    url: str
    secret: str
    """As stored: encrypted."""
    disabled_at: str


@dataclass(frozen=True, slots=True)
class Delivery:
    lane: Lane
    id: str
    event: str
    event_id: str
    event_created: str
    payload: str
    """JSON text, the same bytes at every attempt."""
    attempts: int


@dataclass(frozen=True, slots=True)
class Result:
    """How an attempt ended, and what becomes of its delivery."""

    delivery: Delivery
    number: int
    status: int
    duration_ms: int
    error: str
    answer: str
    at: datetime
    state: str
    next_attempt_at: datetime | None
    disable: bool = False


class DeliveryQueue:
    def __init__(self, database: Database, tables: Mapping[str, sa.Table]) -> None:
        self._database = database
        self._sql = _Statements(database, tables)

    async def due_lanes(self, now: datetime, limit: int) -> list[Lane]:
        sql = self._sql.due_lanes
        bound = sql.bind({"now": clock.to_text(now), "limit": limit})
        rows = await self._database.fetch(EVERY_TENANT, sql, bound)
        return [Lane(TenantId(tenant_id), webhook_id) for tenant_id, webhook_id in rows]

    async def subscription(self, lane: Lane) -> Subscription | None:
        sql = self._sql.subscription
        rows = await self._database.fetch(EVERY_TENANT, sql, sql.bind(_key(lane)))
        return Subscription(*rows[0]) if rows else None

    async def claim(self, lane: Lane, now: datetime, limit: int) -> list[Delivery]:
        """Leases up to `limit` due deliveries of the lane, and says when to look at it again.

        Whoever holds the lane's row decides alone; another worker passes it by.
        """
        sql = self._sql
        async with self._database.transaction(EVERY_TENANT) as tx:
            moment = clock.to_text(now)
            if not await tx.fetch(sql.hold_lane, sql.hold_lane.bind(_key(lane))):
                return []
            values = {**_key(lane), "now": moment, "limit": limit + 1}
            rows = await tx.fetch(sql.due, sql.due.bind(values))
            until = clock.to_text(now + LEASE)
            for row in rows[:limit]:
                leased = {"tenant": lane.tenant_id, "id": row[0], "until": until}
                await tx.execute(sql.lease, sql.lease.bind(leased))
            await self._move_lane(tx, lane, now, has_more=len(rows) > limit)
        return [Delivery(lane, *row) for row in rows[:limit]]

    async def postpone(self, lane: Lane, until: datetime) -> None:
        """Nothing can be sent there right now: others first."""
        sql = self._sql.set_lane
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(sql, sql.bind({**_key(lane), "due": clock.to_text(until)}))

    async def release(self, deliveries: Sequence[Delivery], now: datetime) -> None:
        """Gives back what was claimed and not sent; another worker may take it at once."""
        sql, moment = self._sql, clock.to_text(now)
        async with self._database.transaction(EVERY_TENANT) as tx:
            for delivery in sorted(deliveries, key=lambda each: each.lane.webhook_id):
                values = {"tenant": delivery.lane.tenant_id, "id": delivery.id, "until": ""}
                await tx.execute(sql.lease, sql.lease.bind(values))
                await self._open_lane(tx, delivery.lane, moment)

    async def close_lane(self, lane: Lane, now: datetime) -> None:
        """The subscription is gone or disabled: what it had pending is dropped."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            await self._drop_pending(tx, lane, now)

    async def record(self, results: Sequence[Result]) -> None:
        """Writes what became of some attempts, all of them in one commit."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            # In one order everywhere, so that two workers can't wait for each other's rows.
            for result in sorted(results, key=lambda each: each.delivery.lane.webhook_id):
                await self._record(tx, result)

    async def sweep(self, now: datetime) -> None:
        """The attempt log is kept for 30 days."""
        sql = self._sql.sweep
        async with self._database.transaction(EVERY_TENANT) as tx:
            before = clock.to_text(now - KEPT_FOR)
            await tx.execute(sql, sql.bind({"before": before}), slow=True)

    async def retry(self, tenant_id: TenantId, delivery_ids: Sequence[str], now: datetime) -> int:
        """Dead deliveries get a fresh start; returns how many there were."""
        sql, moment, retried = self._sql, clock.to_text(now), 0
        async with self._database.transaction(EVERY_TENANT) as tx:
            for delivery_id in delivery_ids:
                values = {"tenant": tenant_id, "id": delivery_id, "now": moment}
                rows = await tx.fetch(sql.revive, sql.revive.bind(values))
                for (webhook_id,) in rows:
                    await self._open_lane(tx, Lane(tenant_id, webhook_id), moment)
                    retried += 1
        return retried

    async def _record(self, tx: Transaction, result: Result) -> None:
        sql, delivery = self._sql, result.delivery
        moment = clock.to_text(result.at)
        again = clock.to_text(result.next_attempt_at) if result.next_attempt_at else ""
        values: dict[str, Any] = {
            "tenant_id": delivery.lane.tenant_id,
            "id": ids.new_id(),
            "delivery_id": delivery.id,
            "number": result.number,
            "status": result.status,
            "duration_ms": result.duration_ms,
            "error": result.error,
            "answer": result.answer,
            "created": moment,
        }
        await tx.execute(sql.attempt, sql.attempt.bind(values))
        values = {
            "tenant": delivery.lane.tenant_id,
            "id": delivery.id,
            "new_state": result.state,
            "new_attempts": result.number,
            "new_status": result.status or None,
            "again": again,
            "now": moment,
        }
        await tx.execute(sql.finish, sql.finish.bind(values))
        await self._count(tx, result, moment)
        if result.disable:
            await self._disable(tx, delivery.lane, result.at)
        elif again:
            await self._open_lane(tx, delivery.lane, again)

    async def _count(self, tx: Transaction, result: Result, moment: str) -> None:
        """Consecutive exhausted deliveries; any success starts over (spec 3.4 as decided)."""
        values = {**_key(result.delivery.lane), "now": moment}
        if result.state == DEAD:
            await tx.execute(self._sql.failed, self._sql.failed.bind(values))
        elif result.state != PENDING:
            await tx.execute(self._sql.succeeded, self._sql.succeeded.bind(values))

    async def disable_if_failing(self, lane: Lane, threshold: int, now: datetime) -> bool:
        """After so many exhausted deliveries in a row, if none got through meanwhile."""
        sql = self._sql.failures
        async with self._database.transaction(EVERY_TENANT) as tx:
            rows = await tx.fetch(sql, sql.bind(_key(lane)))
            if not rows or rows[0][0] < threshold:
                return False
            await self._disable(tx, lane, now)
        return True

    async def _disable(self, tx: Transaction, lane: Lane, now: datetime) -> None:
        sql = self._sql.disable
        await tx.execute(sql, sql.bind({**_key(lane), "now": clock.to_text(now)}))
        await self._drop_pending(tx, lane, now)

    async def _drop_pending(self, tx: Transaction, lane: Lane, now: datetime) -> None:
        sql = self._sql
        values = {**_key(lane), "now": clock.to_text(now)}
        await tx.execute(sql.drop_pending, sql.drop_pending.bind(values), slow=True)
        await tx.execute(sql.close_lane, sql.close_lane.bind(_key(lane)))

    async def _move_lane(
        self, tx: Transaction, lane: Lane, now: datetime, *, has_more: bool
    ) -> None:
        """To the back of the line if more is due; else to the next moment something may be: a
        retry's time, or the end of a lease whose holder may have died."""
        sql, moment = self._sql, clock.to_text(now)
        due = [moment] if has_more else []
        if not has_more:
            values = {**_key(lane), "now": moment}
            due = [row[0] for row in await tx.fetch(sql.next_retry, sql.next_retry.bind(values))]
            if await tx.fetch(sql.any_leased, sql.any_leased.bind(values)):
                due.append(clock.to_text(now + LEASE))
        if due:
            await tx.execute(sql.set_lane, sql.set_lane.bind({**_key(lane), "due": min(due)}))
        else:
            await tx.execute(sql.close_lane, sql.close_lane.bind(_key(lane)))

    async def _open_lane(self, tx: Transaction, lane: Lane, due_at: str) -> None:
        values = {"tenant_id": lane.tenant_id, "webhook_id": lane.webhook_id, "due_at": due_at}
        await tx.execute(self._sql.open_lane, self._sql.open_lane.bind(values))


def _key(lane: Lane) -> dict[str, Any]:
    return {"tenant": lane.tenant_id, "webhook": lane.webhook_id}


class _Statements:
    def __init__(self, database: Database, tables: Mapping[str, sa.Table]) -> None:
        compile_ = database.compile
        lanes = webhook_lanes
        deliveries = tables[webhook_deliveries.name]
        subscriptions = tables[webhook_subscriptions.name]
        tenant: Any = sa.bindparam("tenant")
        webhook: Any = sa.bindparam("webhook")
        now: Any = sa.bindparam("now")
        d, s = deliveries.c, subscriptions.c
        this_lane = (lanes.c.tenant_id == tenant, lanes.c.webhook_id == webhook)
        this_subscription = (s.tenant_id == tenant, s.id == webhook)
        this_delivery = (d.tenant_id == tenant, d.id == sa.bindparam("id"))
        pending = (d.tenant_id == tenant, d.webhook_id == webhook, d.state == PENDING)

        self.due_lanes = compile_(
            sa.select(lanes.c.tenant_id, lanes.c.webhook_id)
            .where(lanes.c.due_at <= now)
            .order_by(lanes.c.due_at)
            .limit(sa.bindparam("limit"))
        )
        self.hold_lane = compile_(
            sa.select(lanes.c.due_at).where(*this_lane).with_for_update(skip_locked=True)
        )
        self.set_lane = compile_(
            sa.update(lanes).where(*this_lane).values(due_at=sa.bindparam("due"))
        )
        self.open_lane = compile_(
            dialects.upsert_least(lanes, ("tenant_id", "webhook_id"), "due_at")
        )
        self.close_lane = compile_(sa.delete(lanes).where(*this_lane))
        self.subscription = compile_(
            sa.select(s.url, s.secret, s.disabled_at).where(*this_subscription)
        )
        self.due = compile_(
            sa.select(d.id, d.event, d.event_id, events.c.created, events.c.payload, d.attempts)
            .join(
                events,
                sa.and_(events.c.tenant_id == d.tenant_id, events.c.id == d.event_id),
            )
            .where(*pending, d.next_attempt_at <= now, d.leased_until <= now)
            .order_by(d.next_attempt_at)
            .limit(sa.bindparam("limit"))
        )
        self.lease = compile_(
            sa.update(deliveries).where(*this_delivery).values(leased_until=sa.bindparam("until"))
        )
        # Both end at the first row they find, however long the queue.
        self.next_retry = compile_(
            sa.select(d.next_attempt_at)
            .where(*pending, d.next_attempt_at > now)
            .order_by(d.next_attempt_at)
            .limit(1)
        )
        self.any_leased = compile_(
            sa.select(d.id).where(*pending, d.next_attempt_at <= now).limit(1)
        )
        self.attempt = compile_(sa.insert(webhook_attempts))
        self.finish = compile_(
            sa.update(deliveries)
            .where(*this_delivery)
            .values(
                state=sa.bindparam("new_state"),
                attempts=sa.bindparam("new_attempts"),
                last_status=sa.bindparam("new_status"),
                next_attempt_at=sa.bindparam("again"),
                leased_until="",
                updated=now,
            )
        )
        self.succeeded = compile_(
            sa.update(subscriptions)
            .where(*this_subscription)
            .values(failure_count=0, last_delivery_at=now)
        )
        self.failed = compile_(
            sa.update(subscriptions)
            .where(*this_subscription)
            .values(failure_count=s.failure_count + 1, last_delivery_at=now)
        )
        self.failures = compile_(sa.select(s.failure_count).where(*this_subscription))
        self.disable = compile_(
            sa.update(subscriptions)
            .where(*this_subscription, s.disabled_at == "")
            .values(disabled_at=now)
        )
        self.drop_pending = compile_(
            sa.update(deliveries)
            .where(*pending)
            .values(state=DROPPED, next_attempt_at="", leased_until="", updated=now)
        )
        self.revive = compile_(
            sa.update(deliveries)
            .where(*this_delivery, d.state == DEAD)
            .values(state=PENDING, attempts=0, next_attempt_at=now, leased_until="", updated=now)
            .returning(d.webhook_id)
        )
        self.sweep = compile_(
            sa.delete(webhook_attempts).where(webhook_attempts.c.created < sa.bindparam("before"))
        )
