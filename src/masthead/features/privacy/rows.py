"""Deletes rows directly in SQL: all rows of a tenant, and rows that hold a person's address.

Small batches, each in its own transaction: an interrupted erasure continues where it was, and other
writes do not wait long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
import sqlalchemy as sa

from masthead.base.ids import TenantId
from masthead.engine.events.outbox import events
from masthead.engine.jobs.tables import jobs
from masthead.engine.records.registry import Registry
from masthead.engine.records.tables import record_counts
from masthead.engine.records.write.unit import Unit
from masthead.features.privacy.email_variants import common_variants
from masthead.features.webhooks.tables import webhook_attempts
from masthead.storage import dialects
from masthead.storage.database import Database, Statement, Transaction, scope_of
from masthead.storage.metadata import all_tables

MIN_ROWS, MAX_ROWS = 4, 200
KEY_PAGE = 2_000
EVENT_PAGE = 500

DELETED_LAST = ("site_settings", "tenants", "_superusers", "tenant_states")
"""Deleted in the last transaction: they hold the tenant's owner and its read-only mode."""
NOT_SEARCHED = (
    "events",
    "listed_values",
    "search_queue",
    "search_documents",
    "record_counts",
    "daily_counts",
    "tenant_states",
)
"""Events are searched one by one; the others are derived from the records."""

_WILD, _ESCAPED = re.compile(r"([\\%_])"), r"\\\1"


class Batch(msgspec.Struct, frozen=True):
    """A statement that changes a few rows of a table, repeated until none is left."""

    table: str
    statement: Statement
    removes: bool
    """False for clearing references between rows of the table (a reply's parent)."""
    keys: Statement | None = None
    """Finds the rows before the transaction; without it the statement finds its own."""


class TenantRows:
    """Every row of a tenant, by `tenant_id`.

    The first erasure compiles the statements: few processes do any, and there are hundreds.
    """

    def __init__(self, database: Database, *, erase_job: str) -> None:
        self._database = database
        self._erase_job = erase_job
        owned = [each for each in reversed(all_tables().sorted_tables) if "tenant_id" in each.c]
        self._first = [each for each in owned if each.name not in DELETED_LAST]
        requests = all_tables().tables["gdpr_requests"]
        # Locked, because the transaction writes the changed receipt back.
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

    @cached_property
    def batches(self) -> list[Batch]:
        return [batch for table in self._first for batch in self._batches(table)]

    @cached_property
    def _whole_tables(self) -> list[Statement]:
        last = [all_tables().tables[name] for name in DELETED_LAST]
        return [self._database.compile(self._all_of(each)) for each in (*self._first, *last)]

    def _batches(self, table: sa.Table) -> list[Batch]:
        key = list(table.primary_key.columns)
        found = [
            Batch(table.name, self._database.compile(statement), removes=False)
            for statement in _self_reference_updates(table, key)
        ]
        return [*found, self._removal(table, key)]

    def _removal(self, table: sa.Table, key: Sequence[sa.Column[Any]]) -> Batch:
        own_key = [column for column in key if column.name != "tenant_id"]
        compile_ = self._database.compile
        if len(own_key) != 1:
            # The primary key begins with the tenant, so these rows are adjacent in it.
            some = sa.select(*key).where(*self._mine(table)).limit(sa.bindparam("most"))
            delete = sa.delete(table).where(_key_of(key).in_(some))
            return Batch(table.name, compile_(delete), removes=True)
        # In the order of insertion, so that a step empties whole database pages.
        (own,) = own_key
        order = table.c.created if "created" in table.c else own
        keys = sa.select(own).where(*self._mine(table)).order_by(order).limit(KEY_PAGE)
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
            mine.append(_not_own_job(self._erase_job))
        return mine

    async def keys(self, batch: Batch, tenant_id: TenantId, keep: str) -> list[Any]:
        assert batch.keys is not None
        bound = batch.keys({"t": tenant_id, "keep": keep})
        rows = await self._database.fetch(scope_of(tenant_id), *bound, slow=True)
        return [row[0] for row in rows]

    async def remove(
        self, tx: Transaction, batch: Batch, tenant_id: TenantId, keep: str, *, keys: Sequence[Any]
    ) -> int:
        listed = self._database.list_value(keys)
        bound = batch.statement({"t": tenant_id, "keep": keep, "keys": listed})
        return await tx.execute(*bound, slow=True)

    async def run(
        self, tx: Transaction, batch: Batch, tenant_id: TenantId, keep: str, *, most: int
    ) -> int:
        """A step of a batch that finds its own rows."""
        bound = batch.statement({"t": tenant_id, "keep": keep, "most": most})
        return await tx.execute(*bound, slow=True)

    async def receipt(self, tx: Transaction, tenant_id: TenantId, keep: str) -> str:
        """The stored receipt: an interrupted run may have committed more than it returned."""
        rows = await tx.fetch(*self._receipt({"t": tenant_id, "keep": keep}))
        return str(rows[0][0]) if rows and rows[0][0] else "{}"

    async def note(self, tx: Transaction, tenant_id: TenantId, keep: str, receipt: str) -> None:
        values = {"t": tenant_id, "keep": keep, "new_receipt": receipt}
        await tx.execute(*self._note(values))

    async def finish(
        self, tx: Transaction, tenant_id: TenantId, keep: str, receipt: str, *, now: str
    ) -> bool:
        """Deletes rows added meanwhile and the tenant itself, and completes the request; False if
        another worker has done so."""
        values = {"t": tenant_id, "keep": keep, "new_receipt": receipt, "now": now}
        # First, so that of two workers the second waits here and then finds it done.
        if not await tx.execute(*self._complete(values)):
            return False
        for statement in self._whole_tables:
            await tx.execute(*statement(values), slow=True)
        return True

    async def remove_site(self, tenant_id: TenantId) -> None:
        """Everything of a site that was never opened, such as an import that was interrupted."""
        for batch in self.batches:
            while await self._remove_some(batch, tenant_id):
                pass
        values = {"t": tenant_id, "keep": ""}
        async with self._database.transaction(scope_of(tenant_id)) as tx:
            for statement in self._whole_tables:
                await tx.execute(*statement(values), slow=True)

    async def _remove_some(self, batch: Batch, tenant_id: TenantId) -> int:
        keys = await self.keys(batch, tenant_id, "") if batch.keys is not None else []
        async with self._database.transaction(scope_of(tenant_id)) as tx:
            if batch.keys is None:
                return await self.run(tx, batch, tenant_id, "", most=MAX_ROWS)
            return await self.remove(tx, batch, tenant_id, "", keys=keys[:MAX_ROWS])


def _self_reference_updates(table: sa.Table, key: Sequence[sa.Column[Any]]) -> list[sa.Update]:
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
    """Data about a person outside the records: events and their deliveries, stored idempotent
    responses, queued jobs and emails, and any other row with the address."""

    def __init__(self, database: Database, registry: Registry, *, erase_job: str) -> None:
        self._database = database
        self._registry = registry
        self._erase_job = erase_job
        e = events.c
        deliveries = all_tables().tables["webhook_deliveries"]
        self._event_page = database.compile(
            sa.select(e.version, e.ordinal, e.id, e.record_id, e.payload)
            .where(
                e.tenant_id == sa.bindparam("t"),
                sa.tuple_(e.version, e.ordinal)
                > sa.tuple_(sa.bindparam("version"), sa.bindparam("ordinal")),
            )
            .order_by(e.version, e.ordinal)
            .limit(EVENT_PAGE)
        )
        wanted = dialects.any_of(deliveries.c.event_id, sa.bindparam("ids"))
        of_events = sa.select(deliveries.c.id).where(
            deliveries.c.tenant_id == sa.bindparam("t"), wanted
        )
        self._delete_events = [
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
        # A counter is named by a value, for example a tag, and outlives its last record.
        self._delete_empty_totals = database.compile(
            sa.delete(record_counts).where(
                record_counts.c.tenant_id == sa.bindparam("t"), record_counts.c.total == 0
            )
        )

    @cached_property
    def _delete_with_address(self) -> list[Statement]:
        return [
            self._database.compile(_holding(each, self._erase_job))
            for each in all_tables().sorted_tables
            if self._registry.find(each.name) is None
            and each.name not in NOT_SEARCHED
            and "tenant_id" in each.c
        ]

    async def event_page(
        self, unit: Unit, after: tuple[int, int]
    ) -> list[tuple[int, int, str, str, str]]:
        """The next events: version, ordinal, id, record and payload as text."""
        values = {"t": unit.tenant_id, "version": after[0], "ordinal": after[1]}
        rows = await unit.fetch(self._event_page, values)
        return [(row[0], row[1], row[2], row[3], str(row[4])) for row in rows]

    async def delete_events(self, unit: Unit, event_ids: Sequence[str]) -> None:
        values = {"t": unit.tenant_id, "ids": self._database.list_value(event_ids)}
        for statement in self._delete_events:
            await unit.execute(statement, values)

    async def delete_rows_with_address(self, unit: Unit, email: str, keep: str) -> int:
        """Deletes rows of internal tables that contain the address; returns how many."""
        removed = 0
        await unit.execute(self._delete_empty_totals, {"t": unit.tenant_id})
        for variant in common_variants(email) if email else ():
            pattern = f"%{_WILD.sub(_ESCAPED, variant)}%"
            values = {"t": unit.tenant_id, "address": pattern, "keep": keep}
            for statement in self._delete_with_address:
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
        mine.append(_not_own_job(erase_job))
    return sa.delete(table).where(*mine)


def _not_own_job(erase_job: str) -> sa.ColumnElement[bool]:
    """Excludes the job of this erasure: the runner deletes it when it is done."""
    own = sa.literal("%").concat(sa.bindparam("keep")).concat("%")
    payload = sa.cast(jobs.c.payload, sa.Text())
    return sa.or_(jobs.c.kind != erase_job, payload.not_like(own))
