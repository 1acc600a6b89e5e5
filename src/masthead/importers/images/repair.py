"""Copies pictures that an earlier import could not get, and puts their new addresses into what was
imported. Nothing else of a post changes, so what was edited here since stays."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from masthead.caller import system
from masthead.importers.files.archived import Archive
from masthead.importers.html.content import Prepared, rewrite
from masthead.importers.images.copying import ImageCopier, ImportServices
from masthead.importers.images.urls import ImageRef
from masthead.importers.images.wanted import WantedImages
from masthead.importers.opening import family_of
from masthead.importers.report import Outcome, Report
from masthead.importers.run.drafts import collection_of, key_of_post
from masthead.importers.run.memory import Item, Memory
from masthead.importers.run.pipeline import (
    PostReader,
    Request,
    Watch,
    notes_of,
    refuse_if_read_only,
)
from masthead.importers.run.preparing import Preparing
from masthead.importers.source import Skipped, Source, SourcePost
from masthead.outbound.downloads import RETRY_DELAYS, RetryDelays
from masthead.records.collection import Record
from masthead.records.write.unit import Unit

NOTHING_LEFT: Final = "no picture of the old site left"
STILL_THERE: Final = "pictures could not be copied"


@dataclass(frozen=True, slots=True)
class _Found:
    """A post of the export that is here, and those of its pictures that are not."""

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
        watch: Watch = lambda _: None,
        *,
        retry_delays: RetryDelays = RETRY_DELAYS,
    ) -> None:
        """`only` are the source ids of an errors file; None is every post of the export."""
        self._services = services
        self._source = source
        self._request = request
        self._only = only
        self._watch = watch
        self._preparing = Preparing(source.overview.posts)
        self._memory = Memory(services.records.database)
        self._family = family_of(source.overview)
        self._wanted = WantedImages(services.records, self._memory, request.tenant_id)
        self._archive = Archive(source.overview.files, source.read_file)
        self._copier = ImageCopier(
            services,
            request.tenant_id,
            self._memory,
            archive=self._archive,
            emit_events=request.emit_events,
            retry_delays=retry_delays,
        )

    async def run(self) -> Report:
        await refuse_if_read_only(self._services, self._request.tenant_id)
        overview = self._source.overview
        report = Report(overview.platform, dry_run=self._request.dry_run)
        reader = PostReader(self._source.posts(), self._request.batch_size)
        loop = asyncio.get_running_loop()
        # One thread for all of it: some parsers are tied to theirs.
        with (
            ThreadPoolExecutor(1, thread_name_prefix="import") as reading,
            closing(self._preparing),
        ):
            while batch := await loop.run_in_executor(reading, reader.next):
                report = await self._repair(batch.entries, report)
                self._watch(report)
        return report

    async def _repair(self, entries: Sequence[SourcePost | Skipped], report: Report) -> Report:
        posts = [each for each in entries if isinstance(each, SourcePost) and self._is_meant(each)]
        found = await self._found(posts)
        refs = [ref for each in found for ref in each.refs]
        if self._request.dry_run:
            outcomes = [_outcome(each.post, bool(each.refs)) for each in found]
            return report.after(outcomes, await self._wanted.count(refs))
        copied, failed = self._copier.copied, len(self._copier.failures)
        places = await self._copier.copy(refs)
        outcomes = await self._put_in(found, places)
        failures = notes_of(self._copier.failures[failed:])
        return report.after(outcomes, self._copier.copied - copied, failures)

    def _is_meant(self, post: SourcePost) -> bool:
        return self._only is None or post.source_id in self._only

    async def _items(self, posts: Sequence[SourcePost]) -> dict[str, Item]:
        tenant_id, memory = self._request.tenant_id, self._memory
        keys = [key_of_post(post) for post in posts]
        return await memory.items(memory.outside(tenant_id), tenant_id, self._family, keys)

    async def _found(self, posts: Sequence[SourcePost]) -> list[_Found]:
        items = await self._items(posts)
        here = [post for post in posts if key_of_post(post) in items]
        records = await self._records(items)
        here = [post for post in here if items[key_of_post(post)].record_id in records]
        made = await self._preparing.prepare(here, self._source.overview.site_url)
        found = []
        for post, prepared in zip(here, made, strict=True):
            record_id = items[key_of_post(post)].record_id
            refs: tuple[ImageRef, ...] = ()
            if isinstance(prepared, Prepared):
                wanted = [*prepared.images, *self._archive.wanted_by(prepared)]
                refs = _left(wanted, records[record_id])
            found.append(_Found(post, record_id, refs))
        return found

    async def _records(self, items: Mapping[str, Item]) -> dict[str, Record]:
        engine, caller = self._services.records, system(self._request.tenant_id)
        found: dict[str, Record] = {}
        for name in {item.collection for item in items.values()}:
            ids = [item.record_id for item in items.values() if item.collection == name]
            for record in await engine.related(caller, engine.registry[name], "id", ids, len(ids)):
                found[record["id"]] = record
        return found

    async def _put_in(self, found: Sequence[_Found], places: Mapping[str, str]) -> list[Outcome]:
        outcomes = []
        caller = system(self._request.tenant_id)
        async with self._services.records.unit(
            caller, emit_events=self._request.emit_events
        ) as unit:
            for each in found:
                is_changed = bool(each.refs) and await self._change(unit, each, places)
                reason = STILL_THERE if each.refs else NOTHING_LEFT
                outcomes.append(_outcome(each.post, is_changed, reason))
        return outcomes

    async def _change(self, unit: Unit, found: _Found, places: Mapping[str, str]) -> bool:
        collection = collection_of(found.post)
        records = await unit.find(collection, {"id": found.record_id}, limit=1)
        if not records:
            return False
        changed = await unit.update(
            collection, found.record_id, _with_new_places(records[0], places)
        )
        if changed["version"] == records[0]["version"]:
            return False
        # An edit of ours: the next import must not take it for one of the publisher's.
        key = key_of_post(found.post)
        known = await self._memory.items(unit.fetch, unit.tenant_id, self._family, [key])
        if known and known[key].record_version == records[0]["version"]:
            item = msgspec.structs.replace(known[key], record_version=changed["version"])
            await self._memory.remember(unit, self._family, {key: item})
        return True


def _left(wanted: Sequence[ImageRef], record: Record) -> tuple[ImageRef, ...]:
    """The pictures whose old address the record still has."""
    texts = [record.get("featured_image", ""), msgspec.json.encode(_bodies(record)).decode()]
    whole = "\n".join(texts).replace("&amp;", "&")
    return tuple(ref for ref in wanted if any(url in whole for url in ref.urls))


def _bodies(record: Record) -> list[Any]:
    names = ("content_html", "content_json", "description")
    return [record[name] for name in names if name in record]


def _with_new_places(record: Record, places: Mapping[str, str]) -> dict[str, Any]:
    if "description" in record:
        return {"description": rewrite(record["description"], None, places)[0]}
    html, document = rewrite(record["content_html"], record["content_json"], places)
    changes: dict[str, Any] = {"content_html": html, "content_json": document}
    if "featured_image" in record:
        image = record["featured_image"]
        changes["featured_image"] = places.get(image, image)
    return changes


def _outcome(post: SourcePost, is_changed: bool, reason: str = NOTHING_LEFT) -> Outcome:
    if is_changed:
        return Outcome(post.kind, post.source_id, "updated", post.title)
    return Outcome(post.kind, post.source_id, "skipped", post.title, reason)
