"""Counts of waiting work by kind: jobs, webhook deliveries, and recipients of newsletters.

Each count reads an index, and ends at `COUNTED`, so that a long queue does not slow the look at it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.engine.jobs.tables import jobs
from masthead.features.mailings.tables import mailing_recipients
from masthead.features.webhooks.tables import webhook_lanes
from masthead.storage.database import EVERY_TENANT, Database
from masthead.storage.dialects import not_empty

COUNTED: Final = 100_000
DELIVERIES, RECIPIENTS = "webhooks.deliveries", "mailings.recipients"


class Waiting(msgspec.Struct, frozen=True):
    kind: str
    depth: int
    oldest_seconds: float
    """How long the first one could have run already."""


class Queues:
    def __init__(
        self,
        database: Database,
        tables: Mapping[str, sa.Table],
        kinds: Sequence[str],
        now: clock.Clock,
    ) -> None:
        self._database = database
        self._clock = now
        deliveries = tables["webhook_deliveries"].c
        selects: list[Any] = [_jobs(kind) for kind in sorted(kinds)]
        first_lane = sa.select(webhook_lanes.c.due_at).order_by(webhook_lanes.c.due_at)
        selects.append(
            sa.select(
                sa.literal(DELIVERIES),
                _bounded(deliveries.next_attempt_at, not_empty(deliveries.next_attempt_at)),
                first_lane.limit(_ONE).scalar_subquery(),
            )
        )
        due_at = mailing_recipients.c.due_at
        some = _some(due_at, not_empty(due_at))
        counted = (sa.func.count(), sa.func.min(some.c.due_at))
        selects.append(sa.select(sa.literal(RECIPIENTS), *counted).select_from(some))
        self._states = database.compile(sa.union_all(*selects))
        failed = _bounded(jobs.c.id, not_empty(jobs.c.failed_at))
        self._failed = database.compile(sa.select(failed))

    async def count_waiting(self) -> list[Waiting]:
        """All kinds, also those with nothing to do."""
        now = self._clock()
        bound = self._states({"now": clock.to_text(now)})
        rows = await self._database.fetch(EVERY_TENANT, *bound, slow=True)
        found = []
        for kind, depth, oldest in rows:
            late = (now - clock.from_text(oldest)).total_seconds() if depth and oldest else 0.0
            found.append(Waiting(kind, depth, max(late, 0.0)))
        return found

    async def count_given_up(self) -> int:
        """Jobs that wait for an operator."""
        rows = await self._database.fetch(EVERY_TENANT, *self._failed({}))
        return int(rows[0][0])


_ONE: Any = sa.literal_column("1")


def _jobs(kind: str) -> sa.Select[Any]:
    t = jobs.c
    now: Any = sa.bindparam("now")
    # Without those that a worker is at: an import may take hours.
    due = (t.kind == kind, t.failed_at == "", t.run_at <= now, t.leased_until <= now)
    oldest = sa.select(t.run_at).where(*due).order_by(t.run_at).limit(_ONE)
    return sa.select(sa.literal(kind), _bounded(t.run_at, *due), oldest.scalar_subquery())


def _bounded(column: Any, *conditions: Any) -> Any:
    counted = sa.select(sa.func.count()).select_from(_some(column, *conditions))
    return counted.scalar_subquery()


def _some(column: Any, *conditions: Any) -> sa.Subquery:
    return sa.select(column).where(*conditions).limit(sa.literal_column(str(COUNTED))).subquery()
