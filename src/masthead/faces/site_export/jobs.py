"""Exports that are requested in the admin: queued, made by the worker, and stored for a week.

The same writers as the command line's write them. An attempt that a crash has interrupted leaves no
file behind, and the next one starts from the beginning."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial
from tempfile import TemporaryFile
from typing import BinaryIO, Final, cast

import msgspec
from msgspec.structs import asdict

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.config.settings import Settings
from masthead.base.email_address import is_email, normal_email
from masthead.base.errors import Conflict, MastheadError, NotFound, Unavailable
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.jobs.isolation import isolated
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.read.page import ListRequest
from masthead.engine.records.write.unit import Unit
from masthead.faces.site_export.collection import (
    EXPIRED,
    FAILED,
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
from masthead.features.site.address import Sites
from masthead.identity.tenants import superusers, tenants
from masthead.outside.mail.outbox import Outbox
from masthead.storage.database import Database
from masthead.storage.file_chunks import chunks_of
from masthead.storage.objects import ObjectStore
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
NO_ROOM: Final = (
    "The server could not write the file. The operator may have to free space. Then try again."
)
NO_ANSWER: Final = "The database or the file store did not answer. Try again in a few minutes."
BROKEN: Final = (
    "Several attempts failed. Try again. If it still fails, the server's log has the cause."
)

Count = Callable[[str, int], Awaitable[None]]


class _Reading(msgspec.Struct, frozen=True):
    """The sources that the writers read from."""

    records: Records
    objects: ObjectStore
    settings: Settings
    sites: Sites


class SiteExports:
    def __init__(
        self,
        records: Records,
        objects: ObjectStore,
        mail: Outbox,
        sites: Sites,
        *,
        settings: Settings,
    ) -> None:
        self._records = records
        self._objects = objects
        self._mail = mail
        self._sites = sites
        self._settings = settings
        self._long_reads: Callable[[], AbstractAsyncContextManager[Database]] = partial(
            long_reads, records.database, settings.database_url
        )

    def handlers(self) -> Mapping[str, Handler]:
        return {MAKE_JOB: self._handle}

    async def begin(self, tenant_id: TenantId, wanted: Format, asked_by: str) -> Record:
        """Queues an export. Raises `Conflict` while another one is made."""
        # As the system: who leaves may do so while the site is read-only, before its deletion.
        async with self._records.unit(system(tenant_id)) as unit:
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
        now = self._records.clock()
        for each in await self._find_exports("state = 'ready' && expires_at <= @now"):
            with isolated("site_export.expire", export_id=each["id"]):
                async with self._records.unit(system(TenantId(each["tenant_id"]))) as unit:
                    await unit.update(site_exports, each["id"], {}, stamped={"state": EXPIRED})
        oldest = clock.to_text(now - ABANDONED_AFTER)
        is_open = "(state = 'queued' || state = 'running')"
        for each in await self._find_exports(f"{is_open} && updated < '{oldest}'"):
            with isolated("site_export.abandon", export_id=each["id"]):
                await self._fail(each, BROKEN)

    async def _handle(self, job: Job) -> None:
        export = await self._find(job.tenant_id, job.payload["id"])
        if export is None or export["state"] in WITHOUT_FILE:
            # An attempt that was killed may have stored its file after that of the record was
            # deleted.
            await self._objects.delete_prefix(export_folder(job.tenant_id, job.payload["id"]))
            return
        if export["state"] not in OPEN:
            return
        if job.attempts > MAX_ATTEMPTS:
            # The worker has died of it, or an error came that nothing below expects.
            await self._fail(export, BROKEN)
            return
        try:
            await self._make(job, export)
        except NotFound:
            if await self._find(job.tenant_id, export["id"]) is not None:
                raise
            await self._objects.delete(export_key(export))
        except (MastheadError, OSError) as error:
            if job.attempts < MAX_ATTEMPTS:
                raise
            log.exception("site_export.failed", export_id=export["id"])
            await self._fail(export, _reason(error))

    async def _make(self, job: Job, export: Record) -> None:
        # Imported with the first job, because the writers are slow to load.
        from masthead.faces.site_export.content import totals

        tenant_id, wanted = TenantId(export["tenant_id"]), Format(export["format"])
        for tenant in await self._records.find(tenants, {"id": tenant_id}, tenant_id=tenant_id):
            async with self._long_reads() as database:
                records = self._records.reading_from(database)
                reading = _Reading(records, self._objects, self._settings, self._sites)
                found = await totals(reading, tenant_id)
                # Of an archive, whose records are of many kinds, only about so many.
                total = sum(found[kind] for kind in KINDS[wanted] if kind in found)
                progress = _Progress(self._records, job, export, total)
                await progress.start()
                # Without a name in any folder, so a crash leaves nothing behind.
                with TemporaryFile() as file:
                    output = cast(BinaryIO, file)
                    report = await _write(reading, tenant, wanted, output, count=progress.count)
                    await self._store(export, output)
            await self._publish(export, report.pop("bytes"), report)

    async def _store(self, export: Record, file: BinaryIO) -> None:
        kind = f"application/{ENDINGS[Format(export['format'])]}"
        file.seek(0)
        await self._objects.put(export_key(export), chunks_of(file), content_type=kind)

    async def _publish(self, export: Record, size: int, report: dict[str, int]) -> None:
        """The file has its record, the older one of the format goes, and the email is queued: all
        or nothing."""
        now = self._records.clock()
        done = sum(report[kind] for kind in KINDS[Format(export["format"])])
        stamped = {
            "state": READY,
            "done": done,
            "total": done,
            "report": report,
            "bytes": size,
            "finished_at": clock.to_text(now),
            "expires_at": clock.to_text(now + EXPORT_LIFETIME),
        }
        async with self._records.unit(system(TenantId(export["tenant_id"]))) as unit:
            older = {"format": export["format"], "state": READY}
            for each in await unit.find(site_exports, older, limit=MOST):
                await unit.delete(site_exports, each["id"])
            await self._end(unit, export, stamped)

    async def _fail(self, export: Record, reason: str) -> None:
        now = clock.to_text(self._records.clock())
        stamped = {"state": FAILED, "error": reason, "finished_at": now}
        async with self._records.unit(system(TenantId(export["tenant_id"]))) as unit:
            await self._end(unit, export, stamped)

    async def _end(self, unit: Unit, export: Record, stamped: Mapping[str, object]) -> None:
        ended = await unit.update(site_exports, export["id"], {}, stamped=stamped)
        site = await self._sites.of(unit.tenant_id)
        for account in await self._asker(export):
            await self._mail.queue(unit, export_ended(site, account, ended))

    async def _asker(self, export: Record) -> list[Record]:
        """The account that asked, of the site or an operator's; none if it is gone."""
        for home in (TenantId(export["tenant_id"]), TenantId("")):
            found = await self._records.find(superusers, {"id": export["asked_by"]}, tenant_id=home)
            if found:
                return [each for each in found if is_email(normal_email(each["email"]))]
        return []

    async def _find(self, tenant_id: TenantId, export_id: str) -> Record | None:
        return await self._records.find_one(site_exports, {"id": export_id}, tenant_id=tenant_id)

    async def _find_exports(self, filter_: str) -> list[Record]:
        wanted = ListRequest(per_page=MOST, filter=filter_, skip_total=True)
        return (await self._records.page(system(), site_exports, wanted)).items


class _Progress:
    """Writes from time to time how far the export has come."""

    def __init__(self, records: Records, job: Job, export: Record, total: int) -> None:
        self._records = records
        self._job = job
        self._export = export
        self._total = total
        self._done = 0
        self._next = 0.0

    async def start(self) -> None:
        await self._write(state=RUNNING, done=0, total=self._total)

    async def count(self, _kind: str, count: int) -> None:
        """Raises `NotFound` when the export was removed meanwhile, which ends it, and `Stopped`."""
        self._job.check()
        self._done += count
        if time.monotonic() >= self._next:
            await self._write(done=min(self._done, self._total))
            self._next = time.monotonic() + PROGRESS_SECONDS

    async def _write(self, **stamped: object) -> None:
        async with self._records.unit(system(TenantId(self._export["tenant_id"]))) as unit:
            await unit.update(site_exports, self._export["id"], {}, stamped=stamped)


async def _write(
    reading: _Reading, tenant: Record, wanted: Format, file: BinaryIO, *, count: Count
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


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return NO_ROOM
    return NO_ANSWER if isinstance(error, Unavailable) else BROKEN
