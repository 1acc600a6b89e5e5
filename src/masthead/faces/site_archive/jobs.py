"""Imports of sites that an operator uploads in the admin: checked, stored, and made by the worker.

What can be refused at once is refused at once. The site appears in the list of sites when it is
ready. A job that fails later is in the operator's queue, with its reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Mapping
from datetime import timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Final

import msgspec

from masthead.base import clock, ids
from masthead.base.caller import Caller, system
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.jobs.runner import Handler, Job
from masthead.faces.site_archive.header import Contents, read_site
from masthead.faces.site_archive.importing import import_site, require_free, unsealed
from masthead.faces.site_archive.leftovers import Leftovers
from masthead.faces.site_archive.new_ids import NewIds
from masthead.features.media.services import SharedServices
from masthead.identity.limits.plans import Plan
from masthead.identity.tenants import TenantStatus, tenants
from masthead.storage.file_chunks import chunks_of, write_chunks

IMPORT_JOB: Final = "site_archive.import"
CONCURRENCY: Final = {IMPORT_JOB: 1}
FILE_STAYS: Final = timedelta(days=2)
"""No attempt at a job comes so late."""
_FOLDER: Final = "site-imports"
_PURPOSE: Final = "site-import-passphrase"
_IDS: Final = "site-import-ids"


class SiteImports(msgspec.Struct, frozen=True):
    services: SharedServices

    def handlers(self) -> Mapping[str, Handler]:
        return {IMPORT_JOB: self._handle}

    async def begin(
        self,
        caller: Caller,
        chunks: AsyncIterable[bytes],
        *,
        slug: str,
        plan: Plan,
        passphrase: str,
    ) -> str:
        """Stores the file and queues its import. Returns the slug of the new site. Raises
        `MastheadError` for what is no archive, and for a slug that can't be had."""
        with NamedTemporaryFile(prefix="masthead-site-") as file:
            await write_chunks(chunks, file)
            contents = await asyncio.to_thread(read_site, Path(file.name))
            slug = slug or contents.header.slug
            await require_free(self.services.records, slug)
            await unsealed(contents, passphrase)
            await self._queue(caller, file, slug=slug, plan=plan, passphrase=passphrase)
        return slug

    async def _queue(
        self, caller: Caller, file: IO[bytes], *, slug: str, plan: Plan, passphrase: str
    ) -> None:
        records, keyring = self.services.records, self.services.keyring
        key = f"{_FOLDER}/{ids.new_id()}/site.tar"
        payload = {
            "key": key,
            "slug": slug,
            "plan": plan.value,
            "passphrase": keyring.encrypt(_PURPOSE, passphrase, key) if passphrase else "",
        }
        remove_at = clock.to_text(records.clock() + FILE_STAYS)
        # First: a crash leaves no file that nothing removes.
        async with records.unit(system()) as unit:
            await unit.enqueue("files.remove", {"keys": [key]}, remove_at)
        file.seek(0)
        await self.services.objects.put(key, chunks_of(file))
        async with records.unit(system()) as unit:
            await unit.enqueue(IMPORT_JOB, payload)
        log.info("site.import_queued", slug=slug, account_id=caller.id)

    async def _handle(self, job: Job) -> None:
        key, slug, sealed = (job.payload[name] for name in ("key", "slug", "passphrase"))
        passphrase = self.services.keyring.decrypt(_PURPOSE, sealed, key) if sealed else ""
        # The same ids at every attempt: one that died is found, and one that ended is not repeated.
        new_ids = NewIds(self.services.keyring.derive(f"{_IDS}/{key}"))
        with NamedTemporaryFile(prefix="masthead-site-") as file:
            try:
                stored = await self.services.objects.get(key)
            except NotFound:
                return
            await write_chunks(stored.chunks, file)
            contents = await asyncio.to_thread(read_site, Path(file.name))
            if not await self._is_done(new_ids, contents):
                # Jobs of earlier releases name no plan.
                plan = Plan(job.payload.get("plan", Plan.FREE))
                await import_site(
                    self.services,
                    Path(file.name),
                    slug=slug,
                    plan=plan,
                    passphrase=passphrase,
                    new_ids=new_ids,
                )
        await self.services.objects.delete(key)

    async def _is_done(self, new_ids: NewIds, contents: Contents) -> bool:
        tenant_id = TenantId(new_ids.of(contents.header.tenant_id))
        records = self.services.records
        found = await records.find_one(tenants, {"id": tenant_id}, tenant_id=tenant_id)
        is_unfinished = found is None or (
            found["slug"].startswith("-") and found["status"] == TenantStatus.SUSPENDED
        )
        if is_unfinished:
            await Leftovers(records, self.services.objects).remove(tenant_id)
            return False
        return True
