"""Copies pictures that an earlier import could not fetch, and replaces their addresses in the
imported posts. Nothing else of a post changes, so later edits are preserved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Final

import msgspec

from masthead.base.languages.words import staff_marked
from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.convert.content import Prepared, rewrite
from masthead.faces.importers.convert.image_urls import ImageRef
from masthead.faces.importers.report import Outcome, Report
from masthead.faces.importers.source import Source, SourcePost
from masthead.faces.importers.write.drafts import collection_of, key_of_post
from masthead.faces.importers.write.dry_unit import AnyUnit
from masthead.faces.importers.write.images.earlier_failures import (
    stored_records,
    text_with_addresses,
)
from masthead.faces.importers.write.pipeline import (
    Batch,
    Import,
    ReadyBatch,
    Request,
    require_writable_site,
)
from masthead.faces.importers.write.run_record import RunLog
from masthead.features.media.services import SharedServices

NOTHING_LEFT: Final = staff_marked("no picture of the old site left")
STILL_THERE: Final = staff_marked("pictures could not be copied")


class _UnfinishedPost(msgspec.Struct, frozen=True):
    """A post of the export that was imported, with the pictures that were not copied."""

    post: SourcePost
    record_id: str
    refs: tuple[ImageRef, ...]


class ImageRepair(Import):
    def __init__(
        self,
        services: SharedServices,
        source: Source,
        request: Request,
        log: RunLog,
        *,
        only: frozenset[str] | None,
        **given: Any,
    ) -> None:
        """`only` are the source ids of an errors file; None means every post of the export. `log`
        is of the import that the pictures belong to. It is not written."""
        super().__init__(services, source, request, log, **given)
        self._only = only

    async def run(self) -> Report:
        await require_writable_site(self._services, self._request.tenant_id)
        with self._reading, closing(self._preparing), closing(self.redirects):
            async for batch in self._batches_of_posts():
                await self._repair(batch)
                self._on_progress(self._report)
                self._check_stop()
        return self._report

    async def _repair(self, batch: Batch) -> None:
        posts = [
            each
            for each in batch.entries
            if isinstance(each, SourcePost) and (self._only is None or each.source_id in self._only)
        ]
        found = await self._find_imported(posts)
        ready = ReadyBatch(batch.start, [])
        new_urls = await self._copy([ref for each in found for ref in each.refs], ready)
        outcomes = await self._update_posts(found, new_urls)
        self._report = ready.reported(self._report, outcomes)

    async def _find_imported(self, posts: Sequence[SourcePost]) -> list[_UnfinishedPost]:
        keys = [key_of_post(post) for post in posts]
        items = await self._destination.items(keys)
        records = await stored_records(
            self._services.records, self._request.tenant_id, items.values()
        )
        imported = [
            post
            for post, key in zip(posts, keys, strict=True)
            if key in items and items[key].record_id in records
        ]
        made = await self._preparing.prepare(imported, self._source.overview.site_url)
        found = []
        for post, prepared in zip(imported, made, strict=True):
            record_id = items[key_of_post(post)].record_id
            refs: tuple[ImageRef, ...] = ()
            if isinstance(prepared, Prepared):
                wanted = [*prepared.images, *self._archive.wanted_by(prepared)]
                refs = _not_copied(wanted, records[record_id])
            found.append(_UnfinishedPost(post, record_id, refs))
        return found

    async def _update_posts(
        self, found: Sequence[_UnfinishedPost], new_urls: Mapping[str, str]
    ) -> list[Outcome]:
        outcomes = []
        async with self._destination.unit() as unit:
            for each in found:
                is_changed = bool(each.refs) and await self._update_post(unit, each, new_urls)
                reason = STILL_THERE if each.refs else NOTHING_LEFT
                outcomes.append(_outcome(each.post, is_changed, reason))
        return outcomes

    async def _update_post(
        self, unit: AnyUnit, found: _UnfinishedPost, new_urls: Mapping[str, str]
    ) -> bool:
        if not isinstance(unit, Unit):
            # Which pictures can be fetched is not known.
            return True
        collection = collection_of(found.post)
        record = await unit.find_one(collection, {"id": found.record_id})
        if not record:
            return False
        changed = await unit.update(collection, found.record_id, _with_new_urls(record, new_urls))
        if changed["version"] == record["version"]:
            return False
        # So that the next import does not take this update for an edit by the publisher.
        key = key_of_post(found.post)
        known = await self._destination.items([key], unit)
        if known and known[key].record_version == record["version"]:
            item = msgspec.structs.replace(known[key], record_version=changed["version"])
            await self._destination.save(unit, {key: item})
        return True


def _not_copied(wanted: Sequence[ImageRef], record: Record) -> tuple[ImageRef, ...]:
    """The pictures whose old address is still in the record."""
    whole = text_with_addresses(record)
    return tuple(ref for ref in wanted if any(url in whole for url in ref.urls))


def _with_new_urls(record: Record, new_urls: Mapping[str, str]) -> dict[str, Any]:
    if "description" in record:
        return {"description": rewrite(record["description"], None, new_urls)[0]}
    html, document = rewrite(record["content_html"], record["content_json"], new_urls)
    changes: dict[str, Any] = {"content_html": html, "content_json": document}
    if "featured_image" in record:
        image = record["featured_image"]
        changes["featured_image"] = new_urls.get(image, image)
    return changes


def _outcome(post: SourcePost, is_changed: bool, reason: str = NOTHING_LEFT) -> Outcome:
    if is_changed:
        return Outcome(post.kind, post.source_id, "updated", post.title)
    return Outcome(post.kind, post.source_id, "skipped", post.title, reason)
