"""Exports that are requested in the admin: queued, made by the worker, and stored for a week.

The same writers as the command line's write them. An attempt that a crash has interrupted leaves no
file behind, and the next one starts from the beginning."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from tempfile import TemporaryFile
from typing import BinaryIO, Final, cast

import msgspec
from msgspec.structs import asdict, replace

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.email_address import is_email, normal_email
from masthead.base.errors import Conflict, Unavailable
from masthead.base.ids import TenantId
from masthead.base.languages.words import marked
from masthead.engine.jobs.isolation import isolated
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Record
from masthead.engine.records.long_task import LongTask
from masthead.engine.records.write.unit import Unit
from masthead.faces.site_export.collection import (
    EXPIRED,
    OPEN,
    QUEUED,
    READY,
    RUNNING,
    WITHOUT_FILE,
    export_folder,
    export_key,
    site_exports,
)
from masthead.faces.site_export.emails import export_ended
from masthead.faces.site_export.formats import ENDINGS, KINDS, Format
from masthead.features.privacy.links import EXPORT_LIFETIME
from masthead.features.services import FeatureServices
from masthead.identity.tenants import superusers, tenants
from masthead.storage.file_chunks import chunks_of
from masthead.storage.sqlite.long_reads import long_reads

MAKE_JOB: Final = "site_export.make"
CONCURRENCY: Final = {MAKE_JOB: 1}
MAX_ATTEMPTS: Final = 4
"""A person waits for it, so the worker gives up sooner than with other jobs."""
PROGRESS_SECONDS: Final = 3.0
"""Between two writes of the progress: each is a change of the site, which invalidates its cached
pages."""
ABANDONED_AFTER: Final = timedelta(days=2)
"""No attempt at a job comes so late."""
MOST: Final = 100
"""Records of a site: of each format one that is ready and one that is not."""

ONE_AT_A_TIME: Final = "An export is already being made. Wait for it, or cancel it."
NO_ROOM: Final = marked(
    "The server could not write the file. The operator may have to free space. Then try again."
)
NO_ANSWER: Final = marked(
    "The database or the file store did not answer. Try again in a few minutes."
)
BROKEN: Final = marked(
    "Several attempts failed. Try again. If it still fails, the server's log has the cause."
)

Count = Callable[[str, int], Awaitable[None]]


class SiteExports(msgspec.Struct, frozen=True):
    services: FeatureServices

    def handlers(self) -> Mapping[str, Handler]:
        return {MAKE_JOB: self._make}

    async def _make(self, job: Job) -> None:
        await _Making(self.services, job).run()

    async def begin(self, tenant_id: TenantId, wanted: Format, asked_by: str) -> Record:
        """Queues an export. Raises `Conflict` while another one is made."""
        # As the system: who leaves may do so while the site is read-only, before its deletion.
        async with self.services.records.unit(system(tenant_id)) as unit:
            for each in await unit.find(site_exports, {}, limit=MOST):
                if each["state"] in OPEN:
                    raise Conflict(ONE_AT_A_TIME)
                if each["format"] == wanted and each["state"] != READY:
                    await unit.delete(site_exports, each["id"])
            stamped = {"format": wanted.value, "state": QUEUED, "asked_by": asked_by}
            export = await unit.create(site_exports, {}, stamped=stamped)
            await unit.enqueue(MAKE_JOB, {"id": export["id"]})
        return export

    async def sweep(self) -> None:
        """Deletes expired files, and ends exports that no worker is making any longer."""
        records = self.services.records
        now = records.clock()
        for each in await self._find_exports("state = 'ready' && expires_at <= @now"):
            with isolated("site_export.expire", export_id=each["id"]):
                async with records.unit(system(TenantId(each["tenant_id"]))) as unit:
                    await unit.update(site_exports, each["id"], {}, stamped={"state": EXPIRED})
        oldest = clock.to_text(now - ABANDONED_AFTER)
        is_open = "(state = 'queued' || state = 'running')"
        for each in await self._find_exports(f"{is_open} && updated < '{oldest}'"):
            with isolated("site_export.abandon", export_id=each["id"]):
                job = Job(TenantId(each["tenant_id"]), "", MAKE_JOB, {"id": each["id"]}, 0)
                await _Making(self.services, job).fail(each, BROKEN)

    async def _find_exports(self, filter_: str) -> list[Record]:
        return await self.services.records.first(system(), site_exports, MOST, filter=filter_)


class _Making(LongTask):
    """Counts the records as the writers go on."""

    collection = site_exports
    attempts = MAX_ATTEMPTS
    gave_up = BROKEN

    def __init__(self, services: FeatureServices, job: Job) -> None:
        super().__init__(services.records, job)
        self._services = services
        self._done = self._total = 0
        self._next = 0.0

    async def work(self, record: Record) -> None:
        # Imported with the first job, because the writers are slow to load.
        from masthead.faces.site_export.content import totals

        services, wanted = self._services, Format(record["format"])
        key = {"id": self.tenant_id}
        tenant = await self.records.require(tenants, key, tenant_id=self.tenant_id)
        async with long_reads(self.records.database, services.settings.database_url) as database:
            reading = replace(services, records=self.records.reading_from(database))
            found = await totals(reading, self.tenant_id)
            # Of an archive, whose records are of many kinds, only about so many.
            self._total = sum(found[kind] for kind in KINDS[wanted] if kind in found)
            await self.stamp(state=RUNNING, done=0, total=self._total)
            # Without a name in any folder, so a crash leaves nothing behind.
            with TemporaryFile() as file:
                output = cast(BinaryIO, file)
                report = await _write(reading, tenant, wanted, output, count=self._count)
                output.seek(0)
                kind = f"application/{ENDINGS[wanted]}"
                await services.objects.put(export_key(record), chunks_of(output), content_type=kind)
        size, done = report.pop("bytes"), sum(report[kind] for kind in KINDS[wanted])
        expires = clock.to_text(self.records.clock() + EXPORT_LIFETIME)
        numbers = {"done": done, "total": done, "report": report, "bytes": size}
        await self.end(READY, **numbers, expires_at=expires)

    async def _count(self, _kind: str, count: int) -> None:
        """Raises `NotFound` when the export was removed meanwhile, which ends it, and `Stopped`."""
        self.job.check()
        self._done += count
        if time.monotonic() >= self._next:
            await self.stamp(done=min(self._done, self._total))
            self._next = time.monotonic() + PROGRESS_SECONDS

    async def ended(self, unit: Unit, record: Record) -> None:
        """The email is queued, and the older file of the format goes, in the same transaction."""
        if record["state"] == READY:
            older = {"format": record["format"], "state": READY}
            for each in await unit.find(site_exports, older, limit=MOST):
                if each["id"] != self.id:
                    await unit.delete(site_exports, each["id"])
        site = await self._services.sites.of(self.tenant_id)
        for account in await self._asker(record):
            await self._services.mail.queue(unit, export_ended(site, account, record))

    async def _asker(self, export: Record) -> list[Record]:
        """The account that asked, of the site or an operator's; none if it is gone."""
        for home in (self.tenant_id, TenantId("")):
            found = await self.records.find(superusers, {"id": export["asked_by"]}, tenant_id=home)
            if found:
                return [each for each in found if is_email(normal_email(each["email"]))]
        return []

    async def tidy(self) -> None:
        record = await self.find()
        if record is None or record["state"] in WITHOUT_FILE:
            # An attempt that was killed may have stored its file after that of the record was
            # deleted.
            await self._services.objects.delete_prefix(export_folder(self.tenant_id, self.id))

    def may_be_mended(self, error: Exception) -> bool:
        return True

    def reason(self, error: Exception) -> str:
        if isinstance(error, OSError):
            return NO_ROOM
        return NO_ANSWER if isinstance(error, Unavailable) else BROKEN


async def _write(
    reading: FeatureServices, tenant: Record, wanted: Format, file: BinaryIO, *, count: Count
) -> dict[str, int]:
    """How many records of each kind are in the file, and its `bytes`."""
    if wanted is not Format.MASTHEAD:
        from masthead.faces.site_export.run import write_site

        return asdict(await write_site(reading, tenant, wanted, file, count=count))
    from masthead.faces.site_archive import export as archive

    written = await archive.write_site(reading, tenant, file, count=count)
    return {
        "records": written.records,
        "media": written.media,
        "missing_files": written.missing,
        "bytes": written.bytes,
    }
