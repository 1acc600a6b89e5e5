"""Copies pictures that an earlier import could not fetch, and replaces their addresses in the
imported posts. Nothing else of a post changes, so later edits are preserved."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final

import msgspec

from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.convert.content import Prepared, rewrite
from masthead.faces.importers.convert.image_urls import ImageRef
from masthead.faces.importers.platforms.exports import id_namespace
from masthead.faces.importers.report import Outcome, Report
from masthead.faces.importers.source import Skipped, Source, SourcePost
from masthead.faces.importers.write.address_batches import AddressBatches
from masthead.faces.importers.write.destination import Destination
from masthead.faces.importers.write.drafts import collection_of, key_of_post
from masthead.faces.importers.write.dry_unit import AnyUnit
from masthead.faces.importers.write.images.archived import Archive
from masthead.faces.importers.write.images.copying import DryCopier, ImageCopier, ImportServices
from masthead.faces.importers.write.images.earlier_failures import (
    stored_records,
    text_with_addresses,
)
from masthead.faces.importers.write.pipeline import (
    OnProgress,
    PostReader,
    Request,
    require_writable_site,
)
from masthead.faces.importers.write.preparing import Preparing
from masthead.faces.importers.write.previous_imports import PreviousImports
from masthead.outside.outbound.downloads import RETRY_DELAYS, RetryDelays

NOTHING_LEFT: Final = "no picture of the old site left"
STILL_THERE: Final = "pictures could not be copied"


class _Found(msgspec.Struct, frozen=True):
    """A post of the export that was imported, with the pictures that were not copied."""

    post: SourcePost
    record_id: str
    refs: tuple[ImageRef, ...]


class ImageRepair:
    def __init__(
        self,
        services: ImportServices,
        source: Source,
        request: Request,
        only: frozenset[str] | None,
        *,
        on_progress: OnProgress = lambda _: None,
        run_id: str = "",
        retry_delays: RetryDelays = RETRY_DELAYS,
    ) -> None:
        """`only` are the source ids of an errors file; None means every post of the export.
        `run_id` is of the import that the pictures belong to."""
        self._services = services
        self._source = source
        self._request = request
        self._only = only
        self._on_progress = on_progress
        self._preparing = Preparing(source.overview.posts)
        self._previous = PreviousImports(services.records.database, request.tenant_id, run_id)
        self._archive = Archive(source.overview.files, source.read_file)
        self._destination = Destination(
            services.records,
            self._previous,
            request.tenant_id,
            id_namespace(source.overview),
            request.emit_events,
            dry_run=request.dry_run,
        )
        self._addresses = AddressBatches(self._destination, source.overview.site_url)
        self._copier = (DryCopier if request.dry_run else ImageCopier)(
            services,
            request.tenant_id,
            self._previous,
            archive=self._archive,
            emit_events=request.emit_events,
            retry_delays=retry_delays,
        )

    async def run(self) -> Report:
        await require_writable_site(self._services, self._request.tenant_id)
        overview = self._source.overview
        report = Report(overview.platform, dry_run=self._request.dry_run)
        reader = PostReader(self._source.posts(), self._request.batch_size)
        loop = asyncio.get_running_loop()
        # One thread, because some parsers must stay in the thread that created them.
        with (
            ThreadPoolExecutor(1, thread_name_prefix="import") as reading,
            closing(self._preparing),
        ):
            while batch := await loop.run_in_executor(reading, reader.next):
                report = await self._repair(batch.entries, report)
                self._on_progress(report)
        return report

    async def _repair(self, entries: Sequence[SourcePost | Skipped], report: Report) -> Report:
        posts = [
            each
            for each in entries
            if isinstance(each, SourcePost) and (self._only is None or each.source_id in self._only)
        ]
        found = await self._find_imported(posts)
        refs = [ref for each in found for ref in each.refs]
        copier = self._copier
        copied, to_fetch, failed = copier.copied, copier.to_fetch, len(copier.failures)
        new_urls = await copier.copy(refs)
        if redirects := self._addresses.pictures(refs, new_urls):
            await self._addresses.write_pictures(redirects)
        outcomes = await self._update_posts(found, new_urls)
        return report.after(
            outcomes,
            copier.copied - copied,
            copier.failures[failed:],
            copier.to_fetch - to_fetch,
        )

    async def _find_imported(self, posts: Sequence[SourcePost]) -> list[_Found]:
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
            found.append(_Found(post, record_id, refs))
        return found

    async def _update_posts(
        self, found: Sequence[_Found], new_urls: Mapping[str, str]
    ) -> list[Outcome]:
        outcomes = []
        async with self._destination.unit() as unit:
            for each in found:
                is_changed = bool(each.refs) and await self._update_post(unit, each, new_urls)
                reason = STILL_THERE if each.refs else NOTHING_LEFT
                outcomes.append(_outcome(each.post, is_changed, reason))
        return outcomes

    async def _update_post(self, unit: AnyUnit, found: _Found, new_urls: Mapping[str, str]) -> bool:
        if not isinstance(unit, Unit):
            # Which pictures can be fetched is not known.
            return True
        collection = collection_of(found.post)
        records = await unit.find(collection, {"id": found.record_id}, limit=1)
        if not records:
            return False
        changed = await unit.update(
            collection, found.record_id, _with_new_urls(records[0], new_urls)
        )
        if changed["version"] == records[0]["version"]:
            return False
        # So that the next import does not take this update for an edit by the publisher.
        key = key_of_post(found.post)
        known = await self._destination.items([key], unit)
        if known and known[key].record_version == records[0]["version"]:
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
