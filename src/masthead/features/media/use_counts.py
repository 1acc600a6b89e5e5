"""The job that lists and counts the uses of files which were there before they were counted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.links.file_uses import CountChange, count_uses, uses_of
from masthead.engine.records.collection import Collection
from masthead.engine.records.engine import Records
from masthead.features.media.collection import media

COUNT_JOB = "media.count_uses"
BATCH = 200


def handlers(records: Records) -> Mapping[str, Handler]:
    async def count_again(job: Job) -> None:
        """`media.count_uses`: first makes the lists of uses, then the counts from them. Changes in
        the meantime are safe, because a unit holds the tenant's lock."""
        caller = system(job.tenant_id)
        for collection in records.registry.collections:
            if uses_of(collection) is None:
                continue
            async for ids in _batches(records, job.tenant_id, collection):
                async with records.unit(caller, emit_events=False) as unit:
                    for each in ids:
                        await unit.list_again(collection, each)
        async for ids in _batches(records, job.tenant_id, media):
            async with records.unit(caller, emit_events=False) as unit:
                await count_uses(unit, [CountChange(each) for each in ids])

    return {COUNT_JOB: count_again}


async def _batches(
    records: Records, tenant_id: TenantId, collection: Collection
) -> AsyncIterator[list[str]]:
    """All ids, newest first."""
    after = None
    while True:
        found = await records.first(
            system(tenant_id), collection, BATCH, after=after, names=frozenset({"created"})
        )
        if not found:
            return
        yield [each["id"] for each in found]
        after = (found[-1]["created"], found[-1]["id"])
