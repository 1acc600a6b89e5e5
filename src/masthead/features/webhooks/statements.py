"""The statements of the delivery queue and its log, compiled once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from masthead.engine.events.outbox import events
from masthead.engine.jobs.tables import jobs
from masthead.features.webhooks.collection import (
    DEAD,
    DELIVERED,
    DROPPED,
    PENDING,
    webhook_deliveries,
    webhook_subscriptions,
)
from masthead.features.webhooks.tables import webhook_attempts, webhook_lanes, webhook_leases
from masthead.identity.tenants import tenants
from masthead.storage import dialects
from masthead.storage.database import Database
from masthead.storage.dialects import not_empty

_tenant: Any = sa.bindparam("tenant")
_webhook: Any = sa.bindparam("webhook")
_now: Any = sa.bindparam("now")
_limit: Any = sa.bindparam("limit")

DROP_BATCH = 1_000
MAX_LATELY_DEAD = 100
"""More are not counted."""
CLAIM_SIZES = (2, 3, 5, 9, 17, 33, 65, 129, 257)
"""A claim uses the smallest of these that is enough."""


def _at_most(count: int) -> sa.ColumnElement[int]:
    """A limit as a literal: for a parameter PostgreSQL plans to fetch a tenth of the table, and
    then sorts a million rows to return thirty."""
    return sa.literal_column(str(count))


class QueueStatements:
    def __init__(self, database: Database, tables: Mapping[str, sa.Table]) -> None:
        self._compile = database.compile
        self._deliveries = tables[webhook_deliveries.name]
        self._subscriptions = tables[webhook_subscriptions.name]
        self._tenants = tables[tenants.name]
        self._lanes()
        self._leases()
        self._claims()
        self._results()
        self._counts()
        self._log()

    def _lanes(self) -> None:
        lanes, s = webhook_lanes, self._subscriptions.c
        keys = ("tenant_id", "webhook_id")
        this = (lanes.c.tenant_id == _tenant, lanes.c.webhook_id == _webhook)
        self.due_queues = self._compile(
            sa.select(lanes.c.tenant_id, lanes.c.webhook_id)
            .where(
                lanes.c.due_at <= _now,
                sa.not_(dialects.any_of(lanes.c.webhook_id, sa.bindparam("without"))),
            )
            .order_by(lanes.c.due_at)
            .limit(_limit)
        )
        self.orphaned_queues = self._compile(
            sa.select(lanes.c.tenant_id, lanes.c.webhook_id)
            .outerjoin(
                self._subscriptions,
                sa.and_(s.tenant_id == lanes.c.tenant_id, s.id == lanes.c.webhook_id),
            )
            .where(sa.or_(s.id.is_(None), s.disabled_at != ""))
            .limit(_limit)
        )
        self.lock_queues = self._compile(
            sa.select(lanes.c.tenant_id, lanes.c.webhook_id, lanes.c.spent_until)
            .where(
                dialects.any_of(lanes.c.tenant_id, sa.bindparam("tenants")),
                dialects.any_of(lanes.c.webhook_id, sa.bindparam("webhooks")),
            )
            .with_for_update(skip_locked=True)
        )
        self.set_due = self._compile(
            sa.update(lanes).where(*this).values(due_at=sa.bindparam("due"))
        )
        self.pace = self._compile(
            sa.update(lanes)
            .where(*this)
            .values(due_at=sa.bindparam("due"), spent_until=sa.bindparam("spent"))
        )
        self.open_queue = self._compile(dialects.upsert_least(lanes, keys, "due_at"))
        self.close_queue = self._compile(sa.delete(lanes).where(*this))

    def _leases(self) -> None:
        t = webhook_leases.c
        key = (t.webhook_id == _webhook, t.tenant_id == _tenant)
        self.leases = self._compile(
            sa.select(t.tenant_id, t.webhook_id, t.delivery_id, t.until).where(
                dialects.any_of(t.webhook_id, sa.bindparam("webhooks")),
                dialects.any_of(dialects.without_index(t.tenant_id), sa.bindparam("tenants")),
            )
        )
        self.lease = self._compile(
            sa.insert(webhook_leases).values({c.name: sa.bindparam(c.name) for c in t})
        )
        self.end_lease = self._compile(
            sa.delete(webhook_leases).where(
                *key, t.delivery_id == sa.bindparam("id_"), t.until == sa.bindparam("held")
            )
        )
        self.delete_leases = self._compile(sa.delete(webhook_leases).where(*key, t.until <= _now))

    def _claims(self) -> None:
        d, s, t = self._deliveries.c, self._subscriptions.c, self._tenants.c
        pending = (
            d.tenant_id == _tenant,
            d.webhook_id == _webhook,
            not_empty(d.next_attempt_at),
        )
        self.subscriptions = self._compile(
            sa.select(
                *(s.tenant_id, s.id, t.status, s.url, s.secret, s.headers),
                *(s.previous_secret, s.previous_secret_until, s.per_minute),
            )
            .join_from(self._subscriptions, self._tenants, t.id == s.tenant_id)
            .where(dialects.any_of(s.id, sa.bindparam("ids")), s.disabled_at == "")
        )
        free = (*pending, sa.not_(dialects.any_of(d.id, sa.bindparam("held"))))
        order = (d.next_attempt_at, d.id)
        # One more than requested, due or not: it says when the queue is due again. Leased rows come
        # first and are at most a few hundred, so the cost does not depend on the queue's length.
        due = sa.select(*order).where(*free).order_by(*order)
        self.due = {size: self._compile(due.limit(_at_most(size))) for size in CLAIM_SIZES}
        # One index holds all columns that these two read of a delivery.
        same_event = sa.and_(events.c.tenant_id == d.tenant_id, events.c.id == d.event_id)
        found = (
            sa.select(
                d.id, d.event_id, events.c.name, events.c.created, events.c.payload, d.attempts
            )
            .select_from(dialects.ordered_join(self._deliveries, events, same_event))
            .where(
                *free,
                sa.tuple_(*order) <= sa.tuple_(sa.bindparam("last_due"), sa.bindparam("last_id")),
            )
            .order_by(*order)
        )
        self.found = {size: self._compile(found.limit(_at_most(size))) for size in CLAIM_SIZES}
        some = sa.select(d.id).where(*pending).limit(_at_most(DROP_BATCH))
        self.drop_some = self._compile(
            sa.update(self._deliveries)
            .where(d.tenant_id == _tenant, d.id.in_(some))
            .values(state=DROPPED, next_attempt_at="", updated=_now)
        )

    def _results(self) -> None:
        d = self._deliveries.c
        this = (d.tenant_id == _tenant, d.id == sa.bindparam("id_"))
        made = {
            "attempts": sa.bindparam("number"),
            "last_status": sa.bindparam("status"),
            "updated": _now,
        }
        columns = [column.name for column in webhook_attempts.c]
        keys = ("tenant_id", "id")
        a = webhook_attempts.c
        self.lock_deliveries = self._compile(
            sa.select(d.id)
            .where(
                dialects.any_of(d.tenant_id, sa.bindparam("tenants")),
                dialects.any_of(d.id, sa.bindparam("deliveries")),
            )
            .order_by(d.id)
            .with_for_update(key_share=True)
        )
        self.recorded = self._compile(
            sa.select(a.id).where(
                dialects.any_of(a.tenant_id, sa.bindparam("tenants")),
                dialects.any_of(a.id, sa.bindparam("ids")),
            )
        )
        # A commit that was not confirmed may end while its results are recorded again.
        self.attempt = self._compile(
            dialects.insert_missing(
                webhook_attempts, keys, [name for name in columns if name not in keys]
            )
        )
        self.delivered = self._compile(
            sa.update(self._deliveries)
            .where(*this)
            .values(state=DELIVERED, next_attempt_at="", **made)
        )
        # Deliveries that were dropped, or delivered by another worker, keep their state.
        self.failed = self._compile(
            sa.update(self._deliveries)
            .where(*this, d.state == PENDING)
            .values(state=sa.bindparam("new_state"), next_attempt_at=sa.bindparam("again"), **made)
        )

    def _counts(self) -> None:
        s = self._subscriptions.c
        this = (s.tenant_id == _tenant, s.id == _webhook)
        change = sa.update(self._subscriptions).where(*this)
        last = {"last_delivery_at": _now, "last_status": sa.bindparam("status")}
        self.reset_count = self._compile(
            change.values(failure_count=sa.bindparam("failures"), **last)
        )
        self.add_to_count = self._compile(
            change.values(
                failure_count=s.failure_count + sa.bindparam("failures", type_=sa.BigInteger()),
                **last,
            )
        )
        self.enqueue = self._compile(sa.insert(jobs))
        self.forget_secrets = self._compile(
            sa.update(self._subscriptions)
            .where(s.previous_secret != "", s.previous_secret_until <= _now)
            .values(previous_secret="")
        )
        self.disable = self._compile(
            change.where(
                s.disabled_at == "",
                s.failure_count >= sa.bindparam("threshold", type_=sa.BigInteger()),
            ).values(disabled_at=_now, paused=sa.false())
        )

    def _log(self) -> None:
        d, a = self._deliveries.c, webhook_attempts.c
        self.requeue = self._compile(
            sa.update(self._deliveries)
            .where(
                d.tenant_id == _tenant,
                dialects.any_of(d.id, sa.bindparam("ids")),
                d.state == DEAD,
                d.updated <= sa.bindparam("until"),
            )
            .values(state=PENDING, attempts=0, next_attempt_at=_now, updated=_now)
        )
        lately_dead = sa.select(d.id).where(
            d.tenant_id == _tenant, d.state == DEAD, d.created >= sa.bindparam("since")
        )
        counted = lately_dead.limit(_at_most(MAX_LATELY_DEAD)).subquery()
        self.count_lately_dead = self._compile(sa.select(sa.func.count()).select_from(counted))
        columns = (
            *(a.number, a.status, a.duration_ms, a.error, a.answer, a.created),
            *(a.url, a.signed_at, a.signature, a.standard_signature),
        )
        order = (a.created, a.number)
        self.attempts = self._compile(
            sa.select(*columns)
            .where(a.tenant_id == _tenant, a.delivery_id == sa.bindparam("delivery"))
            .order_by(*order)
        )
        self.attempts_of = self._compile(
            sa.select(a.delivery_id, *columns)
            .where(
                a.tenant_id == _tenant, dialects.any_of(a.delivery_id, sa.bindparam("deliveries"))
            )
            .order_by(*order)
        )
