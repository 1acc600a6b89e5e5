"""Does the task of a queued import in the worker: fetches the uploaded file, imports it like the
command line, and stores the report with the run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Final

import msgspec

from masthead.base.caller import system
from masthead.base.counters import IMPORTS
from masthead.base.errors import NotFound
from masthead.base.languages.words import staff_marked
from masthead.engine.jobs.runner import Job
from masthead.engine.records.collection import Record, file_key
from masthead.engine.records.long_task import LongTask
from masthead.faces.importers.collection import DONE, FAILED, PICTURES, PREVIEW, UNDO, import_runs
from masthead.faces.importers.files.uploaded import fetch
from masthead.faces.importers.files.work_folder import work_folder
from masthead.faces.importers.platforms.exports import open_export
from masthead.faces.importers.report import IMAGE, Note, Report, errors_file, read_errors
from masthead.faces.importers.source import Source
from masthead.faces.importers.tasks.actions import possible_tasks
from masthead.faces.importers.tasks.queue import (
    FILE_STAYS,
    StoredOptions,
    drop_file,
    folder_of,
    sweep_later,
)
from masthead.faces.importers.write.file_names import (
    ERRORS_FILE,
    REDIRECTS_FILE,
    SAMPLES_FILE,
    safe_name,
)
from masthead.faces.importers.write.images.repair import ImageRepair
from masthead.faces.importers.write.pipeline import Import, Request
from masthead.faces.importers.write.redirects import RedirectRows
from masthead.faces.importers.write.run_record import RunLog
from masthead.faces.importers.write.undo import Undo
from masthead.features.media.services import SharedServices
from masthead.outside.outbound.downloads import RETRY_DELAYS, RetryDelays

GAVE_UP: Final = staff_marked(
    "It was interrupted repeatedly: the database or the file store did not answer, or the "
    "file is more than this server can read. Try a smaller export, or ask the operator."
)


class ImportJob(LongTask):
    collection = import_runs
    key = "run_id"
    gave_up = GAVE_UP

    def __init__(
        self,
        services: SharedServices,
        job: Job,
        retry_delays: RetryDelays = RETRY_DELAYS,
    ) -> None:
        super().__init__(services.records, job)
        self._services = services
        self._retry_delays = retry_delays
        self._log = RunLog(services.records, job.tenant_id, self.id, self.require_turn)

    async def find(self) -> Record | None:
        """None for a job that was interrupted after its task had ended: it finds the next one,
        which has a job of its own."""
        run = await super().find()
        is_its_own = run and run["task"] == self.job.payload.get("task", run["task"])
        return run if is_its_own else None

    async def work(self, record: Record) -> None:
        await self._log.finish(await self._do_task(record))
        IMPORTS.add(record["task"], DONE)

    async def fail(self, record: Record, reason: str) -> None:
        await self._log.fail(reason)
        IMPORTS.add(record["task"], FAILED)

    async def tidy(self) -> None:
        if await super().find() is None:
            # What was stored after the record was deleted with its files.
            folder = folder_of(self.tenant_id, self.id)
            await self._services.objects.delete_prefix(folder)
            return
        run = await self.find()
        if run is None or run["state"] not in (DONE, FAILED):
            return
        if run["object_key"]:
            async with self.records.unit(system(self.tenant_id), emit_events=False) as unit:
                if possible_tasks(run) & {PREVIEW, PICTURES}:
                    await sweep_later(unit, self.id, FILE_STAYS)
                else:
                    await drop_file(unit, run)
        if run["task"] != PREVIEW or run["state"] != DONE:
            await self._services.objects.delete(self._key(SAMPLES_FILE))

    async def _do_task(self, run: Record) -> Report:
        settings = msgspec.convert(run["options"] or {}, StoredOptions)
        if run["task"] == UNDO:
            undo = Undo(
                self._services,
                self.tenant_id,
                self._log,
                emit_events=settings.emit_events,
                check_stop=self.job.check,
            )
            return await undo.run()
        async with self._opened(run, settings) as source:
            if run["task"] == PICTURES:
                return await self._retry_pictures(source, settings)
            return await self._import(source, settings, run["task"] == PREVIEW)

    @asynccontextmanager
    async def _opened(self, run: Record, settings: StoredOptions) -> AsyncIterator[Source]:
        with work_folder() as folder:
            path = folder / safe_name(run["file_name"])
            await fetch(self._services.objects, run["object_key"], path)
            source = await asyncio.to_thread(open_export, run["platform"], path, settings)
            with closing(source):
                yield source

    async def _import(self, source: Source, settings: StoredOptions, dry_run: bool) -> Report:
        request = Request(
            self.tenant_id,
            settings.batch_size,
            dry_run,
            settings.emit_events,
            settings.consent,
        )
        work = Import(
            self._services,
            source,
            request,
            self._log,
            retry_delays=self._retry_delays,
            check_stop=self.job.check,
        )
        with closing(work.redirects):
            report = await work.run()
            if dry_run:
                samples = await asyncio.to_thread(work.samples.content)
                await self._services.objects.put(self._key(SAMPLES_FILE), samples)
            else:
                await self._save_redirects(report, work.redirects)
                await self._save_errors(report)
        return report

    async def _retry_pictures(self, source: Source, settings: StoredOptions) -> Report:
        """After an interruption it begins again: what was copied is not fetched again."""
        report = await self._log.start()
        assert report is not None, "only an import that is done has pictures that failed"
        failed = await self._find_failed_posts(report)
        request = Request(self.tenant_id, settings.batch_size, emit_events=settings.emit_events)
        repair = ImageRepair(
            self._services,
            source,
            request,
            self._log,
            only=failed,
            check_stop=self.job.check,
            retry_delays=self._retry_delays,
        )
        report = report.after_retry(await repair.run())
        await self._save_errors(report)
        return report

    async def _find_failed_posts(self, report: Report) -> frozenset[str]:
        """From the file, which has all of them; the report has the first."""
        errors = await self._read_errors(report)
        return frozenset(each.source_id for each in errors if each.kind == IMAGE)

    async def _read_errors(self, report: Report) -> list[Note]:
        try:
            stored = await self._services.objects.get(self._key(ERRORS_FILE))
        except NotFound:
            return report.errors
        return read_errors(b"".join([chunk async for chunk in stored.chunks]))

    async def _save_redirects(self, report: Report, rows: RedirectRows) -> None:
        """The files that the command line writes to its working directory."""
        if rows.count:
            report.redirects_path = self._key(REDIRECTS_FILE)
            await self._services.objects.put(
                report.redirects_path, rows.content(), content_type="text/csv"
            )

    async def _save_errors(self, report: Report) -> None:
        key = self._key(ERRORS_FILE)
        if report.errors:
            report.errors_path = key
            content = errors_file(report.errors)
            await self._services.objects.put(key, content, content_type="application/json")
        elif report.errors_path:
            report.errors_path = ""
            await self._services.objects.delete(key)

    def _key(self, name: str) -> str:
        return file_key(self.tenant_id, import_runs, self.id, name)
