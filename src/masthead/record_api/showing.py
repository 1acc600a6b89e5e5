"""Records as an answer shows them: with their collection, and only the fields asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from masthead.records.collection import Collection, Record
from masthead.records.read.projection import Projection

MAX_INLINE_BYTES = 64 * 1024
"""Characters of text that excerpts are made of at once; those of more are made in a thread."""

# One: all of them want the same interpreter, and those that wait take nothing from other requests.
_threads = ThreadPoolExecutor(1, thread_name_prefix="excerpts")


async def shown(collection: Collection, record: Record, projection: Projection | None) -> Record:
    (only,) = await all_shown(collection, [record], projection)
    return only


async def all_shown(
    collection: Collection, records: list[Record], projection: Projection | None
) -> list[Record]:
    for record in records:
        record["collectionId"] = collection.id
        record["collectionName"] = collection.name
    return await projected(records, projection) if projection else records


async def projected(records: Sequence[Record], projection: Projection) -> list[Record]:
    if projection.has_excerpts and _is_long(records):
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_threads, projection.apply_all, records)
    return projection.apply_all(records)


def _is_long(records: Sequence[Record]) -> bool:
    if any("expand" in record for record in records):
        return True
    texts = (value for record in records for value in record.values() if isinstance(value, str))
    return sum(map(len, texts)) > MAX_INLINE_BYTES
