"""Undoes a whole import: deletes the records that it has created, unless someone here has changed
them or readers depend on them. Records that it has updated stay as they are.

Each batch is one transaction with the progress, so an interrupted undo continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Final

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.content.texts.alt_texts import alts_in
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.write.relations import has_dependents
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.report import EDITED, GONE, IMPORTED, IN_USE, Report
from masthead.faces.importers.write.batches import SHOWN_CHARACTERS
from masthead.faces.importers.write.destinations import is_there
from masthead.faces.importers.write.pipeline import require_writable_site
from masthead.faces.importers.write.previous_imports import Item, PreviousImports
from masthead.faces.importers.write.run_record import RunLog
from masthead.features.comments.collection import comments
from masthead.features.media.collection import media
from masthead.features.media.services import SharedServices
from masthead.features.pages.collection import page_working_copies
from masthead.features.posts.collection import post_working_copies, posts
from masthead.features.site.redirects import redirects

BATCH: Final = 50

_USED_BY: Final[Mapping[str, Container[str]]] = {
    posts.name: (comments.name,),
    "products": ("payment_products",),
    "blog_members": ("orders", "payment_customers", "payment_subscriptions"),
    "_superusers": ("posts",),
}
"""The collections whose records must not lose a record that they point at, by its collection."""
_WORKING_COPIES: Final[Mapping[str, Container[str]]] = {
    posts.name: (post_working_copies.name,),
    "pages": (page_working_copies.name,),
}
"""Edits that are not published yet, which change no version."""
_TITLES: Final[Mapping[str, str]] = {
    posts.name: "title",
    "pages": "title",
    "products": "name",
    media.name: "filename",
    redirects.name: "source",
}


class Undo:
    def __init__(
        self,
        services: SharedServices,
        tenant_id: TenantId,
        log: RunLog,
        *,
        emit_events: bool = False,
        check_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self._services = services
        self._tenant_id = tenant_id
        self._log = log
        self._emit_events = emit_events
        self._check_stop = check_stop
        database = services.records.database
        self._previous = PreviousImports(database, tenant_id, log.run_id)

    async def run(self) -> Report:
        await require_writable_site(self._services, self._tenant_id)
        report = await self._log.start()
        assert report is not None, "only an import that has begun is undone"
        undone = report.undone
        undone.total = undone.done + await self._previous.count_of_run()
        for name in IMPORTED:
            collection = self._services.records.registry[name]
            while await self._undo_some(collection, report):
                self._check_stop()
        return report

    async def _undo_some(self, collection: Collection, report: Report) -> bool:
        """False where nothing of the collection is left."""
        records, name, undone = self._services.records, collection.name, report.undone
        removed: list[str] = []
        stayed: list[str] = []
        async with records.unit(system(self._tenant_id), emit_events=self._emit_events) as unit:
            items = await self._previous.of_run(unit, name, BATCH)
            for item in items:
                found = await unit.find_one(collection, {"id": item.record_id})
                reason = await self._remove(unit, collection, item, found) if found else GONE
                title = _title_of(collection, found) if found else ""
                undone.add(name, item.record_id, title, reason)
                # Deleted records are remembered, so that a later import does not bring them back.
                (stayed if reason else removed).append(item.record_id)
            await self._previous.forget(unit, name, removed)
            await self._previous.release(unit, name, stayed)
            await self._log.save(unit, report)
        return bool(items)

    async def _remove(self, unit: Unit, collection: Collection, item: Item, record: Record) -> str:
        """'' where it is deleted now, else the reason why not."""
        copies = _WORKING_COPIES.get(collection.name)
        if _is_edited(collection, item, record) or (
            copies and await has_dependents(unit, collection, item.record_id, copies)
        ):
            return EDITED
        if await self._is_used(unit, collection, record):
            return IN_USE
        if copies:
            await self._note_learned_alts(unit, record)
        await unit.delete(collection, item.record_id, taken_back=True)
        return ""

    async def _note_learned_alts(self, unit: Unit, text: Record) -> None:
        """The library has taken alternative texts from the imported text: nobody has edited those
        pictures."""
        alts = alts_in(text)
        for item in await unit.find_some(media, list(alts)) if alts else ():
            if item["alt"] == alts[item["id"]]:
                await self._previous.note_version(unit, media.name, item["id"], item["version"])

    async def _is_used(self, unit: Unit, collection: Collection, record: Record) -> bool:
        if collection is redirects:
            return await is_there(self._services.records, unit, record["destination"])
        if collection.name == media.name:
            return bool(record["uses"] or record["draft_uses"])
        used_by = _USED_BY.get(collection.name, ())
        return bool(used_by) and await has_dependents(unit, collection, record["id"], used_by)


def _is_edited(collection: Collection, item: Item, record: Record) -> bool:
    if collection.name == comments.name:
        # A reply has a new version as soon as the comment above it is gone. Their texts are not
        # edited here.
        return False
    if collection.name == media.name:
        # Earlier releases changed its version when the worker had made its copies.
        given = ("caption", "earlier_files", "focus_x", "focus_y")
        has_own_alt = record["alt"] and record["version"] != item.record_version
        return has_own_alt or any(record[name] for name in given)
    return bool(record["version"] != item.record_version)


def _title_of(collection: Collection, record: Record) -> str:
    """Not of people: the report is stored, and an erasure does not search it."""
    name = _TITLES.get(collection.name)
    return str(record[name])[:SHOWN_CHARACTERS] if name else ""
