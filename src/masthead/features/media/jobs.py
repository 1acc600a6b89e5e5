"""Jobs that delete stored files: with their record, and after an interrupted upload."""

from __future__ import annotations

from collections.abc import Mapping

from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.engine import Records
from masthead.engine.records.fields.file import File
from masthead.engine.records.write.trash import TRASH
from masthead.storage.objects import ObjectStore

THUMBS = "thumbs_"
"""Thumbnails of `a.jpg` are stored in the same folder, under `thumbs_a.jpg/`."""


def handlers(records: Records, store: ObjectStore) -> Mapping[str, Handler]:
    async def remove(job: Job) -> None:
        """`files.remove`: the record was deleted or has another file now."""
        for key in job.payload["keys"]:
            await _remove(store, key)

    async def sweep(job: Job) -> None:
        """`files.sweep`: deletes an uploaded file that no record refers to, also none in the
        trash."""
        collection = records.registry[job.payload["collection"]]
        key = job.payload["key"]
        found = await records.find_one(
            collection, {"id": job.payload["record_id"]}, tenant_id=job.tenant_id
        )
        names = (
            [found[each.name] for each in collection.fields if isinstance(each, File)]
            if found
            else []
        )
        if key.rpartition("/")[2] not in names and not await _is_in_trash(records, job):
            await _remove(store, key)

    return {"files.remove": remove, "files.sweep": sweep}


async def _is_in_trash(records: Records, job: Job) -> bool:
    """Mostly under the id of the record itself, but its entry may have another one."""
    wanted = {"type": job.payload["collection"], "record_id": job.payload["record_id"]}
    found = await records.find(records.registry[TRASH], wanted, tenant_id=job.tenant_id, limit=100)
    return any(job.payload["key"] in each["files"] for each in found)


async def _remove(store: ObjectStore, key: str) -> None:
    folder, _, name = key.rpartition("/")
    await store.delete(key)
    await store.delete_prefix(f"{folder}/{THUMBS}{name}")
