"""`masthead import`: brings posts, members and pictures over from another platform.

Here are the flags. The work is in `import_work`, which is loaded when an import begins: help and
wrong usage answer without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from masthead.cli.importing.options import Outputs, Wish
from masthead.cli.invocation import Invocation, Shown, command, new_group
from masthead.cli.tenant_option import tenant_option
from masthead.importers.run.batch_sizes import DEFAULT_BATCH, MAX_BATCH
from masthead.importers.source import Options

app = new_group("Imports posts, members and pictures from another platform.")

PATH = click.Path(path_type=Path)

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def _with(*options: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """All of the options, in this order."""

    def decorate(work: Decorated) -> Decorated:
        for each in reversed(options):
            work = each(work)
        return work

    return decorate


_what = _with(
    click.option(
        "--file", metavar="PATH", type=PATH, required=True, help="The export: file or folder."
    ),
    tenant_option,
)
_how = _with(
    click.option("--include-pages", is_flag=True, help="Pages, too."),
    click.option(
        "--output-redirects",
        metavar="PATH",
        type=PATH,
        help="Instead of ./redirects-<timestamp>.csv.",
    ),
    click.option("--dry-run", is_flag=True, help="Say what would happen, change nothing."),
    click.option(
        "--batch-size",
        metavar="N",
        type=click.IntRange(1, MAX_BATCH),
        default=DEFAULT_BATCH,
        show_default=True,
        help="Posts per transaction.",
    ),
    click.option("--emit-events", is_flag=True, help="Fire events, which an import does not."),
    click.option(
        "--site-url",
        metavar="URL",
        default="",
        help="The old address, if the export does not tell it.",
    ),
    click.option("--report", metavar="PATH", type=PATH, help="Write the whole report as JSON."),
)

_authors = _with(
    click.option(
        "--include-authors", is_flag=True, help="Authors, too, as staff without a password."
    )
)


@command("wordpress", app)
@_what
@click.option("--images-only", is_flag=True, help="Only copy pictures that are still missing.")
@click.option(
    "--retry-errors", metavar="PATH", type=PATH, help="Only those of an import-errors.json."
)
@click.option("--include-products", is_flag=True, help="Products, too.")
@click.option("--include-comments", is_flag=True, help="Comments, too, with their threads.")
@_authors
@_how
async def wordpress(
    invocation: Invocation,
    file: Path,
    tenant: str,
    images_only: bool,
    retry_errors: Path | None,
    include_products: bool,
    include_comments: bool,
    include_authors: bool,
    include_pages: bool,
    output_redirects: Path | None,
    dry_run: bool,
    batch_size: int,
    emit_events: bool,
    site_url: str,
    report: Path | None,
) -> Shown:
    """Imports a WordPress export (WXR), as a file, a folder, a zip or gz."""
    options = Options(
        site_url=_address(site_url),
        include_pages=include_pages,
        include_products=include_products,
        include_comments=include_comments,
        include_authors=include_authors,
    )
    wish = Wish("wordpress", file, tenant, options, batch_size, dry_run, emit_events)
    if images_only or retry_errors is not None:
        from masthead.cli.importing.work import repair_images

        return await repair_images(invocation, wish, retry_errors, report)
    return await _import(invocation, wish, Outputs(output_redirects, report))


def _register(platform: str, help_text: str, *more: Callable[[Any], Any]) -> None:
    """The command for a platform whose exports have posts and members; `more` are its own flags."""

    @_what
    @click.option("--skip-members", is_flag=True, help="Posts only.")
    @click.option("--skip-posts", is_flag=True, help="Members only.")
    @_with(*more)
    @_how
    async def work(
        invocation: Invocation,
        file: Path,
        tenant: str,
        skip_members: bool,
        skip_posts: bool,
        include_pages: bool,
        output_redirects: Path | None,
        dry_run: bool,
        batch_size: int,
        emit_events: bool,
        site_url: str,
        report: Path | None,
        include_authors: bool = False,
    ) -> Shown:
        options = _both(site_url, include_pages, skip_posts, skip_members)
        options = replace(options, include_authors=include_authors)
        wish = Wish(platform, file, tenant, options, batch_size, dry_run, emit_events)
        return await _import(invocation, wish, Outputs(output_redirects, report))

    work.__doc__ = help_text
    command(platform, app)(work)


_register(
    "substack", "Imports a Substack export: the zip or folder, or a list of subscribers alone."
)
_register(
    "ghost",
    "Imports a Ghost export: the JSON, a zip or folder with it, or a list of members alone.",
    _authors,
)


def _both(site_url: str, include_pages: bool, skip_posts: bool, skip_members: bool) -> Options:
    if skip_posts and skip_members:
        raise click.BadParameter("--skip-posts and --skip-members leave nothing to import.")
    return Options(
        site_url=_address(site_url),
        include_pages=include_pages,
        skip_posts=skip_posts,
        skip_members=skip_members,
    )


def _address(site_url: str) -> str:
    address = site_url.strip().rstrip("/")
    if address and not address.startswith(("http://", "https://")):
        raise click.BadParameter("--site-url starts with http:// or https://.")
    return address


async def _import(invocation: Invocation, wish: Wish, outputs: Outputs) -> Shown:
    from masthead.cli.importing.work import run_import

    return await run_import(invocation, wish, outputs)
