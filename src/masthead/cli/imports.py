"""`masthead import`: brings posts, members and pictures over from another platform."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from masthead import clock, ids
from masthead.cli.import_progress import ProgressBar, progress_bar, reading, summary_table
from masthead.cli.invocation import Invocation, Shown, command, new_app
from masthead.cli.opened import opened
from masthead.errors import MastheadError
from masthead.identity.named import tenant_named
from masthead.identity.tenants import tenants
from masthead.ids import TenantId
from masthead.importers.image_repair import ImageRepair
from masthead.importers.images import Services
from masthead.importers.opening import open_export
from masthead.importers.redirects import CannotWrite, RedirectRows, write_whole
from masthead.importers.report import Report, errors_file, read_errors
from masthead.importers.run import Import, Request
from masthead.importers.runs import DEFAULT_BATCH, NewRun, RunLog, open_shell_run
from masthead.importers.source import BadFile, Options, Source
from masthead.records.engine import Records

ERRORS_FILE = "import-errors.json"
MAX_BATCH = 1_000

app = new_app("Imports posts, members and pictures from another platform.")

File = Annotated[Path, typer.Option("--file", metavar="PATH", help="The export: file or folder.")]
Tenant = Annotated[str, typer.Option("--tenant-id", metavar="ID", help="The tenant's id or slug.")]
OutputRedirects = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Instead of ./redirects-<timestamp>.csv."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, write nothing.")]
BatchSize = Annotated[
    int, typer.Option(metavar="N", min=1, max=MAX_BATCH, help="Posts per transaction.")
]
SkipMembers = Annotated[bool, typer.Option("--skip-members", help="Posts only.")]
SkipPosts = Annotated[bool, typer.Option("--skip-posts", help="Members only.")]
IncludePages = Annotated[bool, typer.Option("--include-pages", help="Pages, too.")]
EmitEvents = Annotated[
    bool, typer.Option("--emit-events", help="Fire events, which an import does not.")
]
SiteUrl = Annotated[
    str, typer.Option(metavar="URL", help="The old address, if the export does not tell it.")
]
ReportPath = Annotated[
    Path | None, typer.Option("--report", metavar="PATH", help="Write the whole report as JSON.")
]


@dataclass(frozen=True, slots=True)
class Wish:
    """What the flags ask for."""

    platform: str
    file: Path
    tenant: str
    options: Options
    batch_size: int
    dry_run: bool
    emit_events: bool


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to be written, where they are not to be left where they always are."""

    redirects: Path | None
    report: Path | None


@command(app, "wordpress")
async def wordpress(
    invocation: Invocation,
    file: File,
    tenant_id: Tenant,
    images_only: Annotated[
        bool, typer.Option("--images-only", help="Only copy pictures that are still missing.")
    ] = False,
    retry_errors: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Only those of an import-errors.json."),
    ] = None,
    include_products: Annotated[
        bool, typer.Option("--include-products", help="Products, too.")
    ] = False,
    include_pages: IncludePages = False,
    output_redirects: OutputRedirects = None,
    dry_run: DryRun = False,
    batch_size: BatchSize = DEFAULT_BATCH,
    emit_events: EmitEvents = False,
    site_url: SiteUrl = "",
    report: ReportPath = None,
) -> Shown:
    """Imports a WordPress export (WXR), as a file, a folder, a zip or gz."""
    options = Options(
        site_url=_address(site_url),
        include_pages=include_pages,
        include_products=include_products,
    )
    wish = Wish("wordpress", file, tenant_id, options, batch_size, dry_run, emit_events)
    if images_only or retry_errors is not None:
        return await _repair_images(invocation, wish, retry_errors, report)
    return await _import(invocation, wish, Outputs(output_redirects, report))


def _register(platform: str, help_text: str) -> None:
    """The command for a platform whose exports have posts and members."""

    async def work(
        invocation: Invocation,
        file: File,
        tenant_id: Tenant,
        skip_members: SkipMembers = False,
        skip_posts: SkipPosts = False,
        include_pages: IncludePages = False,
        output_redirects: OutputRedirects = None,
        dry_run: DryRun = False,
        batch_size: BatchSize = DEFAULT_BATCH,
        emit_events: EmitEvents = False,
        site_url: SiteUrl = "",
        report: ReportPath = None,
    ) -> Shown:
        options = _both(site_url, include_pages, skip_posts, skip_members)
        wish = Wish(platform, file, tenant_id, options, batch_size, dry_run, emit_events)
        return await _import(invocation, wish, Outputs(output_redirects, report))

    work.__doc__ = help_text
    command(app, platform)(work)


_register(
    "substack", "Imports a Substack export: the zip or folder, or a list of subscribers alone."
)
_register(
    "ghost",
    "Imports a Ghost export: the JSON, a zip or folder with it, or a list of members alone.",
)


def _both(site_url: str, include_pages: bool, skip_posts: bool, skip_members: bool) -> Options:
    if skip_posts and skip_members:
        raise typer.BadParameter("--skip-posts and --skip-members leave nothing to import.")
    return Options(
        site_url=_address(site_url),
        include_pages=include_pages,
        skip_posts=skip_posts,
        skip_members=skip_members,
    )


def _address(site_url: str) -> str:
    address = site_url.strip().rstrip("/")
    if address and not address.startswith(("http://", "https://")):
        raise typer.BadParameter("--site-url starts with http:// or https://.")
    return address


async def _import(invocation: Invocation, wish: Wish, outputs: Outputs) -> Shown:
    for path in (outputs.redirects, outputs.report):
        _check_folder(path)
    async with _begun(invocation, wish) as begun:
        report = await _run(begun, wish, outputs)
    _save_report(report, outputs.report)
    return Shown(report.summary(), summary_table(report))


async def _repair_images(
    invocation: Invocation, wish: Wish, retry_errors: Path | None, report_path: Path | None
) -> Shown:
    _check_folder(report_path)
    retried = _retried(retry_errors)
    async with _begun(invocation, wish) as begun:
        repair = ImageRepair(begun.services, begun.source, begun.request, retried, begun.bar.update)
        report = await repair.run()
    _save_errors(report)
    _save_report(report, report_path)
    return Shown(report.summary(), summary_table(report))


@dataclass(frozen=True, slots=True)
class Begun:
    services: Services
    source: Source
    request: Request
    bar: ProgressBar


@asynccontextmanager
async def _begun(invocation: Invocation, wish: Wish) -> AsyncIterator[Begun]:
    # Before the database is touched: a bad file must leave no trace.
    with reading(is_shown=not invocation.as_json):
        source = open_export(wish.platform, wish.file, wish.options)
    with closing(source):
        async with opened(invocation) as installation:
            tenant_id = await _tenant_id(installation.records, wish.tenant)
            request = Request(tenant_id, wish.batch_size, wish.dry_run, wish.emit_events)
            with progress_bar(source.overview, is_shown=not invocation.as_json) as bar:
                yield Begun(installation, source, request, bar)


async def _run(begun: Begun, wish: Wish, outputs: Outputs) -> Report:
    records, request = begun.services.records, begun.request
    log = RunLog(records, request.tenant_id)
    if not wish.dry_run:
        options = {**asdict(wish.options), "emit_events": wish.emit_events}
        new = NewRun(wish.platform, wish.file.name, options=options)
        log = await open_shell_run(records, request.tenant_id, new)
    work = Import(begun.services, begun.source, request, log, begun.bar.update)
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


async def _tenant_id(records: Records, named: str) -> TenantId:
    if ids.is_id(named):
        found = await records.find(tenants, {"id": named})
        if found:
            return TenantId(named)
    return TenantId((await tenant_named(records, named))["id"])


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
    if path is not None and not report.dry_run:
        write_whole(path, msgspec.json.format(msgspec.json.encode(report.full())) + b"\n")
