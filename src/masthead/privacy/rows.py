"""Rows beside the records, spoken of in SQL: everything of a tenant, and what names a person.

Deletes in small batches, each a transaction of its own: whatever interrupts an erasure, it goes on
where it was, and nobody else's writes wait for long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from masthead.events.outbox import events
from masthead.ids import TenantId
from masthead.jobs.tables import jobs
from masthead.privacy.spellings import likely_spellings
from masthead.records.collection import Registry
from masthead.records.tables import record_counts
from masthead.records.write.unit import Unit
from masthead.storage import dialects
from masthead.storage.database import Database, Statement, Transaction, scope_of
from masthead.storage.metadata import metadata
from masthead.webhooks.tables import webhook_attempts

FEWEST_ROWS, MOST_ROWS = 4, 200
KEYS_AT_ONCE = 2_000
EVENTS_PER_LOOK = 500

KEPT_TO_THE_END = ("site_settings", "tenants", "_superusers", "tenant_states")
"""Gone in the last transaction: they say who owns the tenant and that it is read-only."""
FOLLOW = (
    "events",
    "listed_values",
    "search_queue",
    "search_documents",
    "record_counts",
    "tenant_states",
)
"""Events are looked through one by one; the others follow the records by themselves."""

_WILD, _ESCAPED = re.compile(r"([\\%_])"), r"\\\1"


@dataclass(frozen=True, slots=True)
class Batch:
    """One statement that changes a few rows of a table, to be repeated until there are none."""

    table: str
    statement: Statement
    removes: bool
    """False for letting go of a row's own kind first (a reply's parent)."""
    keys: Statement | None = None
    """Finds the rows beforehand, while others write; without it the statement finds its own."""


class TenantRows:
    """Every row of a tenant, found by the column that every table has."""

    def __init__(self, database: Database, *, erase_job: str) -> None:
        self._database = database
        self._erase_job = erase_job
        owned = [each for each in reversed(metadata.sorted_tables) if "tenant_id" in each.c]
        first = [each for each in owned if each.name not in KEPT_TO_THE_END]
        self.batches = [batch for table in first for batch in self._batches(table)]
        self._rest = [database.compile(self._all_of(each)) for each in first]
        by_name = {each.name: each for each in owned}
        self._last = [database.compile(self._all_of(by_name[name])) for name in KEPT_TO_THE_END]
        requests = by_name["gdpr_requests"]
        # Locked where rows can be: what is read here is written back in the same transaction.
        self._receipt = database.compile(
            sa.select(requests.c.receipt)
            .where(requests.c.tenant_id == sa.bindparam("t"), requests.c.id == sa.bindparam("keep"))
            .with_for_update()
        )
        self._note = database.compile(
            sa.update(requests)
            .where(requests.c.tenant_id == sa.bindparam("t"), requests.c.id == sa.bindparam("keep"))
            .values(receipt=sa.bindparam("new_receipt"))
        )
        self._complete = database.compile(
            sa.update(requests)
            .where(
                requests.c.tenant_id == sa.bindparam("t"),
                requests.c.id == sa.bindparam("keep"),
                requests.c.status == "queued",
            )
            .values(
                status="completed",
                completed_at=sa.bindparam("now"),
                receipt=sa.bindparam("new_receipt"),
                token_hash="",
                confirm_hash="",
                notify_email="",
            )
        )

    def _batches(self, table: sa.Table) -> list[Batch]:
        key = list(table.primary_key.columns)
        found = [
            Batch(table.name, self._database.compile(statement), removes=False)
            for statement in _let_go_of_own_kind(table, key)
        ]
        return [*found, self._removal(table, key)]

    def _removal(self, table: sa.Table, key: Sequence[sa.Column[Any]]) -> Batch:
        own_key = [column for column in key if column.name != "tenant_id"]
        compile_ = self._database.compile
        if len(own_key) != 1:
            # Neighbours in their own key, which begins with the tenant: found at no cost.
            some = sa.select(*key).where(*self._mine(table)).limit(sa.bindparam("most"))
            delete = sa.delete(table).where(_key_of(key).in_(some))
            return Batch(table.name, compile_(delete), removes=True)
        # In the order in which they were written, so that a step empties whole pages of the file
        # instead of changing one of many pages a little.
        (own,) = own_key
        order = table.c.created if "created" in table.c else own
        keys = sa.select(own).where(*self._mine(table)).order_by(order).limit(KEYS_AT_ONCE)
        delete = sa.delete(table).where(
            *self._mine(table), dialects.any_of(own, sa.bindparam("keys"))
        )
        return Batch(table.name, compile_(delete), removes=True, keys=compile_(keys))

    def _all_of(self, table: sa.Table) -> sa.Delete:
        return sa.delete(table).where(*self._mine(table))

    def _mine(self, table: sa.Table) -> list[sa.ColumnElement[bool]]:
        mine: list[sa.ColumnElement[bool]] = [table.c.tenant_id == sa.bindparam("t")]
        if table.name == "gdpr_requests":
            mine.append(table.c.id != sa.bindparam("keep"))
        if table is jobs:
            mine.append(_other_than_own(self._erase_job))
        return mine

    async def keys(self, batch: Batch, tenant_id: TenantId, keep: str) -> list[Any]:
        """Of the next rows; those of a batch that finds its own are not asked for."""
        assert batch.keys is not None
        bound = batch.keys.bind({"t": tenant_id, "keep": keep})
        rows = await self._database.fetch(scope_of(tenant_id), batch.keys, bound, slow=True)
        return [row[0] for row in rows]

    async def remove(
        self, tx: Transaction, batch: Batch, tenant_id: TenantId, keep: str, keys: Sequence[Any]
    ) -> int:
        listed = self._database.list_value(keys)
        bound = batch.statement.bind({"t": tenant_id, "keep": keep, "keys": listed})
        return await tx.execute(batch.statement, bound, slow=True)

    async def run(
        self, tx: Transaction, batch: Batch, tenant_id: TenantId, keep: str, most: int
    ) -> int:
        """A step of a batch that finds its own rows."""
        bound = batch.statement.bind({"t": tenant_id, "keep": keep, "most": most})
        return await tx.execute(batch.statement, bound, slow=True)

    async def receipt(self, tx: Transaction, tenant_id: TenantId, keep: str) -> str:
        """As it is stored now: a run that was cut off may have committed more than it knew."""
        rows = await tx.fetch(self._receipt, self._receipt.bind({"t": tenant_id, "keep": keep}))
        return str(rows[0][0]) if rows and rows[0][0] else "{}"

    async def note(self, tx: Transaction, tenant_id: TenantId, keep: str, receipt: str) -> None:
        values = {"t": tenant_id, "keep": keep, "new_receipt": receipt}
        await tx.execute(self._note, self._note.bind(values))

    async def finish(
        self, tx: Transaction, tenant_id: TenantId, keep: str, receipt: str, now: str
    ) -> bool:
        """What came in meanwhile, the tenant itself, and the state of the request; False when
        another worker has done that."""
        values = {"t": tenant_id, "keep": keep, "new_receipt": receipt, "now": now}
        # First: of two workers the second waits here, and then finds it done.
        if not await tx.execute(self._complete, self._complete.bind(values)):
            return False
        for statement in (*self._rest, *self._last):
            await tx.execute(statement, statement.bind(values), slow=True)
        return True


def _let_go_of_own_kind(table: sa.Table, key: Sequence[sa.Column[Any]]) -> list[sa.Update]:
    columns = {
        pair.parent.name
        for constraint in table.foreign_key_constraints
        if constraint.referred_table is table
        for pair in constraint.elements
        if pair.parent.name != "tenant_id"
    }
    return [
        sa.update(table)
        .where(
            _key_of(key).in_(
                sa.select(*key)
                .where(table.c.tenant_id == sa.bindparam("t"), table.c[name].is_not(None))
                .limit(sa.bindparam("most"))
            )
        )
        .values({name: None})
        for name in sorted(columns)
    ]


def _key_of(key: Sequence[sa.Column[Any]]) -> sa.ColumnElement[Any]:
    whole: sa.ColumnElement[Any] = sa.tuple_(*key)
    return key[0] if len(key) == 1 else whole


class PersonTraces:
    """What speaks of a person outside the records: events and their deliveries, answers kept for
    a repeat, waiting jobs and mails, and whatever else holds the address."""

    def __init__(self, database: Database, registry: Registry, *, erase_job: str) -> None:
        self._database = database
        e = events.c
        deliveries = metadata.tables["webhook_deliveries"]
        self._look = database.compile(
            sa.select(e.version, e.ordinal, e.id, e.record_id, e.payload)
            .where(
                e.tenant_id == sa.bindparam("t"),
                sa.tuple_(e.version, e.ordinal)
                > sa.tuple_(sa.bindparam("version"), sa.bindparam("ordinal")),
            )
            .order_by(e.version, e.ordinal)
            .limit(EVENTS_PER_LOOK)
        )
        wanted = dialects.any_of(deliveries.c.event_id, sa.bindparam("ids"))
        of_events = sa.select(deliveries.c.id).where(
            deliveries.c.tenant_id == sa.bindparam("t"), wanted
        )
        self._forget_events = [
            database.compile(each)
            for each in (
                sa.delete(webhook_attempts).where(
                    webhook_attempts.c.tenant_id == sa.bindparam("t"),
                    webhook_attempts.c.delivery_id.in_(of_events),
                ),
                sa.delete(deliveries).where(deliveries.c.tenant_id == sa.bindparam("t"), wanted),
                sa.delete(events).where(
                    e.tenant_id == sa.bindparam("t"), dialects.any_of(e.id, sa.bindparam("ids"))
                ),
            )
        ]
        # A counter's bucket is named by a value, a tag for instance, and outlives its last record.
        self._forget_totals = database.compile(
            sa.delete(record_counts).where(
                record_counts.c.tenant_id == sa.bindparam("t"), record_counts.c.total == 0
            )
        )
        self._forget_address = [
            database.compile(_holding(each, erase_job))
            for each in metadata.sorted_tables
            if registry.find(each.name) is None
            and each.name not in FOLLOW
            and "tenant_id" in each.c
        ]

    async def look(
        self, unit: Unit, after: tuple[int, int]
    ) -> list[tuple[int, int, str, str, str]]:
        """The next events: version, ordinal, id, record and payload as text."""
        values = {"t": unit.tenant_id, "version": after[0], "ordinal": after[1]}
        rows = await unit.fetch(self._look, values)
        return [(row[0], row[1], row[2], row[3], str(row[4])) for row in rows]

    async def forget_events(self, unit: Unit, event_ids: Sequence[str]) -> None:
        values = {"t": unit.tenant_id, "ids": self._database.list_value(event_ids)}
        for statement in self._forget_events:
            await unit.execute(statement, values)

    async def forget_address(self, unit: Unit, email: str, keep: str) -> int:
        """Rows of the service's own bookkeeping that hold the address anywhere."""
        removed = 0
        await unit.execute(self._forget_totals, {"t": unit.tenant_id})
        for spelled in likely_spellings(email) if email else ():
            pattern = f"%{_WILD.sub(_ESCAPED, spelled)}%"
            values = {"t": unit.tenant_id, "address": pattern, "keep": keep}
            for statement in self._forget_address:
                removed += await unit.execute(statement, values)
        return removed


def _holding(table: sa.Table, erase_job: str) -> sa.Delete:
    holds = [
        dialects.contains_text(sa.cast(column, sa.Text()), sa.bindparam("address"))
        for column in table.columns
        if isinstance(column.type, dialects.Text | dialects.Json) and column.name != "tenant_id"
    ]
    mine = [table.c.tenant_id == sa.bindparam("t"), sa.or_(*holds)]
    if table is jobs:
        mine.append(_other_than_own(erase_job))
    return sa.delete(table).where(*mine)


def _other_than_own(erase_job: str) -> sa.ColumnElement[bool]:
    """Not the job that erases: the runner removes it when it is done."""
    own = sa.literal("%").concat(sa.bindparam("keep")).concat("%")
    payload = sa.cast(jobs.c.payload, sa.Text())
    return sa.or_(jobs.c.kind != erase_job, payload.not_like(own))
