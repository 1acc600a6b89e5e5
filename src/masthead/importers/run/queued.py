"""Runs a queued import in the worker: fetches the uploaded file, imports it like the command line,
and stores the report with the run."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from masthead.caller import system
from masthead.errors import MastheadError, Unavailable
from masthead.importers.collection import DONE, FAILED, import_runs
from masthead.importers.files.uploaded import fetch
from masthead.importers.images.copying import ImportServices
from masthead.importers.jobs import StoredOptions
from masthead.importers.opening import open_export
from masthead.importers.report import Report, errors_file
from masthead.importers.run.pipeline import Import, Request, Stopped
from masthead.importers.run.redirects import RedirectRows
from masthead.importers.run.run_record import RunLog
from masthead.importers.source import Source
from masthead.jobs.runner import MAX_ATTEMPTS, Job
from masthead.outbound.downloads import RETRY_DELAYS, RetryDelays
from masthead.records.collection import Record
from masthead.records.write.unit import file_key

REDIRECTS_FILE: Final = "redirects.csv"
ERRORS_FILE: Final = "import-errors.json"
_LONGEST_NAME: Final = 60


class ImportJob:
    def __init__(
        self,
        services: ImportServices,
        job: Job,
        is_stopping: Callable[[], bool] = lambda: False,
        retry_delays: RetryDelays = RETRY_DELAYS,
    ) -> None:
        self._services = services
        self._job = job
        self._is_stopping = is_stopping
        self._retry_delays = retry_delays
        self._run_id: str = job.payload["run_id"]
        self._log = RunLog(services.records, job.tenant_id, self._run_id)

    async def run(self) -> None:
        found = await self._services.records.find(
            import_runs, {"id": self._run_id}, tenant_id=self._job.tenant_id
        )
        if not found or found[0]["state"] in (DONE, FAILED):
            return
        try:
            report = await self._import(found[0])
        except Stopped:
            async with self._services.records.unit(system(self._job.tenant_id)) as unit:
                await unit.enqueue(self._job.kind, self._job.payload)
            return
        except Unavailable:
            if self._job.attempts >= MAX_ATTEMPTS:
                await self._log.fail("The database or the file store did not answer.")
            raise
        except MastheadError as error:
            # A retry would fail again: the file is no export, or the site is read-only.
            await self._log.fail(str(error))
        else:
            await self._log.finish(report)
        await self._services.objects.delete(found[0]["object_key"])

    async def _import(self, run: Record) -> Report:
        settings = msgspec.convert(run["options"], StoredOptions)
        with tempfile.TemporaryDirectory(prefix="masthead-import-") as folder:
            path = Path(folder) / safe_name(run["file_name"])
            await fetch(self._services.objects, run["object_key"], path)
            source = await asyncio.to_thread(open_export, run["platform"], path, settings)
            with closing(source):
                return await self._run(source, settings, run["dry_run"])

    async def _run(self, source: Source, settings: StoredOptions, dry_run: bool) -> Report:
        request = Request(self._job.tenant_id, settings.batch_size, dry_run, settings.emit_events)
        work = Import(
            self._services,
            source,
            request,
            self._log,
            retry_delays=self._retry_delays,
            is_stopping=self._is_stopping,
        )
        with closing(work.redirects):
            report = await work.run()
            if not dry_run:
                await self._save(report, work.redirects)
        return report

    async def _save(self, report: Report, rows: RedirectRows) -> None:
        """Stores the files that the command line writes to its working directory."""
        objects = self._services.objects
        if rows.count:
            report.redirects_path = self._key(REDIRECTS_FILE)
            await objects.put(report.redirects_path, rows.content(), content_type="text/csv")
        if report.errors:
            report.errors_path = self._key(ERRORS_FILE)
            content = errors_file(report.errors)
            await objects.put(report.errors_path, content, content_type="application/json")

    def _key(self, name: str) -> str:
        return file_key(self._job.tenant_id, import_runs, self._run_id, name)


def safe_name(file_name: str) -> str:
    """The name of an uploaded file, safe for a temporary folder."""
    name = re.split(r"[/\\]", file_name)[-1][-_LONGEST_NAME:]
    return re.sub(r"[^\w.-]", "_", name).lstrip(".") or "export"
