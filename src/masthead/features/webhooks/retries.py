"""Retries of all dead deliveries that match a filter: a job whose progress is shown, that continues
after a crash, and that sends no delivery twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.jobs.tables import jobs, new_job
from masthead.features.webhooks.delivery_log import RETRY_BATCH, DeliveryFilter, DeliveryLog
from masthead.features.webhooks.queue import DeliveryQueue
from masthead.features.webhooks.tables import webhook_retries
from masthead.storage.database import EVERY_TENANT, Bound, Database
from masthead.storage.table_rows import TableRows

RETRY_DEAD = "webhooks.retry_dead"
RETENTION = timedelta(days=30)

_COLUMNS = ("id", "webhook_id", "event", "since", "total", "retried", "created", "finished")


class RetryRun(msgspec.Struct, frozen=True):
    id: str
    webhook_id: str
    event: str
    since: str
    total: int
    """-1 until they are counted."""
    retried: int
    created: str
    """Only what was dead by then is retried: what dies again meanwhile is not."""
    finished: str

    @property
    def filter(self) -> DeliveryFilter:
        since = clock.from_text(self.since) if self.since else None
        return DeliveryFilter(webhook_id=self.webhook_id, event=self.event, since=since)


class Retries:
    def __init__(self, database: Database, deliveries: DeliveryQueue, now: clock.Clock) -> None:
        self._database = database
        self._deliveries = deliveries
        self._clock = now
        self._rows = TableRows(database, webhook_retries)
        self._jobs = TableRows(database, jobs)
        t = webhook_retries.c
        more = t.retried + sa.bindparam("more", type_=sa.BigInteger())
        this = (t.tenant_id == sa.bindparam("tenant"), t.id == sa.bindparam("run"))
        self._add = database.compile(sa.update(webhook_retries).where(*this).values(retried=more))

    @property
    def _log(self) -> DeliveryLog:
        return self._deliveries.log

    async def start(self, tenant_id: TenantId, run_id: str, filter_: DeliveryFilter) -> None:
        """`run_id` is the form's: the same form sent twice starts one run."""
        now = clock.to_text(self._clock())
        since = clock.to_text(filter_.since) if filter_.since else ""
        values = {
            "tenant_id": tenant_id,
            "id": run_id,
            "webhook_id": filter_.webhook_id,
            "event": filter_.event,
            "since": since,
            "total": -1,
            "retried": 0,
            "created": now,
            "finished": "",
        }
        job = new_job(tenant_id, RETRY_DEAD, {"run_id": run_id}, now)
        async with self._database.transaction(EVERY_TENANT) as tx:
            if await tx.execute(*self._rows.insert_missing(values)):
                await tx.execute(*self._jobs.insert(job))

    async def get(self, tenant_id: TenantId, run_id: str) -> RetryRun | None:
        return await self._find(self._rows.select(_COLUMNS, _key(tenant_id, run_id)))

    async def find_running(self, tenant_id: TenantId) -> RetryRun | None:
        """The newest one, if it is not finished."""
        key = {"tenant_id": tenant_id}
        found = await self._find(self._rows.select(_COLUMNS, key, newest=("created", 1)))
        return found if found and not found.finished else None

    async def sweep(self) -> None:
        await self._rows.sweep("created", self._clock() - RETENTION)

    def handlers(self) -> Mapping[str, Handler]:
        return {RETRY_DEAD: self._run}

    async def _run(self, job: Job) -> None:
        """After a crash it begins again: what it has retried is no longer dead."""
        tenant_id = job.tenant_id
        run = await self.get(tenant_id, job.payload["run_id"])
        if run is None or run.finished:
            return
        until = clock.from_text(run.created)
        if run.total < 0:
            total = await self._log.count_retried(tenant_id, run.filter, until)
            await self._set(tenant_id, run.id, total=total)
        async for found in self._log.dead(tenant_id, run.filter, until, RETRY_BATCH):
            await self._retry(tenant_id, run.id, found, until)
        await self._set(tenant_id, run.id, finished=clock.to_text(self._clock()))

    async def _retry(
        self,
        tenant_id: TenantId,
        run_id: str,
        found: Sequence[tuple[str, str, str]],
        until: datetime,
    ) -> None:
        """The deliveries and the progress in one commit, so that the numbers are true."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            retried = await self._log.requeue(tx, tenant_id, list(found), until, now=self._clock())
            await tx.execute(*self._add({"tenant": tenant_id, "run": run_id, "more": retried}))

    async def _set(self, tenant_id: TenantId, run_id: str, **values: Any) -> None:
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(*self._rows.update(values, _key(tenant_id, run_id)))

    async def _find(self, bound: Bound) -> RetryRun | None:
        rows = await self._database.fetch(EVERY_TENANT, *bound)
        return RetryRun(*rows[0]) if rows else None


def _key(tenant_id: str, run_id: str) -> dict[str, str]:
    return {"tenant_id": tenant_id, "id": run_id}
