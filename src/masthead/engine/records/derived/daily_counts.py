"""How often something happened on a day: posts published, members joined, deliveries, API calls.

A change adds to the counts in its own transaction: a collection says by `tallies` what a change
adds. Calls of an API key have no transaction; `identity/call_counts.py` gathers them.
`Counts.by_day` reads them, so that no chart reads rows. Days are UTC: they are the same in every
process, and stay right when a site changes its time zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa
from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from masthead.base import clock
from masthead.engine.records.changes import Tally
from masthead.storage import dialects
from masthead.storage.batches import remove_in_batches
from masthead.storage.database import EVERY_TENANT, Database, Deferral, Row, Scope
from masthead.storage.metadata import metadata

RETENTION = timedelta(days=400)
BATCH = 500

KEY: Final = ("tenant_id", "metric", "subject", "day")

daily_counts = Table(
    "daily_counts",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    # As `posts.published`.
    Column("metric", dialects.Text(), nullable=False),
    # Whose: the id of an author or an API key; empty for all together.
    Column("subject", dialects.Text(), nullable=False),
    # UTC, as 2026-11-14.
    Column("day", dialects.Text(), nullable=False),
    Column("total", dialects.Integer(), nullable=False),
    PrimaryKeyConstraint(*KEY),
    Index("ix_daily_counts__day", "day"),
)

ByDay = dict[str, int]


def day_of(moment: datetime | str) -> str:
    """`2026-11-14` for a moment, or for its text as records hold it."""
    return (moment if isinstance(moment, str) else clock.to_text(moment))[:10]


class DailyCounts:
    def __init__(self, database: Database) -> None:
        self._database = database
        t = daily_counts.c
        self._add = database.compile(dialects.upsert_add(daily_counts, KEY, "total"))
        self._read = database.compile(
            sa.select(t.metric, t.subject, t.day, t.total).where(
                t.tenant_id == sa.bindparam("tenant"),
                dialects.any_of(t.metric, sa.bindparam("metrics")),
                dialects.any_of(t.subject, sa.bindparam("subjects")),
                t.day >= sa.bindparam("since"),
            )
        )
        old = sa.select(*(t[name] for name in KEY)).where(
            t.day < sa.bindparam("before"),
            sa.not_(dialects.any_of(t.metric, sa.bindparam("lasting"))),
        )
        self._sweep = database.compile(
            sa.delete(daily_counts).where(
                sa.tuple_(*(t[name] for name in KEY)).in_(
                    # A literal: for a parameter PostgreSQL plans to read a tenth of the table.
                    old.limit(sa.literal_column(str(BATCH)))
                )
            )
        )

    def deferral(self, tallies: Iterable[tuple[str, Tally]]) -> Deferral:
        """The statement that adds tallies, for the transaction of the counted changes."""
        rows = [
            (tenant, each.metric, each.subject, each.day, each.number) for tenant, each in tallies
        ]
        return Deferral(self._add, rows, adding=True)

    async def add_all(self, tallies: Iterable[tuple[str, Tally]]) -> None:
        """Adds them in a separate transaction."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            tx.defer(self.deferral(tallies))

    async def read(
        self,
        scope: Scope,
        tenant_id: str,
        metrics: Sequence[str],
        subjects: Sequence[str],
        *,
        since: str,
    ) -> dict[tuple[str, str], ByDay]:
        values = {
            "tenant": tenant_id,
            "metrics": self._database.list_value(metrics),
            "subjects": self._database.list_value(subjects),
            "since": since,
        }
        rows: list[Row] = await self._database.fetch(scope, *self._read(values))
        found: dict[tuple[str, str], ByDay] = {
            (metric, subject): {} for metric in metrics for subject in subjects
        }
        for metric, subject, day, total in rows:
            # Subtracting from a day that was already deleted would give a negative count.
            found[metric, subject][day] = max(total, 0)
        return found

    async def sweep(self, now: datetime, lasting: Sequence[str] = ()) -> None:
        """Deletes old days, but those of `lasting` metrics: in small batches with pauses, so that
        writes do not wait long."""
        bound = self._sweep(
            {
                "before": day_of(now - RETENTION),
                "lasting": self._database.list_value(lasting),
            }
        )
        await remove_in_batches(self._database, bound, BATCH)
