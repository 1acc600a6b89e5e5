"""The files of an import to download: its redirects, and what failed."""

from __future__ import annotations

from collections.abc import AsyncIterator

from masthead.base.errors import NotFound
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Download
from masthead.faces.admin.pages.imports.run import is_own_file
from masthead.faces.admin.request import AdminRequest
from masthead.faces.importers.report import Report, errors_file, read_report
from masthead.faces.importers.tasks.actions import find_run
from masthead.faces.importers.write.file_names import ERRORS_FILE, REDIRECTS_FILE


async def redirects_file(request: AdminRequest, run_id: str) -> Answer:
    run, report = await _find_run(request, run_id)
    if not is_own_file(run, report.redirects_path):
        raise NotFound
    stored = await request.services.objects.get(report.redirects_path)
    return Download(stored.chunks, REDIRECTS_FILE, "text/csv; charset=utf-8")


async def errors_download(request: AdminRequest, run_id: str) -> Answer:
    """All of them; of a run from a shell those that its report has."""
    run, report = await _find_run(request, run_id)
    if is_own_file(run, report.errors_path):
        stored = await request.services.objects.get(report.errors_path)
        return Download(stored.chunks, ERRORS_FILE, "application/json")
    if not report.errors:
        raise NotFound
    return Download(_once(errors_file(report.errors)), ERRORS_FILE, "application/json")


async def _find_run(request: AdminRequest, run_id: str) -> tuple[Record, Report]:
    run = await find_run(request.records, request.tenant_id, run_id)
    if not run["report"]:
        raise NotFound
    return run, read_report(run["report"])


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content
