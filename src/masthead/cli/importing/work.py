"""The work of `masthead import`: the export and the installation opened, the run, and the files
that it leaves."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from masthead import clock
from masthead.cli.importing.options import Outputs, Wish
from masthead.cli.invocation import Invocation, Shown
from masthead.cli.opened_installation import opened
from masthead.errors import MastheadError
from masthead.identity.tenant_lookup import tenant_named
from masthead.ids import TenantId
from masthead.importers.opening import open_export
from masthead.importers.report import Report, errors_file, read_errors
from masthead.importers.run.pipeline import Import, Request, Watch
from masthead.importers.run.redirects import CannotWrite, RedirectRows, write_whole
from masthead.importers.run.run_record import NewRun, RunLog, open_shell_run
from masthead.importers.source import BadFile, Overview, Source

if TYPE_CHECKING:
    from masthead.importers.images.copying import ImportServices

ERRORS_FILE = "import-errors.json"


async def run_import(invocation: Invocation, wish: Wish, outputs: Outputs) -> Shown:
    for path in (outputs.redirects, outputs.report):
        _check_folder(path)
    async with _begun(invocation, wish) as begun:
        report = await _run(begun, wish, outputs)
    _save_report(report, outputs.report)
    return _shown(report, invocation)


async def repair_images(
    invocation: Invocation,
    wish: Wish,
    retry_errors: Path | None,
    report_path: Path | None,
) -> Shown:
    # An import without pictures has no use for what copies them.
    from masthead.importers.images.repair import ImageRepair

    _check_folder(report_path)
    retried = _retried(retry_errors)
    async with _begun(invocation, wish) as begun:
        repair = ImageRepair(
            begun.services,
            begun.source,
            begun.request,
            retried,
            begun.watch,
        )
        report = await repair.run()
    _save_errors(report)
    _save_report(report, report_path)
    return _shown(report, invocation)


@dataclass(frozen=True, slots=True)
class Begun:
    services: ImportServices
    source: Source
    request: Request
    watch: Watch


@asynccontextmanager
async def _begun(invocation: Invocation, wish: Wish) -> AsyncIterator[Begun]:
    # Before the database is touched: a bad file must leave no trace.
    with _told_of_reading(invocation):
        source = open_export(wish.platform, wish.file, wish.options)
    with closing(source):
        async with opened(invocation) as installation:
            tenant = await tenant_named(installation.records, wish.tenant)
            request = Request(
                TenantId(tenant["id"]), wish.batch_size, wish.dry_run, wish.emit_events
            )
            with _watched(invocation, source.overview) as watch:
                yield Begun(installation, source, request, watch)


def _has_watcher(invocation: Invocation) -> bool:
    """Somebody at a terminal; what draws for them is loaded for nobody else."""
    return not invocation.as_json and sys.stderr.isatty()


@contextmanager
def _told_of_reading(invocation: Invocation) -> Iterator[None]:
    if not _has_watcher(invocation):
        yield
        return
    from masthead.cli.importing.progress import reading

    with reading():
        yield


@contextmanager
def _watched(invocation: Invocation, overview: Overview) -> Iterator[Watch]:
    if not _has_watcher(invocation):
        yield lambda _: None
        return
    from masthead.cli.importing.progress import progress_bar

    with progress_bar(overview) as bar:
        yield bar.update


def _shown(report: Report, invocation: Invocation) -> Shown:
    if invocation.as_json:
        return Shown(report.summary())
    from masthead.cli.importing.progress import summary_table

    return Shown(report.summary(), summary_table(report))


async def _run(begun: Begun, wish: Wish, outputs: Outputs) -> Report:
    records, request = begun.services.records, begun.request
    log = RunLog(records, request.tenant_id)
    if not wish.dry_run:
        options = {**asdict(wish.options), "emit_events": wish.emit_events}
        new = NewRun(wish.platform, wish.file.name, options=options)
        log = await open_shell_run(records, request.tenant_id, new)
    work = Import(begun.services, begun.source, request, log, begun.watch)
    with closing(work.redirects):
        try:
            report = await work.run()
        except MastheadError as error:
            await log.fail(str(error))
            raise
        if not wish.dry_run:
            _save_redirects(report, work.redirects, outputs.redirects, records.clock)
            _save_errors(report)
    await log.finish(report)
    return report


def _retried(path: Path | None) -> frozenset[str] | None:
    """The posts that an errors file names; without one, all of them."""
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
    """Known before the work, not after it."""
    if path is not None and not path.resolve().parent.is_dir():
        raise CannotWrite(f"There is no folder {path.resolve().parent}.")


def _save_redirects(
    report: Report, rows: RedirectRows, wanted: Path | None, now: clock.Clock
) -> None:
    if wanted is None and not rows.count:
        return
    path = wanted or Path(f"redirects-{now():%Y%m%d-%H%M%S}.csv")
    write_whole(path, rows.content())
    report.redirects_path = str(path)


def _save_errors(report: Report) -> None:
    if report.errors and not report.dry_run:
        write_whole(Path(ERRORS_FILE), errors_file(report.errors))
        report.errors_path = ERRORS_FILE


def _save_report(report: Report, path: Path | None) -> None:
    if path is not None:
        write_whole(path, msgspec.json.format(msgspec.json.encode(report.full())) + b"\n")
