"""Pictures that an earlier run has copied, and the count of those that a dry run would copy."""

from __future__ import annotations

from collections.abc import Iterable

from masthead.caller import system
from masthead.ids import TenantId
from masthead.importers.images.urls import ImageRef, picture_key
from masthead.importers.run.previous_imports import IMAGES, PreviousImports
from masthead.media.collection import media
from masthead.records.collection import Record
from masthead.records.engine import Records


async def previous_copies(
    records: Records, previous: PreviousImports, tenant_id: TenantId, keys: Iterable[str]
) -> dict[str, Record]:
    """By key: the media records that an earlier run has created and that still exist."""
    items = await previous.items(IMAGES, keys)
    ids = list({item.record_id for item in items.values()})
    found = await records.related(system(tenant_id), media, "id", ids, len(ids))
    by_id = {record["id"]: record for record in found}
    return {key: by_id[item.record_id] for key, item in items.items() if item.record_id in by_id}


class CopyCounter:
    def __init__(self, records: Records, previous: PreviousImports, tenant_id: TenantId) -> None:
        self._records = records
        self._previous = previous
        self._tenant_id = tenant_id
        self._seen: set[str] = set()

    async def count(self, refs: Iterable[ImageRef]) -> int:
        """How many were not copied before; each picture is counted once per run."""
        keys = {picture_key(ref.original_url) for ref in refs} - self._seen
        self._seen |= keys
        copied = await previous_copies(self._records, self._previous, self._tenant_id, keys)
        return len(keys) - len(copied)
