"""The delivery queue in the database: claiming what is due, lane by lane, and recording results.

Everybody who needs both locks a lane before the deliveries in it, and several lanes in the order
of their ids: so a writer, a claim and a recording can't wait for each other in a ring.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from masthead import clock, ids
from masthead.ids import TenantId
from masthead.storage.database import EVERY_TENANT, Database, Transaction
from masthead.webhooks.collection import DEAD, DELIVERED, PENDING
from masthead.webhooks.delivery_log import DeliveryLog
from masthead.webhooks.retention import Retention
from masthead.webhooks.statements import CLAIM_SIZES, DROPPED_AT_ONCE, QueueStatements

TELL_DISABLED = "webhooks.tell_disabled"
LEASE = timedelta(seconds=30)
"""What a dead worker held is tried again after it. Nothing is sent with less of it left than an
attempt may take, so two workers never have the same delivery under way."""


class Lane(NamedTuple):
    """A subscription's queue."""

    tenant_id: TenantId
    webhook_id: str


@dataclass(frozen=True, slots=True)
class Subscription:
    url: str
    secret: str
    """As stored: encrypted."""


@dataclass(frozen=True, slots=True)
class Delivery:
    lane: Lane
    leased_until: datetime
    id: str
    event_id: str
    event: str
    event_created: str
    payload: str
    """JSON text, the same bytes at every attempt."""
    attempts: int


@dataclass(frozen=True, slots=True)
class Result:
    """How an attempt ended, and what becomes of its delivery."""

    attempt_id: str
    delivery: Delivery
    number: int
    status: int
    duration_ms: int
    error: str
    answer: str
    at: datetime
    state: str
    next_attempt_at: datetime | None


class DeliveryQueue:
    def __init__(
        self, database: Database, tables: Mapping[str, sa.Table], *, lease: timedelta = LEASE
    ) -> None:
        self._database = database
        self._sql = QueueStatements(database, tables)
        self.log = DeliveryLog(database, tables, self._sql)
        self.retention = Retention(database, tables)
        self.lease = lease

    async def due_lanes(
        self, now: datetime, limit: int, without: Collection[str] = ()
    ) -> list[Lane]:
        """Those waiting longest first; `without` names subscriptions to pass by."""
        sql = self._sql.due_lanes
        passed_by = self._database.list_value(list(without))
        values = {"now": clock.to_text(now), "limit": limit, "without": passed_by}
        return _lanes(await self._database.fetch(EVERY_TENANT, sql, sql.bind(values)))

    async def ownerless_lanes(self, limit: int) -> list[Lane]:
        """Lanes whose subscription was deleted or disabled, whenever they are due."""
        sql = self._sql.ownerless_lanes
        return _lanes(await self._database.fetch(EVERY_TENANT, sql, sql.bind({"limit": limit})))

    async def subscriptions(self, lanes: Collection[Lane]) -> dict[Lane, Subscription]:
        """Those that are there and not disabled."""
        sql = self._sql.subscriptions
        wanted = self._database.list_value([lane.webhook_id for lane in lanes])
        rows = await self._database.fetch(EVERY_TENANT, sql, sql.bind({"ids": wanted}))
        return {
            Lane(TenantId(tenant_id), webhook_id): Subscription(url, secret)
            for tenant_id, webhook_id, url, secret in rows
        }

    async def claim(self, wanted: Mapping[Lane, int], now: datetime) -> dict[Lane, list[Delivery]]:
        """Leases up to so many due deliveries of each lane, and moves the lanes to the moment when
        they are to be looked at again. A lane that somebody else holds is left out."""
        moment = clock.to_text(now)
        async with self._database.transaction(EVERY_TENANT) as tx:
            # PostgreSQL takes a tenant and its webhook for independent, so expects a handful of
            # rows where there are thousands, and would read and sort them all.
            await tx.avoid_sorting()
            held = await self._held(tx, wanted)
            leases = await self._leases(tx, held)
            looks = {
                lane: await self._look(tx, lane, leases[lane], wanted[lane], now) for lane in held
            }
            await self._write_leases(tx, leases, looks, moment)
            await self._move_lanes(tx, looks, moment)
        return {lane: look.claimed for lane, look in looks.items()}

    async def postpone(self, lane: Lane, until: datetime) -> None:
        sql = self._sql.set_lane
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(sql, sql.bind({**_key(lane), "due": clock.to_text(until)}))

    async def release(self, deliveries: Sequence[Delivery], now: datetime) -> None:
        """Gives back what was claimed and not sent; another worker may take it at once."""
        if not deliveries:
            return
        moment = clock.to_text(now)
        async with self._database.transaction(EVERY_TENANT) as tx:
            await self._open_lanes(tx, {delivery.lane: moment for delivery in deliveries})
            await self._end_leases(tx, deliveries)

    async def drop(self, lane: Lane, now: datetime) -> bool:
        """The subscription is gone or disabled: drops some of what it has pending, and closes the
        lane when that was the last. True: there may be more."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            if not await self._held(tx, [lane]):
                return True
            if await self._drop_some(tx, lane, now) == DROPPED_AT_ONCE:
                return True
            await self._close_lane(tx, lane)
            # Whoever still sends one of them ends no lease, and that is all.
            await self._forget_leases(tx, lane, clock.to_text(now + self.lease))
        return False

    async def record(
        self, results: Sequence[Result], disable_after: int | None = None
    ) -> set[Lane]:
        """Writes what became of some attempts, all of them in one commit; returns the lanes whose
        subscription is disabled by it.

        `disable_after`: so many exhausted deliveries in a row disable a subscription.
        """
        async with self._database.transaction(EVERY_TENANT) as tx:
            await self._open_lanes(tx, _due_again(results))
            await self._write_attempts(tx, results)
            await self._end_leases(tx, [result.delivery for result in results])
            disabled = set()
            for lane, outcome in sorted(_outcomes(results).items()):
                if await self._count(tx, lane, outcome, disable_after):
                    await self._drop_some(tx, lane, outcome.at)
                    disabled.add(lane)
        return disabled

    async def sweep(self, now: datetime) -> None:
        """Removes what has been kept for its time."""
        await self.retention.sweep(now)

    async def _held(self, tx: Transaction, lanes: Collection[Lane]) -> list[Lane]:
        """Locks the lanes' rows. Whoever holds one decides alone; others pass it by."""
        sql = self._sql.hold_lanes
        rows = await tx.fetch(sql, sql.bind(self._lists(lanes)))
        return [lane for lane in _lanes(rows) if lane in lanes]

    def _lists(self, lanes: Collection[Lane]) -> dict[str, Any]:
        return {
            "tenants": self._database.list_value(list({lane.tenant_id for lane in lanes})),
            "webhooks": self._database.list_value([lane.webhook_id for lane in lanes]),
        }

    async def _leases(self, tx: Transaction, lanes: Collection[Lane]) -> dict[Lane, _Leases]:
        sql, found = self._sql.leases, {lane: _Leases() for lane in lanes}
        rows = await tx.fetch(sql, sql.bind(self._lists(lanes)))
        for tenant_id, webhook_id, delivery_id, until in rows:
            lane = Lane(TenantId(tenant_id), webhook_id)
            if lane in found:
                found[lane][delivery_id] = until
        return found

    async def _look(
        self, tx: Transaction, lane: Lane, leases: _Leases, limit: int, now: datetime
    ) -> _Look:
        moment = clock.to_text(now)
        held = {each: until for each, until in leases.items() if until > moment}
        values = {**_key(lane), "held": self._database.list_value(list(held))}
        limit = min(limit, CLAIM_SIZES[-1] - 1)
        size = min(size for size in CLAIM_SIZES if size > limit)
        sql = self._sql.due[size]
        rows = await tx.fetch(sql, sql.bind(values))
        due = [row for row in rows if row[0] <= moment][:limit]
        following = [row[0] for row in rows[len(due) : len(due) + 1]]
        look = _Look([], [*following, *held.values()])
        if due:
            until, sql = now + self.lease, self._sql.found[size]
            values |= {"last_due": due[-1][0], "last_id": due[-1][1]}
            found = await tx.fetch(sql, sql.bind(values))
            look.claimed.extend(Delivery(lane, until, *row) for row in found)
            look.times.append(clock.to_text(until))
        return look

    async def _write_leases(
        self,
        tx: Transaction,
        before: Mapping[Lane, _Leases],
        looks: Mapping[Lane, _Look],
        moment: str,
    ) -> None:
        sql = self._sql
        for lane, leases in before.items():
            # Somebody died, or was too slow.
            if any(until <= moment for until in leases.values()):
                await self._forget_leases(tx, lane, moment)
        rows = [
            sql.lease.bind(
                {
                    "tenant_id": lane.tenant_id,
                    "webhook_id": lane.webhook_id,
                    "delivery_id": each.id,
                    "until": clock.to_text(each.leased_until),
                }
            )
            for lane, look in looks.items()
            for each in look.claimed
        ]
        if rows:
            await tx.execute_many(sql.lease, rows)

    async def _move_lanes(self, tx: Transaction, looks: Mapping[Lane, _Look], moment: str) -> None:
        """To the back of the line if more is due; else to the next moment something may be: a
        retry's time, or the end of a lease whose holder may have died."""
        sql, rows = self._sql.set_lane, []
        for lane, look in looks.items():
            if look.times:
                rows.append(sql.bind({**_key(lane), "due": max(min(look.times), moment)}))
            else:
                await self._close_lane(tx, lane)
        if rows:
            await tx.execute_many(sql, rows)

    async def _close_lane(self, tx: Transaction, lane: Lane) -> None:
        await tx.execute(self._sql.close_lane, self._sql.close_lane.bind(_key(lane)))

    async def _forget_leases(self, tx: Transaction, lane: Lane, moment: str) -> None:
        sql = self._sql.forget_leases
        await tx.execute(sql, sql.bind({**_key(lane), "now": moment}))

    async def _end_leases(self, tx: Transaction, deliveries: Iterable[Delivery]) -> None:
        """Unless another worker has taken over in the meantime."""
        sql = self._sql.end_lease
        rows = [
            sql.bind(
                {
                    **_key(each.lane),
                    "id_": each.id,
                    "held": clock.to_text(each.leased_until),
                }
            )
            for each in deliveries
        ]
        await tx.execute_many(sql, rows)

    async def _open_lanes(self, tx: Transaction, due: Mapping[Lane, str]) -> None:
        sql = self._sql.open_lane
        rows = [
            sql.bind({"tenant_id": lane.tenant_id, "webhook_id": lane.webhook_id, "due_at": due_at})
            for lane, due_at in sorted(due.items(), key=lambda each: each[0].webhook_id)
        ]
        if rows:
            await tx.execute_many(sql, rows)

    async def _write_attempts(self, tx: Transaction, results: Sequence[Result]) -> None:
        sql = self._sql
        await tx.execute_many(sql.attempt, [sql.attempt.bind(_attempt(each)) for each in results])
        delivered = [_end(each) for each in results if each.state == DELIVERED]
        failed = [_end(each) for each in results if each.state != DELIVERED]
        if delivered:
            rows = [sql.delivered.bind(values) for values in _in_order(delivered)]
            await tx.execute_many(sql.delivered, rows)
        if failed:
            await tx.execute_many(
                sql.failed, [sql.failed.bind(values) for values in _in_order(failed)]
            )

    async def _count(
        self, tx: Transaction, lane: Lane, outcome: _Outcome, disable_after: int | None
    ) -> bool:
        """Keeps the subscription's count of failures; True when that disables it."""
        sql = self._sql
        values = {
            **_key(lane),
            "failures": outcome.failures,
            "now": clock.to_text(outcome.at),
            "threshold": disable_after,
        }
        count = sql.count_anew if outcome.has_success else sql.count_on
        await tx.execute(count, count.bind(values))
        if disable_after is None or not outcome.failures:
            return False
        if not await tx.execute(sql.disable, sql.disable.bind(values)):
            return False
        await tx.execute(sql.enqueue, sql.enqueue.bind(_notice(lane, values["now"])))
        return True

    async def _drop_some(self, tx: Transaction, lane: Lane, now: datetime) -> int:
        sql = self._sql.drop_some
        values = {**_key(lane), "now": clock.to_text(now)}
        return await tx.execute(sql, sql.bind(values), slow=True)


_Leases = dict[str, str]
"""When the leases of a lane's deliveries end, by the deliveries' ids."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What was found in a lane by whoever holds it."""

    claimed: list[Delivery]
    times: list[str]
    """When to look again is the earliest: when the next one is due, and the ends of leases."""


@dataclass(slots=True)
class _Outcome:
    """What some results, in their order, mean for the subscription: `failure_count` is the number
    of consecutive exhausted deliveries, and any success starts it over (spec 3.4 as decided);
    `last_delivery_at` is the time of the last attempt, whatever came of it."""

    at: datetime
    failures: int = 0
    has_success: bool = False


def _outcomes(results: Iterable[Result]) -> dict[Lane, _Outcome]:
    outcomes: dict[Lane, _Outcome] = {}
    for result in results:
        outcome = outcomes.setdefault(result.delivery.lane, _Outcome(result.at))
        outcome.at = result.at
        if result.state == DELIVERED:
            outcome.has_success, outcome.failures = True, 0
        elif result.state == DEAD:
            outcome.failures += 1
    return outcomes


def _due_again(results: Iterable[Result]) -> dict[Lane, str]:
    """When each lane is to be looked at: for its next retry, or at once where an exhausted delivery
    may disable the subscription, so that the rest of its lane is dropped."""
    due: dict[Lane, str] = {}
    for result in results:
        if result.state in (PENDING, DEAD):
            moment = clock.to_text(result.next_attempt_at or result.at)
            lane = result.delivery.lane
            due[lane] = min(due.get(lane, moment), moment)
    return due


def _notice(lane: Lane, now: str) -> dict[str, Any]:
    """The job that tells the owner that a subscription was disabled."""
    return {
        "tenant_id": lane.tenant_id,
        "id": ids.new_id(),
        "kind": TELL_DISABLED,
        "payload": msgspec.json.encode({"webhook_id": lane.webhook_id}).decode(),
        "run_at": now,
        "attempts": 0,
        "leased_until": "",
        "failed_at": "",
        "error": "",
        "created": now,
    }


def _attempt(result: Result) -> dict[str, Any]:
    return {
        "tenant_id": result.delivery.lane.tenant_id,
        "id": result.attempt_id,
        "delivery_id": result.delivery.id,
        "number": result.number,
        "status": result.status,
        "duration_ms": result.duration_ms,
        "error": result.error,
        "answer": result.answer,
        "created": clock.to_text(result.at),
    }


def _end(result: Result) -> dict[str, Any]:
    again = result.next_attempt_at
    return {
        "tenant": result.delivery.lane.tenant_id,
        "id_": result.delivery.id,
        "new_state": result.state,
        "number": result.number,
        "status": result.status or None,
        "again": clock.to_text(again) if again else "",
        "now": clock.to_text(result.at),
    }


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: str(row["id_"]))


def _lanes(rows: Iterable[Sequence[Any]]) -> list[Lane]:
    return [Lane(TenantId(tenant_id), webhook_id) for tenant_id, webhook_id in rows]


def _key(lane: Lane) -> dict[str, Any]:
    return {"tenant": lane.tenant_id, "webhook": lane.webhook_id}
