"""A deep check: all steps for each site, and those that are about all sites at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.engine.links.file_uses import MEDIA
from masthead.service.backup.stored_files import key_reader
from masthead.service.deep_check.counters import check_totals, has_totals
from masthead.service.deep_check.deliveries import check_events, check_queues
from masthead.service.deep_check.documents import check_documents
from masthead.service.deep_check.faults import PLATFORM, Batch, Cursor, Fault, Look, Site, Step
from masthead.service.deep_check.files import check_folders, check_left, check_stored
from masthead.service.deep_check.leftovers import check_leftovers
from masthead.service.deep_check.lists import check_items, has_lists
from masthead.service.deep_check.progress_file import Progress, Reported
from masthead.service.deep_check.records import check_records
from masthead.service.deep_check.uses import check_uses
from masthead.service.schema import registry, tables
from masthead.storage.database import EVERY_TENANT

CHECKS: Final = {
    "records": "records",
    "relations": "records",
    "secrets": "records",
    "search": "records",
    "lists": "lists",
    "counters": "counters",
    "deliveries": "deliveries",
    "files": "files",
    "orphans": "orphans",
}
"""The kinds of faults in the order of the report, each with the steps in which they are found."""

Advance = Callable[[str, int], None]
Save = Callable[[Progress], None]


def steps_of_site(look: Look) -> list[Step]:
    """From the declarations: a new collection, counter, list, relation, secret or file is checked
    by itself."""
    found = [
        Step("records", each.name, partial(check_records, look, each))
        for each in registry.collections
    ]
    found += [
        Step("lists", each.name, partial(check_items, look, each))
        for each in registry.collections
        if has_lists(each)
    ]
    found.append(Step("counters", f"uses of {MEDIA}", partial(check_uses, look)))
    found += [
        Step("counters", each.name, partial(check_totals, look, each))
        for each in registry.collections
        if has_totals(each)
    ]
    found.append(Step("deliveries", "events", partial(check_events, look)))
    found.append(Step("deliveries", "queues", partial(check_queues, look)))
    found += [
        Step("files", each.name, partial(check_stored, look, each))
        for each in registry.collections
        if key_reader(each) is not None
    ]
    found.append(Step("orphans", "files", partial(check_left, look)))
    return found


def steps_of_all(look: Look) -> list[Step]:
    return [
        Step("search", "documents", partial(check_documents, look)),
        Step("orphans", "folders", partial(check_folders, look)),
        Step("orphans", "rows", partial(check_leftovers, look)),
    ]


class DeepCheck(msgspec.Struct, frozen=True):
    look: Look
    progress: Progress
    repairs: bool
    advance: Advance
    save: Save

    async def run(self, named: str = "") -> Progress:
        """Checks all sites, or the one with this slug or id, from where `progress` is."""
        sites = await find_sites(self.look, named)
        for site in sites:
            if site.id < self.progress.site:
                continue
            await self._run_steps(site, steps_of_site(self.look))
            self.advance("sites", 1)
        if not named and self.progress.site <= _LAST:
            await self._run_steps(Site(TenantId(_LAST), ""), steps_of_all(self.look))
        self.progress.is_complete = True
        self.save(self.progress)
        return self.progress

    async def _run_steps(self, site: Site, steps: list[Step]) -> None:
        progress = self.progress
        names = [each.name for each in steps]
        first, after = 0, ()
        if progress.site == site.id and progress.step in names:
            first, after = names.index(progress.step), tuple(progress.after)
        for step in steps[first:]:
            progress.site, progress.step, progress.after = site.id, step.name, list(after)
            about = PLATFORM if site.id == _LAST else site
            async for batch in _batches(step, about, after):
                await self._take(about, step, batch)
            after = ()

    async def _take(self, site: Site, step: Step, batch: Batch) -> None:
        for fault in batch.faults:
            is_repaired = self.repairs and fault.repair is not None
            if is_repaired:
                assert fault.repair is not None
                await fault.repair()
            self.progress.report(_reported(site, fault, is_repaired=is_repaired))
        self.progress.count(step.check, batch.checked)
        self.progress.after = list(batch.after)
        self.advance(step.check, batch.checked)
        self.save(self.progress)


_LAST: Final = "~"
"""Sorts after every id: where the steps about all sites are."""


async def _batches(step: Step, site: Site, after: Cursor) -> AsyncIterator[Batch]:
    async for batch in step.run(site, after):
        yield batch


def _reported(site: Site, fault: Fault, *, is_repaired: bool) -> Reported:
    return Reported(
        check=fault.check,
        site=site.slug,
        collection=fault.collection,
        id=fault.id,
        detail=fault.detail,
        can_repair=fault.repair is not None,
        repaired=is_repaired,
    )


async def find_sites(look: Look, named: str = "") -> list[Site]:
    """In the order of their ids, and the platform's own records first. Without sites that are being
    imported or erased: their rows come and go past the engine."""
    statement = look.statement("all sites", _sites)
    now = clock.to_text(look.parts.records.clock())
    rows = await look.parts.database.fetch(EVERY_TENANT, *statement({"now": now}), slow=True)
    found = [Site(TenantId(tenant_id), slug) for tenant_id, slug in rows if slug[0] != "-"]
    if not named:
        return [PLATFORM, *found]
    for each in found:
        if named in (each.id, each.slug):
            return [each]
    raise NotFound(f"There is no tenant {named!r}")


def _sites() -> sa.Select[Any]:
    t, r = tables["tenants"].c, tables["gdpr_requests"].c
    erasure = sa.exists().where(
        r.tenant_id == t.tenant_id,
        r.type == "delete",
        r.subject == "tenant",
        r.status == "queued",
        r.confirmed_at != "",
        r.grace_until <= sa.bindparam("now", required=True),
    )
    return sa.select(t.id, t.slug).where(~erasure).order_by(t.id)
