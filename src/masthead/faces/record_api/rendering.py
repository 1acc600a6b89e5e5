"""Records in an answer: with their collection, and only the requested fields."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.read.projection import Projection

MAX_INLINE_CHARACTERS = 64 * 1024
"""Parts of more text than this are read in a thread."""

# One thread, because they share the interpreter and should not slow other requests.
_threads = ThreadPoolExecutor(1, thread_name_prefix="excerpts")


async def render_record(
    collection: Collection, record: Record, projection: Projection | None
) -> Record:
    (only,) = await render_records(collection, [record], projection)
    return only


async def render_records(
    collection: Collection, records: list[Record], projection: Projection | None
) -> list[Record]:
    for record in records:
        record["collectionId"] = collection.id
        record["collectionName"] = collection.name
    return await apply_projection(records, projection) if projection else records


async def apply_projection(records: Sequence[Record], projection: Projection) -> list[Record]:
    if _is_long(records, projection):
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_threads, projection.apply_all, records)
    return projection.apply_all(records)


def _is_long(records: Sequence[Record], projection: Projection) -> bool:
    """Whether there is much to read for the parts of values that are shown."""
    if projection.reads_into("expand") and any("expand" in record for record in records):
        return True
    sizes = (
        _size(value)
        for record in records
        for name, value in record.items()
        if projection.reads_into(name)
    )
    return sum(sizes) > MAX_INLINE_CHARACTERS


def _size(value: object) -> int:
    if isinstance(value, msgspec.Raw):
        return len(memoryview(value))
    return len(value) if isinstance(value, str) else 0
