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
from masthead.storage.database import EVERY_TENANT, Database, Row

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
    """One table's days, added up to months: site by site and day by day, each in one transaction.
    The statement that deletes the rows of a day says what they were: workers that do this at once
    add each of them once."""

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
        every = () if which is None else (which,)
        is_later = sa.func.substr(c.day, 9) != "01"
        self._find = database.compile(
            sa.select(c.tenant_id, c.day)
            .where(c.day < sa.bindparam("before"), is_later, *every)
            .limit(1)
        )
        columns = [c[name] for name in (*key, *added)]
        self._take = database.compile(
            sa.delete(table)
            .where(c.tenant_id == _tenant, c.day == _day, *every)
            .returning(*columns)
        )
        self._add = database.compile(dialects.upsert_add(table, key, *added))
        self._day_at = key.index("day")

    async def add_up(self, before: str) -> None:
        while True:
            rows = await self._database.fetch(
                EVERY_TENANT, *self._find({"before": before}), slow=True
            )
            if not rows:
                return
            [(tenant_id, day)] = rows
            async with self._database.transaction(EVERY_TENANT) as tx:
                taken = await tx.fetch(*self._take({"tenant": tenant_id, "day": day}))
                await tx.execute_many(self._add, sorted(map(self._on_the_first, taken)))

    def _on_the_first(self, row: Row) -> tuple[Any, ...]:
        values = list(row)
        values[self._day_at] = f"{str(values[self._day_at])[:8]}01"
        return tuple(values)
