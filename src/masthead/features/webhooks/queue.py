"""The delivery queue in the database: one queue per subscription, claiming due deliveries and
recording results.

Every transaction locks a queue's row before its deliveries, and several queues in the order of
their ids, so that writers, claims and recordings can't deadlock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.engine.jobs.tables import new_job
from masthead.engine.records.derived.daily_counts import DailyCounts
from masthead.features.webhooks.collection import DELIVERED
from masthead.features.webhooks.delivery_log import DeliveryLog
from masthead.features.webhooks.results import (
    Delivery,
    Outcome,
    QueueKey,
    Result,
    Subscription,
    attempt_of,
    end_of,
    next_due,
    outcomes_of,
    tallies_of,
)
from masthead.features.webhooks.retention import Retention
from masthead.features.webhooks.schedule import Pace
from masthead.features.webhooks.statements import CLAIM_SIZES, DROP_BATCH, QueueStatements
from masthead.identity.tenants import TenantStatus
from masthead.storage.database import EVERY_TENANT, Database, Transaction

NOTIFY_DISABLED = "webhooks.tell_disabled"
_NO_PACES: Mapping[QueueKey, Pace] = {}
_ROUNDING = timedelta(microseconds=999)
"""Stored moments have milliseconds."""
LEASE = timedelta(seconds=30)
"""After it another worker may claim the delivery. Nothing is sent with less of it left than an
attempt may take, so two workers never send the same delivery at the same time."""


class DeliveryQueue:
    """Compiles its statements when they are first needed: most commands send nothing."""

    def __init__(
        self, database: Database, tables: Mapping[str, sa.Table], *, lease: timedelta = LEASE
    ) -> None:
        self._database = database
        self._tables = tables
        self.lease = lease

    @cached_property
    def _sql(self) -> QueueStatements:
        return QueueStatements(self._database, self._tables)

    @cached_property
    def _daily(self) -> DailyCounts:
        return DailyCounts(self._database)

    @cached_property
    def log(self) -> DeliveryLog:
        return DeliveryLog(self._database, self._tables, self._sql)

    @cached_property
    def retention(self) -> Retention:
        return Retention(self._database, self._tables)

    async def due_queues(
        self, now: datetime, limit: int, excluding: Collection[str] = ()
    ) -> list[QueueKey]:
        """Longest waiting first, without the subscriptions in `excluding`."""
        excluded = self._database.list_value(list(excluding))
        values = {"now": clock.to_text(now), "limit": limit, "without": excluded}
        return _queue_keys(await self._database.fetch(EVERY_TENANT, *self._sql.due_queues(values)))

    async def orphaned_queues(self, limit: int) -> list[QueueKey]:
        """Queues whose subscription was deleted or disabled, due or not."""
        sql = self._sql.orphaned_queues
        return _queue_keys(await self._database.fetch(EVERY_TENANT, *sql({"limit": limit})))

    async def subscriptions(self, keys: Collection[QueueKey]) -> dict[QueueKey, Subscription]:
        """Only existing ones that are not disabled."""
        wanted = self._database.list_value([key.webhook_id for key in keys])
        rows = await self._database.fetch(EVERY_TENANT, *self._sql.subscriptions({"ids": wanted}))
        return {
            QueueKey(TenantId(tenant_id), webhook_id): Subscription(
                status == TenantStatus.SUSPENDED, *values
            )
            for tenant_id, webhook_id, status, *values in rows
        }

    async def claim(
        self,
        wanted: Mapping[QueueKey, int],
        now: datetime,
        paces: Mapping[QueueKey, Pace] = _NO_PACES,
    ) -> dict[QueueKey, list[Delivery]]:
        """Leases up to so many due deliveries of each queue, and sets the time when the queue is
        due again. A queue that another transaction has locked is skipped. `paces`: of the queues
        that have one, of which all workers claim no more than it allows."""
        moment = clock.to_text(now)
        async with self._database.transaction(EVERY_TENANT) as tx:
            # PostgreSQL assumes that tenant and webhook are independent, so it expects few rows
            # where there are thousands, and would read and sort them all.
            await tx.avoid_sorting()
            held = await self._lock(tx, wanted)
            leases = await self._leases(tx, held)
            claims = {
                key: await self._claim_due(
                    tx, key, leases[key], _allowed(wanted[key], paces.get(key), spent, now), now=now
                )
                for key, spent in held.items()
            }
            await self._write_leases(tx, leases, claims, moment)
            plain = {key: claim for key, claim in claims.items() if key not in paces}
            await self._set_due(tx, plain, moment)
            for key in claims.keys() - plain.keys():
                await self._set_paced(
                    tx, key, claims[key], pace=paces[key], spent=held[key], now=now
                )
        return {key: claim.claimed for key, claim in claims.items()}

    async def postpone(self, key: QueueKey, until: datetime) -> None:
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(*self._sql.set_due({**_key(key), "due": clock.to_text(until)}))

    async def release(self, deliveries: Sequence[Delivery], now: datetime) -> None:
        """Ends the leases of unsent deliveries; another worker may claim them at once."""
        if not deliveries:
            return
        moment = clock.to_text(now)
        async with self._database.transaction(EVERY_TENANT) as tx:
            await self._open_queues(tx, {delivery.queue_key: moment for delivery in deliveries})
            await self._end_leases(tx, deliveries)

    async def drop(self, key: QueueKey, now: datetime) -> bool:
        """Drops a batch of the pending deliveries of a deleted or disabled subscription, and closes
        the queue after the last batch. True if there may be more."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            if not await self._lock(tx, [key]):
                return True
            if await self._drop_some(tx, key, now) == DROP_BATCH:
                return True
            await self._close_queue(tx, key)
            # A worker that still sends one of them finds no lease to end, which does no harm.
            await self._delete_leases(tx, key, clock.to_text(now + self.lease))
        return False

    async def record(
        self,
        results: Sequence[Result],
        disable_after: int | None = None,
        *,
        is_repeated: bool = False,
    ) -> set[QueueKey]:
        """Writes the results of attempts in one commit; returns the queues whose subscription is
        disabled by them.

        `disable_after`: so many exhausted deliveries in a row disable a subscription.
        `is_repeated`: the database may have committed these results without confirming it.
        """
        async with self._database.transaction(EVERY_TENANT) as tx:
            await self._open_queues(tx, next_due(results))
            if is_repeated:
                results = await self._not_recorded(tx, results)
            await self._write_attempts(tx, results)
            await self._end_leases(tx, [result.delivery for result in results])
            disabled = set()
            for key, outcome in sorted(outcomes_of(results).items()):
                if await self._count(tx, key, outcome, disable_after):
                    await self._drop_some(tx, key, outcome.at)
                    disabled.add(key)
            tx.defer(self._daily.deferral(tallies_of(results)))
        return disabled

    async def _not_recorded(self, tx: Transaction, results: Sequence[Result]) -> list[Result]:
        """Failures and deliveries of a day are counted once."""
        tenants = {each.delivery.queue_key.tenant_id for each in results}
        values = {
            "tenants": self._database.list_value(sorted(tenants)),
            "ids": self._database.list_value([each.attempt_id for each in results]),
            "deliveries": self._database.list_value([each.delivery.id for each in results]),
        }
        # The earlier commit may not have ended yet: then it has locked its deliveries.
        await tx.fetch(*self._sql.lock_deliveries(values))
        recorded = {attempt_id for (attempt_id,) in await tx.fetch(*self._sql.recorded(values))}
        return [each for each in results if each.attempt_id not in recorded]

    async def sweep(self, now: datetime) -> None:
        """Deletes rows whose retention has ended, and previous secrets that sign no more."""
        await self.retention.sweep(now)
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(*self._sql.forget_secrets({"now": clock.to_text(now)}))

    async def _lock(self, tx: Transaction, keys: Collection[QueueKey]) -> dict[QueueKey, str]:
        """Locks the queues' rows and returns those that no other transaction has locked, and until
        when the pace of each is spent."""
        rows = await tx.fetch(*self._sql.lock_queues(self._lists(keys)))
        locked = {QueueKey(TenantId(row[0]), row[1]): row[2] for row in rows}
        return {key: spent for key, spent in locked.items() if key in keys}

    def _lists(self, keys: Collection[QueueKey]) -> dict[str, Any]:
        return {
            "tenants": self._database.list_value(list({key.tenant_id for key in keys})),
            "webhooks": self._database.list_value([key.webhook_id for key in keys]),
        }

    async def _leases(self, tx: Transaction, keys: Collection[QueueKey]) -> dict[QueueKey, _Leases]:
        sql, found = self._sql.leases, {key: _Leases() for key in keys}
        rows = await tx.fetch(*sql(self._lists(keys)))
        for tenant_id, webhook_id, delivery_id, until in rows:
            key = QueueKey(TenantId(tenant_id), webhook_id)
            if key in found:
                found[key][delivery_id] = until
        return found

    async def _claim_due(
        self, tx: Transaction, key: QueueKey, leases: _Leases, limit: int, *, now: datetime
    ) -> _Claim:
        moment = clock.to_text(now)
        held = {each: until for each, until in leases.items() if until > moment}
        values = {**_key(key), "held": self._database.list_value(list(held))}
        limit = min(limit, CLAIM_SIZES[-1] - 1)
        size = min(size for size in CLAIM_SIZES if size > limit)
        sql = self._sql.due[size]
        rows = [_Waiting(*row) for row in await tx.fetch(*sql(values))]
        due = [each for each in rows if each.due_at <= moment][:limit]
        following = [each.due_at for each in rows[len(due) : len(due) + 1]]
        claim = _Claim([], [*following, *held.values()])
        if due:
            until, sql = now + self.lease, self._sql.found[size]
            values |= {"last_due": due[-1].due_at, "last_id": due[-1].id}
            found = await tx.fetch(*sql(values))
            claim.claimed.extend(Delivery(key, until, *row) for row in found)
            claim.next_times.append(clock.to_text(until))
        return claim

    async def _write_leases(
        self,
        tx: Transaction,
        before: Mapping[QueueKey, _Leases],
        claims: Mapping[QueueKey, _Claim],
        moment: str,
    ) -> None:
        sql = self._sql
        for key, leases in before.items():
            # A worker died or was too slow.
            if any(until <= moment for until in leases.values()):
                await self._delete_leases(tx, key, moment)
        rows = [
            sql.lease.bind(
                {
                    "tenant_id": key.tenant_id,
                    "webhook_id": key.webhook_id,
                    "delivery_id": each.id,
                    "until": clock.to_text(each.leased_until),
                }
            )
            for key, claim in claims.items()
            for each in claim.claimed
        ]
        if rows:
            await tx.execute_many(sql.lease, rows)

    async def _set_due(
        self, tx: Transaction, claims: Mapping[QueueKey, _Claim], moment: str
    ) -> None:
        """Now if more is due; else the next retry, or the end of a lease whose worker may have
        died."""
        sql, rows = self._sql.set_due, []
        for key, claim in claims.items():
            if claim.next_times:
                rows.append(sql.bind({**_key(key), "due": max(min(claim.next_times), moment)}))
            else:
                await self._close_queue(tx, key)
        if rows:
            await tx.execute_many(sql, rows)

    async def _set_paced(
        self,
        tx: Transaction,
        key: QueueKey,
        claim: _Claim,
        *,
        pace: Pace,
        spent: str,
        now: datetime,
    ) -> None:
        """The queue stays open until its pace is no longer spent: a closed one would forget it."""
        spent_until = pace.spend(_moment(spent, now), now, len(claim.claimed))
        if not claim.next_times and spent_until <= now:
            await self._close_queue(tx, key)
            return
        next_at = pace.next_at(spent_until) if claim.next_times else spent_until
        due = max(clock.to_text(max(next_at, now)), min(claim.next_times, default=""))
        spent_text = clock.to_text(spent_until + _ROUNDING)
        await tx.execute(*self._sql.pace({**_key(key), "due": due, "spent": spent_text}))

    async def _close_queue(self, tx: Transaction, key: QueueKey) -> None:
        await tx.execute(*self._sql.close_queue(_key(key)))

    async def _delete_leases(self, tx: Transaction, key: QueueKey, moment: str) -> None:
        await tx.execute(*self._sql.delete_leases({**_key(key), "now": moment}))

    async def _end_leases(self, tx: Transaction, deliveries: Iterable[Delivery]) -> None:
        """Unless another worker has claimed the delivery in the meantime."""
        sql = self._sql.end_lease
        rows = [
            sql.bind(
                {
                    **_key(each.queue_key),
                    "id_": each.id,
                    "held": clock.to_text(each.leased_until),
                }
            )
            for each in deliveries
        ]
        await tx.execute_many(sql, rows)

    async def _open_queues(self, tx: Transaction, due: Mapping[QueueKey, str]) -> None:
        sql = self._sql.open_queue
        rows = [
            sql.bind({"tenant_id": key.tenant_id, "webhook_id": key.webhook_id, "due_at": due_at})
            for key, due_at in sorted(due.items(), key=lambda each: each[0].webhook_id)
        ]
        if rows:
            await tx.execute_many(sql, rows)

    async def _write_attempts(self, tx: Transaction, results: Sequence[Result]) -> None:
        sql = self._sql
        await tx.execute_many(sql.attempt, [sql.attempt.bind(attempt_of(each)) for each in results])
        delivered = [end_of(each) for each in results if each.state == DELIVERED]
        failed = [end_of(each) for each in results if each.state != DELIVERED]
        if delivered:
            rows = [sql.delivered.bind(values) for values in _sorted_by_id(delivered)]
            await tx.execute_many(sql.delivered, rows)
        if failed:
            await tx.execute_many(
                sql.failed, [sql.failed.bind(values) for values in _sorted_by_id(failed)]
            )

    async def _count(
        self, tx: Transaction, key: QueueKey, outcome: Outcome, disable_after: int | None
    ) -> bool:
        """Updates the subscription's failure count; True if that disables it."""
        sql = self._sql
        values = {
            **_key(key),
            "failures": outcome.failures,
            "now": clock.to_text(outcome.at),
            "status": outcome.status or None,
            "threshold": disable_after,
        }
        count = sql.reset_count if outcome.has_success else sql.add_to_count
        await tx.execute(*count(values))
        if disable_after is None or not outcome.failures:
            return False
        if not await tx.execute(*sql.disable(values)):
            return False
        await tx.execute(*sql.enqueue(_notice(key, values["now"])))
        return True

    async def _drop_some(self, tx: Transaction, key: QueueKey, now: datetime) -> int:
        values = {**_key(key), "now": clock.to_text(now)}
        return await tx.execute(*self._sql.drop_some(values), slow=True)


def _allowed(wanted: int, pace: Pace | None, spent: str, now: datetime) -> int:
    return min(wanted, pace.allowance(_moment(spent, now), now)) if pace else wanted


def _moment(spent: str, now: datetime) -> datetime:
    return clock.from_text(spent) if spent else now


_Leases = dict[str, str]
"""The ends of the leases of a queue's deliveries, by delivery id."""


class _Waiting(NamedTuple):
    due_at: str
    id: str


class _Claim(msgspec.Struct, frozen=True):
    claimed: list[Delivery]
    next_times: list[str]
    """The queue is due again at the earliest: the next delivery's time, or the end of a lease."""


def _sorted_by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: str(row["id_"]))


def _queue_keys(rows: Iterable[Sequence[Any]]) -> list[QueueKey]:
    return [QueueKey(TenantId(tenant_id), webhook_id) for tenant_id, webhook_id in rows]


def _key(key: QueueKey) -> dict[str, Any]:
    return {"tenant": key.tenant_id, "webhook": key.webhook_id}


def _notice(key: QueueKey, now: str) -> dict[str, Any]:
    """The job that notifies the owner of a disabled subscription."""
    return new_job(key.tenant_id, NOTIFY_DISABLED, {"webhook_id": key.webhook_id}, now)
