"""The nightly check of payments: reports inconsistencies and changes nothing.

`masthead doctor` shows the last report of each tenant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_marked
from masthead.engine.jobs.isolation import isolated
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.read.page import ListRequest
from masthead.features.commerce.collection import orders
from masthead.features.members.collection import blog_members
from masthead.features.payments.collection import payment_subscriptions
from masthead.features.payments.memberships import MAX_SUBSCRIPTIONS, given_to, state_row
from masthead.features.payments.subscription_state import member_outcome
from masthead.features.payments.tables import payment_inbox, payment_reports
from masthead.storage.database import EVERY_TENANT, Database, scope_of
from masthead.storage.table_rows import TableRows

MEMBER_PAGE = 100
"""Members per query."""
MAX_LISTED = 50
"""How many findings of each kind a report lists; it counts the others."""
PAYMENT_DEADLINE = timedelta(days=1)
"""How long an order may stay unpaid."""
EVENT_PERIOD = timedelta(days=7)
_OTHER_TIER = {
    "paid": staff_marked("is free, and paid by the subscription"),
    "free": staff_marked("is paid, and free by the subscription"),
}


class Finding(msgspec.Struct, omit_defaults=True):
    """A record or event that needs attention, and why."""

    id: str
    why: str = ""


class Kind(msgspec.Struct):
    count: int
    first: list[Finding]


class Report(msgspec.Struct):
    members: Kind
    """Their tier does not match their subscriptions."""
    orders: Kind
    """Paid or shipped without a payment, or unpaid for over a day."""
    subscriptions: Kind
    """Paid, but without a member."""
    events: Kind
    """Received in the last week and not applied."""

    @property
    def is_clean(self) -> bool:
        return not any(kind.count for kind in self.kinds().values())

    def kinds(self) -> dict[str, Kind]:
        return {name: getattr(self, name) for name in self.__struct_fields__}


class Reports:
    """The stored reports."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = TableRows(database, payment_reports)

    async def store(self, tenant_id: TenantId, report: Report, created: str) -> None:
        text = msgspec.json.encode(report).decode()
        values = {"tenant_id": tenant_id, "created": created, "report": text}
        async with self._database.transaction(scope_of(tenant_id)) as tx:
            await tx.execute(*self._rows.upsert(values))

    async def all(self) -> list[tuple[TenantId, str, Report]]:
        found = self._rows.select(("tenant_id", "created", "report"), {})
        rows = await self._database.fetch(EVERY_TENANT, *found, slow=True)
        return [
            (TenantId(tenant_id), created, msgspec.json.decode(report, type=Report))
            for tenant_id, created, report in sorted(map(tuple, rows))
        ]

    async def of(self, tenant_id: TenantId) -> tuple[str, Report] | None:
        """The tenant's last report, and when it was made."""
        found = self._rows.select(("created", "report"), {"tenant_id": tenant_id})
        rows = await self._database.fetch(scope_of(tenant_id), *found)
        return (rows[0][0], msgspec.json.decode(rows[0][1], type=Report)) if rows else None


class Reconciliation:
    def __init__(self, records: Records, tables: Any) -> None:
        self._records = records
        self._reports = Reports(records.database)
        database = records.database
        subscriptions, t = tables["payment_subscriptions"].c, payment_inbox.c
        self._tenants = database.compile(
            sa.union(
                sa.select(tables["orders"].c.tenant_id),
                sa.select(subscriptions.tenant_id),
                sa.select(payment_inbox.c.tenant_id),
                sa.select(payment_reports.c.tenant_id),
            )
        )
        self._payers = database.compile(
            sa.select(subscriptions.member_id)
            .distinct()
            .where(
                subscriptions.tenant_id == sa.bindparam("tenant"),
                subscriptions.member_id > sa.bindparam("after"),
            )
            .order_by(subscriptions.member_id)
            .limit(MEMBER_PAGE)
        )
        self._unprocessed = database.compile(
            sa.select(t.event_id, t.note)
            .where(
                t.tenant_id == sa.bindparam("tenant"),
                t.note != sa.text("''"),
                t.received >= sa.bindparam("since"),
            )
            .order_by(t.received)
        )

    async def run(self) -> None:
        """Reports on every tenant with payment data."""
        found = await self._records.database.fetch(EVERY_TENANT, *self._tenants({}), slow=True)
        for (tenant_id,) in found:
            with isolated("payments.reconcile", tenant_id=tenant_id):
                now = self._records.clock()
                report = await self.report_on(TenantId(tenant_id), now)
                await self._reports.store(TenantId(tenant_id), report, clock.to_text(now))

    async def report_on(self, tenant_id: TenantId, now: datetime) -> Report:
        late = clock.to_text(now - PAYMENT_DEADLINE)
        return Report(
            members=await self._members(tenant_id),
            orders=_merged(
                await self._find_matching(
                    tenant_id,
                    orders,
                    "(status = 'paid' || status = 'shipped') && payment_id = ''",
                    staff_marked("has no payment"),
                ),
                await self._find_matching(
                    tenant_id,
                    orders,
                    f"status = 'pending' && created < '{late}'",
                    staff_marked("waits for its payment"),
                ),
            ),
            subscriptions=await self._find_matching(
                tenant_id,
                payment_subscriptions,
                "member_id = '' && tier = 'paid'",
                staff_marked("belongs to no member"),
            ),
            events=await self._events(tenant_id, now),
        )

    async def _members(self, tenant_id: TenantId) -> Kind:
        wrong: list[Finding] = []
        now = clock.to_text(self._records.clock())
        async for member, rows in self._find_paying(tenant_id):
            expected = member_outcome(map(state_row, rows), given_to(member), now).tier
            if expected is not None and expected != member["tier"]:
                wrong.append(Finding(member["id"], _OTHER_TIER[expected]))
        return _kind(wrong)

    async def _find_paying(self, tenant_id: TenantId) -> AsyncIterator[tuple[Record, list[Record]]]:
        """Each member with subscriptions, and all of their subscriptions."""
        caller = system(tenant_id)
        after = ""
        while payers := await self._next_payers(tenant_id, after):
            after = payers[-1]
            members = await self._records.find_related(
                caller, blog_members, "id", payers, limit=MEMBER_PAGE
            )
            rows = await self._records.find_related(
                caller,
                payment_subscriptions,
                "member_id",
                payers,
                limit=MEMBER_PAGE * MAX_SUBSCRIPTIONS,
            )
            by_member: dict[str, list[Record]] = defaultdict(list)
            for row in rows:
                by_member[row["member_id"]].append(row)
            for member in members:
                yield member, by_member[member["id"]]

    async def _next_payers(self, tenant_id: TenantId, after: str) -> list[str]:
        values = self._payers({"tenant": tenant_id, "after": after})
        scope = scope_of(tenant_id)
        rows = await self._records.database.fetch(scope, *values, slow=True)
        return [member_id for (member_id,) in rows]

    async def _find_matching(
        self, tenant_id: TenantId, collection: Collection, matching: str, why: str
    ) -> Kind:
        wanted = ListRequest(per_page=MAX_LISTED, filter=matching, names=frozenset({"id"}))
        page = await self._records.page(system(tenant_id), collection, wanted)
        return Kind(page.total, [Finding(record["id"], why) for record in page.items])

    async def _events(self, tenant_id: TenantId, now: datetime) -> Kind:
        since = clock.to_text(now - EVENT_PERIOD)
        values = self._unprocessed({"tenant": tenant_id, "since": since})
        rows = await self._records.database.fetch(scope_of(tenant_id), *values)
        return _kind([Finding(event_id, note) for event_id, note in rows])


def _kind(findings: list[Finding]) -> Kind:
    return Kind(len(findings), findings[:MAX_LISTED])


def _merged(*kinds: Kind) -> Kind:
    first = [finding for kind in kinds for finding in kind.first]
    return Kind(sum(kind.count for kind in kinds), first[:MAX_LISTED])
