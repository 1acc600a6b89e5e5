"""Counts the pictures that a run would copy, for one that only looks."""

from __future__ import annotations

from collections.abc import Iterable

from masthead.caller import system
from masthead.ids import TenantId
from masthead.importers.images.urls import ImageRef, picture_key
from masthead.importers.run.memory import IMAGES, Memory
from masthead.media.collection import media
from masthead.records.engine import Records


class WantedImages:
    def __init__(self, records: Records, memory: Memory, tenant_id: TenantId) -> None:
        self._records = records
        self._memory = memory
        self._tenant_id = tenant_id
        self._seen: set[str] = set()

    async def count(self, refs: Iterable[ImageRef]) -> int:
        """Those that were not copied before, each counted the first time it is asked for."""
        keys = {picture_key(ref.original_url) for ref in refs} - self._seen
        self._seen |= keys
        tenant_id, memory = self._tenant_id, self._memory
        known = await memory.items(memory.outside(tenant_id), tenant_id, IMAGES, keys)
        media_ids = list({item.record_id for item in known.values()})
        found = await self._records.related(
            system(tenant_id), media, "id", media_ids, len(media_ids)
        )
        there = {record["id"] for record in found}
        return len(keys) - sum(item.record_id in there for item in known.values())
