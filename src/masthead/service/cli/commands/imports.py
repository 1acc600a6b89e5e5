"""`masthead import`: imports posts, members and pictures from another platform.

This module has the flags only. `cli.importing.work` does the import and is loaded when one starts,
so that help and usage errors are quick.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from masthead.faces.importers.source import Options, site_url_of
from masthead.faces.importers.write.batch_sizes import DEFAULT_BATCH, MAX_BATCH
from masthead.service.cli.arguments import confirm, tenant_option, yes_option
from masthead.service.cli.importing.options import ImportOptions
from masthead.service.cli.invocation import Invocation, Output, command, new_group

app = new_group("Imports posts, members and pictures from another platform, and undoes it.")

PATH = click.Path(path_type=Path)

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def _with(*options: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """Adds the options, in this order."""

    def decorate(function: Decorated) -> Decorated:
        for each in reversed(options):
            function = each(function)
        return function

    return decorate


_required = _with(
    click.option(
        "--file", metavar="PATH", type=PATH, required=True, help="The export: file or folder."
    ),
    tenant_option,
)
_shared = _with(
    click.option("--include-pages", is_flag=True, help="Pages, too."),
    click.option(
        "--include-unpublished",
        is_flag=True,
        help="Also import private and pending posts, as drafts, and scheduled ones, as scheduled.",
    ),
    click.option(
        "--output-redirects",
        "redirects",
        metavar="PATH",
        type=PATH,
        help="Instead of ./redirects-<timestamp>.csv.",
    ),
    click.option("--dry-run", is_flag=True, help="Show what would happen, and change nothing."),
    click.option(
        "--batch-size",
        metavar="N",
        type=click.IntRange(1, MAX_BATCH),
        default=DEFAULT_BATCH,
        show_default=True,
        help="Posts per transaction.",
    ),
    click.option(
        "--emit-events", is_flag=True, help="Fire events. Without this flag, an import fires none."
    ),
    click.option(
        "--site-url",
        metavar="URL",
        default="",
        help="The old address, if it is not in the export.",
    ),
    click.option("--report", metavar="PATH", type=PATH, help="Write the whole report as JSON."),
)
_include_comments = click.option(
    "--include-comments", is_flag=True, help="Also import comments, with their threads."
)
_include_authors = click.option(
    "--include-authors", is_flag=True, help="Also import authors, as staff without a password."
)
_skips = _with(
    click.option("--skip-members", is_flag=True, help="Posts only."),
    click.option("--skip-posts", is_flag=True, help="Members only."),
    click.option(
        "--consent",
        metavar="TEXT",
        default="",
        help="How the members agreed to get newsletters; stored with each who gets them.",
    ),
)


@command("wordpress", app)
@_required
@click.option("--images-only", is_flag=True, help="Only copy pictures that are still missing.")
@click.option(
    "--retry-errors",
    metavar="PATH",
    type=PATH,
    help="Only for the posts named in an import-errors.json.",
)
@click.option("--include-products", is_flag=True, help="Products, too.")
@_include_comments
@_include_authors
@_shared
async def wordpress(
    invocation: Invocation, images_only: bool, retry_errors: Path | None, **flags: Any
) -> Output:
    """Imports a WordPress export (WXR), as a file, a folder, a zip or gz."""
    if images_only or retry_errors is not None:
        from masthead.service.cli.importing.work import repair_images

        return await repair_images(invocation, _options("wordpress", flags), retry_errors)
    return await _import(invocation, "wordpress", flags)


@command("substack", app)
@_required
@_skips
@_shared
async def substack(invocation: Invocation, **flags: Any) -> Output:
    """Imports a Substack export: the zip or folder, or only a list of subscribers."""
    return await _import(invocation, "substack", flags)


@command("ghost", app)
@_required
@_skips
@_include_comments
@_include_authors
@_shared
async def ghost(invocation: Invocation, **flags: Any) -> Output:
    """Imports a Ghost export: the JSON, a zip or folder with it, or only a list of members."""
    return await _import(invocation, "ghost", flags)


@command("list", app)
@tenant_option
async def list_imports(invocation: Invocation, tenant: str) -> Output:
    """Lists a tenant's newest 100 imports, with the ids that `import undo` takes."""
    from masthead.service.cli.importing import runs

    columns = ("id", "platform", "file_name", "task", "state", "created")
    found = await runs.list_runs(invocation, tenant)
    if not invocation.as_json:
        found = [runs.list_row(each) for each in found]
    return Output(found, f"{tenant} has no imports.", columns)


@command("undo", app)
@tenant_option
@click.argument("run", metavar="RUN")
@click.option(
    "--wait",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=60,
    show_default=True,
    help="How long to wait for the worker to end.",
)
@yes_option
async def undo(invocation: Invocation, tenant: str, run: str, *, wait: float, yes: bool) -> Output:
    """Deletes what an import has created, except what was changed since or is in use.

    The background worker does it. The command waits for it, and shows what was removed and what
    is left and why; `import list` shows the same later.
    """
    from masthead.service.cli.importing import runs

    def ask(file_name: str) -> None:
        confirm(f"Delete what the import of {file_name} has created?", yes=yes)

    shown = await runs.undo(invocation, tenant, run, wait_seconds=wait, ask=ask)
    return Output(shown, runs.undo_text(shown), exit_code=int(shown["state"] == "failed"))


async def _import(invocation: Invocation, platform: str, flags: dict[str, Any]) -> Output:
    from masthead.service.cli.importing.work import run_import

    return await run_import(invocation, _options(platform, flags))


def _options(platform: str, flags: dict[str, Any]) -> ImportOptions:
    if flags.get("skip_posts") and flags.get("skip_members"):
        raise click.BadParameter("--skip-posts and --skip-members leave nothing to import.")
    flags["site_url"] = site_url_of(flags["site_url"])
    if flags["site_url"] is None:
        raise click.BadParameter("--site-url starts with http:// or https://.")
    names = set(Options.__struct_fields__) & flags.keys()
    reader = Options(**{name: flags.pop(name) for name in names})
    return ImportOptions(platform=platform, reader=reader, **flags)
