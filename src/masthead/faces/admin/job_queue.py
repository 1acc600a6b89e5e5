"""The state of the queue, for operators: waiting, running and permanently failed jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.engine.audit.collection import DISCARDED_JOB, RETRIED_JOB
from masthead.engine.audit.entries import log_action
from masthead.engine.jobs.tables import jobs
from masthead.engine.records.write.unit import Unit
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Statement
from masthead.storage.dialects import not_empty

COUNTED = 1_000
"""A queue that is longer is not counted to its end."""
MAX_LISTED = 100


class KindState(msgspec.Struct, frozen=True):
    kind: str
    due: int
    """At most `COUNTED`."""
    oldest_due: str
    """When the oldest of them could have run; '' if none is due."""
    running: int
    later: int
    """Not due yet: retries, and work for a certain time."""
    failed: int


class FailedJob(msgspec.Struct, frozen=True):
    tenant_id: str
    id: str
    kind: str
    attempts: int
    error: str
    created: str
    failed_at: str


class QueueState:
    def __init__(
        self,
        database: Database,
        kinds: Sequence[str],
        now: clock.Clock,
        *,
        never_discarded: Sequence[str] = (),
    ) -> None:
        """Jobs of the kinds `never_discarded` can only be run again."""
        self._database = database
        self._clock = now
        self._kinds = tuple(sorted(kinds))
        t = jobs.c
        self._states = database.compile(sa.union_all(*(_state(kind) for kind in self._kinds)))
        listed = (t.tenant_id, t.id, t.kind, t.attempts, t.error, t.created, t.failed_at)
        has_failed = dialects.without_index(t.kind).in_(self._kinds), not_empty(t.failed_at)
        newest = sa.select(*listed).where(*has_failed).order_by(t.failed_at.desc())
        self._failed = database.compile(newest.limit(sa.literal_column(str(MAX_LISTED))))
        this = (
            t.tenant_id == sa.bindparam("key_tenant"),
            t.id == sa.bindparam("key_id"),
            t.failed_at > "",
        )
        self._kind = database.compile(sa.select(t.kind).where(*this))
        self._retry = database.compile(
            sa.update(jobs)
            .where(*this)
            .values(failed_at="", attempts=0, error="", run_at=sa.bindparam("now"))
        )
        may_go = t.kind.not_in(never_discarded) if never_discarded else sa.true()
        self._discard = database.compile(sa.delete(jobs).where(*this, may_go))

    async def kinds(self) -> list[KindState]:
        """Those with a job."""
        now = clock.to_text(self._clock())
        rows = await self._database.fetch(EVERY_TENANT, *self._states({"now": now}), slow=True)
        found = [
            KindState(kind, due, oldest or "", running, later, failed)
            for kind, due, oldest, running, later, failed in rows
        ]
        return [each for each in found if each.due or each.running or each.later or each.failed]

    async def list_failed(self) -> list[FailedJob]:
        """The newest first."""
        rows = await self._database.fetch(EVERY_TENANT, *self._failed({}))
        return [FailedJob(*row) for row in rows]

    async def retry(self, unit: Unit, job_id: str) -> bool:
        """Runs it again at once, with all its attempts. False if the unit's tenant has no such
        failed job. The unit's caller is in the audit log with it."""
        return await self._change(unit, job_id, self._retry, RETRIED_JOB)

    async def discard(self, unit: Unit, job_id: str) -> bool:
        return await self._change(unit, job_id, self._discard, DISCARDED_JOB)

    async def _change(self, unit: Unit, job_id: str, change: Statement, action: str) -> bool:
        key = {"key_tenant": unit.tenant_id, "key_id": job_id}
        found = await unit.fetch(self._kind, key)
        now = clock.to_text(self._clock())
        if not found or not await unit.execute(change, {**key, "now": now}):
            return False
        log_action(unit, action, label=found[0][0])
        return True


def _state(kind: str) -> sa.Select[Any]:
    now: Any = sa.bindparam("now")
    t = jobs.c
    waits = (t.kind == kind, t.failed_at == "")
    due = (*waits, t.run_at <= now, t.leased_until <= now)
    # Not `min`, for which a database may read all of them.
    oldest = sa.select(t.run_at).where(*due).order_by(t.run_at).limit(sa.literal_column("1"))
    # With the condition of the index of claimed jobs, which are few: others are not read.
    running = (t.kind == kind, not_empty(t.leased_until), t.leased_until > now, t.failed_at == "")
    return sa.select(
        sa.literal(kind),
        _bounded(*due),
        oldest.scalar_subquery(),
        _bounded(*running),
        _bounded(*waits, t.run_at > now, t.leased_until <= now),
        _bounded(t.kind == kind, t.failed_at > ""),
    )


def _bounded(*conditions: Any) -> Any:
    some = sa.select(jobs.c.id).where(*conditions).limit(sa.literal_column(str(COUNTED)))
    return sa.select(sa.func.count()).select_from(some.subquery()).scalar_subquery()
