"""Runs `masthead import`: opens the export and the installation, imports, and writes the files."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import asdict

from masthead.base import clock
from masthead.base.errors import MastheadError
from masthead.base.languages.words import as_text
from masthead.base.whole_file import PUBLIC, CannotWrite, whole_file
from masthead.faces.importers.platforms.exports import open_export
from masthead.faces.importers.report import Note, Report, errors_file, read_errors
from masthead.faces.importers.source import BadFile, Overview, Source
from masthead.faces.importers.write.pipeline import Import, OnProgress, Request
from masthead.faces.importers.write.redirects import RedirectRows
from masthead.faces.importers.write.run_record import NewRun, RunLog, open_shell_run
from masthead.features.media.services import SharedServices
from masthead.service.cli.importing.options import ImportOptions
from masthead.service.cli.invocation import Invocation, Output
from masthead.service.cli.opened_installation import opened_site
from masthead.service.cli.progress import progress

ERRORS_FILE = "import-errors.json"


async def run_import(invocation: Invocation, options: ImportOptions) -> Output:
    for path in (options.redirects, options.report):
        _check_folder(path)
    async with _open_import(invocation, options) as parts:
        report, skipped, redirects = await _run(parts, options)
    _save_report(report, options.report, skipped, redirects)
    return _shown(report, invocation)


async def repair_images(
    invocation: Invocation, options: ImportOptions, retry_errors: Path | None
) -> Output:
    # Imported here, because it loads all that stores uploads.
    from masthead.faces.importers.write.images.repair import ImageRepair

    _check_folder(options.report)
    source_ids = _failed_posts(retry_errors)
    async with _open_import(invocation, options) as parts:
        repair = ImageRepair(
            parts.services,
            parts.source,
            parts.request,
            RunLog(parts.services.records, parts.request.tenant_id),
            only=source_ids,
            on_progress=parts.on_progress,
        )
        report = await repair.run()
    _save_errors(report)
    _save_report(report, options.report, report.skips)
    return _shown(report, invocation)


class OpenedImport(msgspec.Struct, frozen=True):
    services: SharedServices
    source: Source
    request: Request
    on_progress: OnProgress


@asynccontextmanager
async def _open_import(
    invocation: Invocation, options: ImportOptions
) -> AsyncIterator[OpenedImport]:
    # The export first: a bad file must not create a database.
    with _reading_shown(invocation):
        source = open_export(options.platform, options.file, options.reader)
    with closing(source):
        async with opened_site(invocation, options.tenant) as site:
            request = Request(
                site.id,
                options.batch_size,
                options.dry_run,
                options.emit_events,
                options.reader.consent,
            )
            with _progress_shown(invocation, source.overview) as on_progress:
                yield OpenedImport(site.parts, source, request, on_progress)


@contextmanager
def _reading_shown(invocation: Invocation) -> Iterator[None]:
    """During the first pass over the export. Rich is loaded only then, because it is slow to
    load."""
    if invocation.as_json or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status("Reading the export …"):
        yield


@contextmanager
def _progress_shown(invocation: Invocation, overview: Overview) -> Iterator[OnProgress]:
    totals = {"posts": overview.posts, "members": overview.members}
    shown = dict.fromkeys(totals, 0)
    with progress(totals, is_shown=not invocation.as_json) as advance:

        def update(report: Report) -> None:
            for kind in totals:
                done: int = getattr(report.done, kind)
                advance(kind, done - shown[kind])
                shown[kind] = done

        yield update


def _shown(report: Report, invocation: Invocation) -> Output:
    if invocation.as_json:
        return Output(report.summary())
    from masthead.service.cli.importing.summary import summary_table

    return Output(report.summary(), summary_table(report))


async def _run(
    parts: OpenedImport, options: ImportOptions
) -> tuple[Report, list[Note], list[dict[str, str]]]:
    """The report; what was skipped; and the redirects for its file, where one is wanted."""
    records, request = parts.services.records, parts.request
    log = RunLog(records, request.tenant_id)
    if not options.dry_run:
        stored = {**asdict(options.reader), "emit_events": options.emit_events}
        new = NewRun(options.platform, options.file.name, options=stored)
        log = await open_shell_run(records, request.tenant_id, new)
    skipped: list[Note] = []
    work = Import(
        parts.services,
        parts.source,
        request,
        log,
        on_progress=parts.on_progress,
        skipped=skipped if options.report else None,
    )
    with closing(work.redirects):
        try:
            report = await work.run()
        except MastheadError as error:
            await log.fail(str(error))
            raise
        if not options.dry_run:
            _save_redirects(report, work.redirects, options.redirects, records.clock)
            _save_errors(report)
        redirects = work.redirects.rows() if options.report else []
    await log.finish(report)
    return report, skipped, redirects


def _failed_posts(path: Path | None) -> frozenset[str] | None:
    """The source ids in an errors file; None, for all posts, without one."""
    if path is None:
        return None
    try:
        errors = read_errors(path.read_bytes())
    except OSError as error:
        raise BadFile(f"{path} can't be read ({error.strerror}).") from error
    except msgspec.MsgspecError as error:
        raise BadFile(f"{path} is not an import-errors.json.") from error
    return frozenset(each.source_id for each in errors if each.kind == "image")


def _check_folder(path: Path | None) -> None:
    """Checked before the import, so that its result is not lost."""
    if path is not None and not path.resolve().parent.is_dir():
        raise CannotWrite(f"There is no folder {path.resolve().parent}.")


def _save_redirects(
    report: Report, rows: RedirectRows, wanted: Path | None, now: clock.Clock
) -> None:
    if wanted is None and not rows.count:
        return
    path = wanted or Path(f"redirects-{now():%Y%m%d-%H%M%S}.csv")
    _write(path, rows.content())
    report.redirects_path = str(path)


def _save_errors(report: Report) -> None:
    if report.errors and not report.dry_run:
        _write(Path(ERRORS_FILE), errors_file(report.errors))
        report.errors_path = ERRORS_FILE


def _save_report(
    report: Report,
    path: Path | None,
    skipped: Sequence[Note],
    redirects: Sequence[Mapping[str, str]] = (),
) -> None:
    """Not readable by others: it names members who were skipped."""
    if path is not None:
        whole = msgspec.json.encode(
            {**report.full(skipped), "redirect_list": redirects}, enc_hook=as_text
        )
        with whole_file(path) as file:
            file.write(msgspec.json.format(whole) + b"\n")


def _write(path: Path, content: bytes) -> None:
    """Readable by others, such as the web server that gets the redirects."""
    with whole_file(path, PUBLIC) as file:
        file.write(content)
