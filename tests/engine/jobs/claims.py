"""Jobs as a worker has them that has claimed them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.engine.jobs.runner import Job
from masthead.engine.jobs.tables import jobs

NEVER = "9999-12-31 00:00:00.000Z"


async def claimed(
    tenant: TenantWorld,
    kind: str,
    payload: Mapping[str, Any],
    attempts: int = 1,
    is_stopping: Callable[[], bool] = lambda: False,
) -> Job:
    """No other worker gets it."""
    parts = tenant.world.parts
    async with parts.records.unit(system(tenant.id)) as unit:
        job_id = await unit.enqueue(kind, payload, NEVER)
    job = Job(tenant.id, job_id, kind, payload, attempts, is_stopping)
    await take(tenant, job, attempts)
    return job


async def take(tenant: TenantWorld, job: Job, attempt: int) -> None:
    """A worker claims the job."""
    database = tenant.world.parts.database
    claim = sa.update(jobs).where(jobs.c.id == job.id).values(attempts=attempt)
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        await unit.execute(database.compile(claim), {})
