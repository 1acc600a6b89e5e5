"""A job of the platform that is queued at most once, by however many processes."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from masthead.base import clock
from masthead.engine.jobs.tables import jobs, new_job
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database


async def enqueue_once(database: Database, kind: str, job_id: str, now: datetime) -> bool:
    """Whether it was queued. It is not while another one waits or runs; one that has failed for
    good is replaced."""
    job = {**new_job("", kind, {}, clock.to_text(now)), "id": job_id}
    key = ("tenant_id", "id")
    others = [name for name in job if name not in key]
    insert = database.compile(dialects.insert_missing(jobs, key, others))
    remove = database.compile(
        sa.delete(jobs).where(
            jobs.c.tenant_id == "",
            jobs.c.id == sa.bindparam("key_id", required=True),
            dialects.not_empty(jobs.c.failed_at),
        )
    )
    async with database.transaction(EVERY_TENANT) as tx:
        await tx.execute(*remove({"key_id": job_id}))
        return bool(await tx.execute(*insert(job)))
