"""The job that makes a picture's copies, in sizes and formats for the reader's site."""

from __future__ import annotations

from collections.abc import Mapping

from masthead.base.caller import system
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Record, file_key
from masthead.engine.records.engine import Records
from masthead.features.media.collection import COPIES_JOB, NO_SIZES, is_copied, media
from masthead.features.media.images import COPY_TYPES, BadImage, Copy, ImagePool, copy_widths
from masthead.features.media.thumbs import remove_copies, store_copies
from masthead.storage.objects import ObjectStore

CONCURRENCY = {COPIES_JOB: 1}
"""Encoding takes about a second a picture, and the pool has two threads."""


def copies_of(widths: tuple[int, ...]) -> tuple[Copy, ...]:
    kinds: tuple[str, ...] = tuple(COPY_TYPES)
    return tuple(
        Copy(width, "avif" if kind == "avif" else "webp") for kind in kinds for width in widths
    )


def widths_of(sizes: str) -> tuple[int, ...]:
    """From the field `picture_sizes`."""
    return tuple(map(int, sizes.split())) if sizes and sizes != NO_SIZES else ()


def handlers(records: Records, store: ObjectStore, pool: ImagePool) -> Mapping[str, Handler]:
    async def copy_one(job: Job) -> None:
        """`media.copies`: the copies of a picture that is new or was replaced."""
        found = await records.find(media, {"id": job.payload["id"]}, tenant_id=job.tenant_id)
        for item in found:
            await _copy(records, store, pool, job.tenant_id, item=item)

    return {COPIES_JOB: copy_one}


async def _copy(
    records: Records, store: ObjectStore, pool: ImagePool, tenant_id: TenantId, *, item: Record
) -> None:
    if item["picture_sizes"] or not is_copied(item):
        return
    try:
        sizes = await _make_sizes(store, pool, tenant_id, item)
    except NotFound:
        # Deleted meanwhile, with its file.
        return
    async with records.unit(system(tenant_id), emit_events=False) as unit:
        found = await unit.find_one(media, {"id": item["id"]})
        # Its file may have been replaced meanwhile: the new one has a job of its own.
        if found and found["file"] == item["file"]:
            await unit.stamp(media, found, {"picture_sizes": sizes})


async def _make_sizes(
    store: ObjectStore, pool: ImagePool, tenant_id: TenantId, item: Record
) -> str:
    key = file_key(tenant_id, media, item["id"], item["file"])
    widths = copy_widths(item["width"])
    try:
        made = await store_copies(store, pool, key, copies_of(widths))
    except BadImage:
        return NO_SIZES
    if (
        widths[-1] == item["width"]
        and min(size for copy, size in made.items() if copy.width == widths[-1]) > (item["size"])
    ):
        # A drawing of few colours: the original is smaller than any copy of its size.
        await remove_copies(store, key, tuple(made))
        return NO_SIZES
    return " ".join(map(str, widths))
