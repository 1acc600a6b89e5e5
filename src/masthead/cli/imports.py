"""`masthead import`: brings posts, members and pictures over from another platform.

Here are the flags. The work is in `import_work`, which is loaded when an import begins: help and
wrong usage answer without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masthead.cli.import_wish import Outputs, Wish
from masthead.cli.invocation import Invocation, Shown, command, new_app
from masthead.cli.tenant_option import Tenant
from masthead.importers.batch_sizes import DEFAULT_BATCH, MAX_BATCH
from masthead.importers.source import Options

app = new_app("Imports posts, members and pictures from another platform.")

File = Annotated[Path, typer.Option("--file", metavar="PATH", help="The export: file or folder.")]
OutputRedirects = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Instead of ./redirects-<timestamp>.csv."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, change nothing.")]
BatchSize = Annotated[
    int, typer.Option(metavar="N", min=1, max=MAX_BATCH, help="Posts per transaction.")
]
SkipMembers = Annotated[bool, typer.Option("--skip-members", help="Posts only.")]
SkipPosts = Annotated[bool, typer.Option("--skip-posts", help="Members only.")]
IncludePages = Annotated[bool, typer.Option("--include-pages", help="Pages, too.")]
IncludeComments = Annotated[
    bool, typer.Option("--include-comments", help="Comments, too, with their threads.")
]
EmitEvents = Annotated[
    bool, typer.Option("--emit-events", help="Fire events, which an import does not.")
]
SiteUrl = Annotated[
    str, typer.Option(metavar="URL", help="The old address, if the export does not tell it.")
]
ReportPath = Annotated[
    Path | None, typer.Option("--report", metavar="PATH", help="Write the whole report as JSON.")
]


@command(app, "wordpress")
async def wordpress(
    invocation: Invocation,
    file: File,
    tenant: Tenant,
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
    include_comments: IncludeComments = False,
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
        include_comments=include_comments,
    )
    wish = Wish("wordpress", file, tenant, options, batch_size, dry_run, emit_events)
    if images_only or retry_errors is not None:
        from masthead.cli.import_work import repair_images

        return await repair_images(invocation, wish, retry_errors, report)
    return await _import(invocation, wish, Outputs(output_redirects, report))


def _register(platform: str, help_text: str) -> None:
    """The command for a platform whose exports have posts and members."""

    async def work(
        invocation: Invocation,
        file: File,
        tenant: Tenant,
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
        wish = Wish(platform, file, tenant, options, batch_size, dry_run, emit_events)
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
    from masthead.cli.import_work import run_import

    return await run_import(invocation, wish, outputs)
