"""One import: its preview, how far it is, its report, and what can be done with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from masthead.base.errors import Conflict, Invalid
from masthead.base.languages.retelling import retold
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Handler, Page, Redirect
from masthead.faces.admin.environment import size_text
from masthead.faces.admin.forms import sentence_of
from masthead.faces.admin.pages.imports.options import options_form, options_of, stored_options
from masthead.faces.admin.pages.imports.results import Notes, lines_of, notes_of, undone_of
from masthead.faces.admin.pages.imports.runs import ADDRESS, NEW, PLATFORMS, state_of, without_flags
from masthead.faces.admin.pages.imports.samples import SampleRow, sample_rows
from masthead.faces.admin.request import AdminRequest
from masthead.faces.importers.collection import (
    DONE,
    FAILED,
    IMPORT,
    PICTURES,
    PREVIEW,
    QUEUED,
    UNDO,
)
from masthead.faces.importers.report import Report, read_report
from masthead.faces.importers.source import Options
from masthead.faces.importers.tasks.actions import (
    discard_import,
    find_run,
    possible_tasks,
    start_task,
)
from masthead.faces.importers.write.previous_imports import PreviousImports

STEPS = (words("File"), words("Preview"), words("Run"), words("Report"))
_WAITS = words("Waiting for its turn.")
_DOING = {
    PREVIEW: words("Reading the file. Nothing is written."),
    IMPORT: words("Importing posts, members and pictures."),
    PICTURES: words("Fetching the failed pictures again."),
    UNDO: words("Removing what was imported."),
}
_COUNTED = {PREVIEW: words("Read"), IMPORT: words("Imported"), PICTURES: "", UNDO: words("Removed")}


class Run(msgspec.Struct, frozen=True):
    """An import as its page shows it."""

    id: str
    url: str
    task: str
    badge: str
    state: str
    is_working: bool
    is_failed: bool
    error: str
    about: str
    """The file, its size and where it comes from."""
    step: int
    """The number of the step in `STEPS`, from 1."""
    doing: str
    counted: str
    done: int
    total: int
    """0 where it is unknown."""


async def run_page(request: AdminRequest, run_id: str) -> Answer:
    return await _page(request, await find_run(request.records, request.tenant_id, run_id))


async def _page(
    request: AdminRequest,
    run: Record,
    *,
    typed: Mapping[str, str] | None = None,
    problem: str = "",
    status: int = 200,
) -> Page:
    report = read_report(run["report"]) if run["report"] else None
    tasks = possible_tasks(run)
    shown = _shown(run, report)
    values: dict[str, Any] = {
        "run": shown,
        "back": ADDRESS,
        "new": NEW,
        "step_names": STEPS,
        "tasks": tasks,
        "lines": lines_of(report, run) if report else [],
        "undone": undone_of(report) if report and run["task"] == UNDO else None,
        # In a thread: the reasons may hold what a stranger wrote.
        **await asyncio.to_thread(_notes, report),
        "samples": [],
        "sample": 0,
    }
    if not shown.is_working and report and run["task"] != PREVIEW:
        values |= {
            "can_undo": UNDO in tasks and await _has_created(request, run),
            "can_retry": PICTURES in tasks,
            "failed_pictures": report.images.failed,
            "has_redirects": is_own_file(run, report.redirects_path),
            "has_errors": bool(report.errors),
        }
    if run["task"] == PREVIEW and run["state"] == DONE:
        samples = await sample_rows(request, run["id"])
        values |= {
            "options": options_form(
                stored_options(run["options"]),
                run["platform"],
                site_url=typed.get("site_url", "") if typed else None,
                error=problem,
            ),
            "samples": samples,
            "sample": _chosen(request, samples),
        }
    title = words("Import from %(platform)s", platform=PLATFORMS[run["platform"]])
    return Page("imports/run.html", title, values, status, fragment="imports/_run.html")


async def preview_again(request: AdminRequest, run_id: str) -> Answer:
    """With other options."""
    run = await find_run(request.records, request.tenant_id, run_id)
    try:
        options = options_of(request.form)
    except Invalid as error:
        problem = sentence_of(error.problems.get("site_url"))
        return await _page(request, run, typed=request.form, problem=problem, status=422)
    return await _start(request, run_id, PREVIEW, options)


def starts(task: str) -> Handler:
    async def start(request: AdminRequest, run_id: str) -> Answer:
        return await _start(request, run_id, task)

    return start


async def undo_form(request: AdminRequest, run_id: str) -> Answer:
    """The question before it."""
    run = await find_run(request.records, request.tenant_id, run_id)
    if UNDO not in possible_tasks(run):
        return Redirect(_url(run_id))
    previous = PreviousImports(request.records.database, request.tenant_id, run_id)
    values = {
        "run": _shown(run, None),
        "back": _url(run_id),
        "file_name": run["file_name"],
        "count": await previous.count_of_run(),
    }
    return Page("imports/undo.html", words("Undo this import?"), values)


async def discard(request: AdminRequest, run_id: str) -> Answer:
    await find_run(request.records, request.tenant_id, run_id)
    try:
        await discard_import(request.records, request.caller, run_id)
    except Conflict as error:
        return Redirect(_url(run_id), str(error))
    return Redirect(ADDRESS, words("The file was discarded. Nothing was imported."))


async def _start(
    request: AdminRequest, run_id: str, task: str, options: Options | None = None
) -> Answer:
    await find_run(request.records, request.tenant_id, run_id)
    try:
        await start_task(request.records, request.caller, run_id, task, options=options)
    except Conflict as error:
        return Redirect(_url(run_id), str(error))
    return Redirect(_url(run_id))


async def _has_created(request: AdminRequest, run: Record) -> bool:
    """Imports of earlier versions did not note what they created."""
    previous = PreviousImports(request.records.database, request.tenant_id, run["id"])
    return await previous.has_created()


def is_own_file(run: Record, key: str) -> bool:
    """A run from a shell has written its files where it was started."""
    return key.startswith(f"{run['tenant_id']}/")


def _url(run_id: str) -> str:
    return f"{ADDRESS}/{run_id}"


def _shown(run: Record, report: Report | None) -> Run:
    badge, state = state_of(run)
    task = run["task"]
    is_working = run["state"] not in (DONE, FAILED)
    done, total = _progress(task, report)
    size = f", {size_text(int(run['file_size']))}" if run["file_size"] else ""
    return Run(
        id=run["id"],
        url=_url(run["id"]),
        task=task,
        badge=badge,
        state=state,
        is_working=is_working,
        is_failed=run["state"] == FAILED,
        error=without_flags(retold(run["error"])),
        about=f"{run['file_name']}{size}",
        step=_step(task, run["state"]),
        doing=_WAITS if run["state"] == QUEUED else _DOING[task],
        counted=_COUNTED[task],
        done=done,
        total=total,
    )


def _step(task: str, state: str) -> int:
    if task == PREVIEW:
        return 2
    return 3 if task == IMPORT and state != DONE else 4


def _progress(task: str, report: Report | None) -> tuple[int, int]:
    if report is None or task == PICTURES:
        return 0, 0
    if task == UNDO:
        return report.undone.done, report.undone.total
    done, expected = report.done, report.expected
    total = expected.posts + expected.members + expected.comments
    return min(done.posts + done.members + done.comments, total), total


def _notes(report: Report | None) -> dict[str, Notes]:
    if report is None:
        return dict.fromkeys(("skips", "warnings", "errors"), Notes())
    return {
        "skips": notes_of(report.skips),
        "warnings": notes_of(report.warnings),
        "errors": notes_of(report.errors),
    }


def _chosen(request: AdminRequest, samples: Sequence[SampleRow]) -> int:
    given = request.query.get("sample", "")
    number = int(given) if given.isdecimal() and len(given) < 3 else 0
    return number if number < len(samples) else 0
