"""How long numbers stay: readers until their day is over, days for three years, then months."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Final

import sqlalchemy as sa

from masthead.base.clock import Clock
from masthead.base.ids import TenantId
from masthead.engine.records.derived.daily_counts import KEY, daily_counts
from masthead.features.members.collection import MEMBERS_JOINED, MEMBERS_PAID
from masthead.features.statistics.storing import LATE
from masthead.features.statistics.tables import COUNT_KEY, day_readers, day_salts, view_counts
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database

YEARS: Final = 3
LASTING: Final = (MEMBERS_JOINED, MEMBERS_PAID)
"""Counts per day of the engine that are kept as long as views."""
_AFTER: Final = timedelta(days=1) + 2 * LATE
"""From the beginning of a day until its readers are forgotten: no process adds to them any more."""
_BATCH: Final = 1_000
_BEYOND: Final = "~"
"""After every hash."""
_tenant: Any = sa.bindparam("tenant", required=True)
_day: Any = sa.bindparam("day", required=True)


class Retention:
    def __init__(self, database: Database, now: Clock) -> None:
        self._database = database
        self._clock = now
        salts, readers = day_salts.c, day_readers.c
        self._old = database.compile(
            sa.select(salts.tenant_id, salts.day).where(salts.day < sa.bindparam("before"))
        )
        of_day = (readers.tenant_id == _tenant, readers.day == _day)
        # Batches by their last reader: PostgreSQL might compare each row with each of a subquery.
        self._last = database.compile(
            sa.select(readers.reader)
            .where(*of_day)
            .order_by(readers.reader)
            .offset(sa.literal_column(str(_BATCH)))
            .limit(1)
        )
        self._forget = database.compile(
            sa.delete(day_readers).where(*of_day, readers.reader <= sa.bindparam("last"))
        )
        self._drop_salt = database.compile(
            sa.delete(day_salts).where(salts.tenant_id == _tenant, salts.day == _day)
        )
        self._clear = database.compile(
            sa.delete(view_counts).where(view_counts.c.tenant_id == _tenant)
        )
        self._of_tenant = database.compile(sa.select(salts.day).where(salts.tenant_id == _tenant))
        lasting = daily_counts.c.metric.in_(LASTING)
        self._months = (
            _Months(database, view_counts, COUNT_KEY, ("views", "readers")),
            _Months(database, daily_counts, KEY, ("total",), which=lasting),
        )

    async def forget_readers(self) -> None:
        """The salts go last: where one is, there may be readers."""
        before = (self._clock() - _AFTER).date() + timedelta(days=1)
        bound = self._old({"before": before.isoformat()})
        for tenant_id, day in await self._database.fetch(EVERY_TENANT, *bound):
            await self._forget_day(tenant_id, day)

    async def _forget_day(self, tenant_id: str, day: str) -> None:
        values = {"tenant": tenant_id, "day": day}
        last = ""
        while last != _BEYOND:
            async with self._database.transaction(EVERY_TENANT) as tx:
                found = await tx.fetch(*self._last(values))
                last = found[0][0] if found else _BEYOND
                await tx.execute(*self._forget({**values, "last": last}), slow=True)
                if last == _BEYOND:
                    await tx.execute(*self._drop_salt(values))

    async def add_up_months(self) -> None:
        """Puts the days of a month that is over for three years on its first day."""
        today = self._clock().date()
        before = date(today.year - YEARS, today.month, 1).isoformat()
        for each in self._months:
            await each.add_up(before)

    async def clear(self, tenant_id: TenantId) -> int:
        """Deletes all counts of views of a site, and says how many there were."""
        bound = self._of_tenant({"tenant": tenant_id})
        for (day,) in await self._database.fetch(EVERY_TENANT, *bound):
            await self._forget_day(tenant_id, day)
        async with self._database.transaction(EVERY_TENANT) as tx:
            return await tx.execute(*self._clear({"tenant": tenant_id}), slow=True)


class _Months:
    """One table's days, added up to months: site by site and month by month, each in one
    transaction."""

    def __init__(
        self,
        database: Database,
        table: sa.Table,
        key: Sequence[str],
        added: Sequence[str],
        *,
        which: sa.ColumnElement[bool] | None = None,
    ) -> None:
        self._database = database
        c = table.c
        later_days = sa.func.substr(c.day, 9) != "01"
        every = (later_days,) if which is None else (later_days, which)
        month = sa.func.substr(c.day, 1, 7)
        self._find = database.compile(
            sa.select(c.tenant_id, month).where(c.day < sa.bindparam("before"), *every).limit(1)
        )
        here = (c.tenant_id == _tenant, c.day >= _day, c.day < sa.bindparam("end"), *every)
        first: Any = sa.literal(value="").op("||")(sa.bindparam("first"))
        columns = [first if name == "day" else c[name] for name in key]
        sums = [sa.cast(sa.func.sum(c[name]), dialects.Integer) for name in added]
        days = sa.select(*columns, *sums).where(*here)
        days = days.group_by(*(c[name] for name in key if name != "day"))
        insert = dialects.insert(table).from_select([*key, *added], days)
        stored = {name: c[name] + insert.excluded[name] for name in added}
        self._add = database.compile(dialects.or_update(insert, key, stored))
        self._delete = database.compile(sa.delete(table).where(*here))

    async def add_up(self, before: str) -> None:
        while True:
            rows = await self._database.fetch(
                EVERY_TENANT, *self._find({"before": before}), slow=True
            )
            if not rows:
                return
            [(tenant_id, month)] = rows
            first = f"{month}-01"
            values = {"tenant": tenant_id, "day": first, "end": f"{month}-32", "first": first}
            async with self._database.transaction(EVERY_TENANT) as tx:
                for statement in (self._add, self._delete):
                    await tx.execute(*statement(values), slow=True)
