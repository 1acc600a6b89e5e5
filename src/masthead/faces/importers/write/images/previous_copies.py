"""Pictures that an earlier run has copied, and the count of those that a dry run would copy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.faces.importers.convert.image_urls import ImageRef, picture_key
from masthead.faces.importers.report import IMAGE, Note
from masthead.faces.importers.write.images.archived import Archive
from masthead.faces.importers.write.previous_imports import IMAGES, PreviousImports
from masthead.features.media.collection import media

NO_ADDRESS: Final = "The address is relative, and the export has no site address."


async def previous_copies(
    records: Records, previous: PreviousImports, tenant_id: TenantId, keys: Iterable[str]
) -> dict[str, Record]:
    """The media records that an earlier run has created and that still exist, by key."""
    items = await previous.items(IMAGES, keys)
    ids = list({item.record_id for item in items.values()})
    found = await records.find_related(system(tenant_id), media, "id", ids, limit=len(ids))
    by_id = {record["id"]: record for record in found}
    return {key: by_id[item.record_id] for key, item in items.items() if item.record_id in by_id}


def entry_of(refs: Iterable[ImageRef], archive: Archive) -> str:
    """The name of a picture's file in the export; '' where it is not there."""
    found = list(refs)
    # The original first: the archive may hold smaller sizes, too.
    urls = (url for ref in found for url in (*ref.candidates, *ref.urls))
    return archive.entry_of((found[0].original_url, *urls))


class Foreseen(Struct):
    """The plan of a run for the pictures of a batch."""

    copied: int = 0
    """In the export itself."""
    to_fetch: int = 0
    failures: list[Note] = field(default_factory=list)
    """Those that have no address from which they could be fetched."""


class CopyCounter:
    """Counts as the copier does: each picture once per run, without those of earlier runs."""

    def __init__(
        self, records: Records, previous: PreviousImports, tenant_id: TenantId, archive: Archive
    ) -> None:
        self._records = records
        self._previous = previous
        self._tenant_id = tenant_id
        self._archive = archive
        self._seen: set[str] = set()

    async def count(self, refs: Iterable[ImageRef]) -> Foreseen:
        pictures: dict[str, list[ImageRef]] = {}
        for ref in refs:
            pictures.setdefault(picture_key(ref.original_url), []).append(ref)
        keys = pictures.keys() - self._seen
        self._seen |= keys
        copied = await previous_copies(self._records, self._previous, self._tenant_id, keys)
        found = Foreseen()
        for key in keys - copied.keys():
            self._add(found, pictures[key])
        return found

    def _add(self, found: Foreseen, refs: list[ImageRef]) -> None:
        original = refs[0].original_url
        if original[:5].lower() == "data:" or entry_of(refs, self._archive):
            found.copied += 1
        elif any(ref.candidates for ref in refs):
            found.to_fetch += 1
        else:
            found.failures += [
                Note(IMAGE, ref.source_id, url=ref.urls[0], reason=NO_ADDRESS) for ref in refs
            ]
