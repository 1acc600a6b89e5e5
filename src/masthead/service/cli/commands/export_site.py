"""`masthead export-site`: a tenant's posts, pages, members and media for other platforms."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from masthead.faces.site_export import run
from masthead.faces.site_export.content import Count, totals
from masthead.faces.site_export.formats import KINDS, OTHER_PLATFORMS, Format
from masthead.faces.site_export.run import Written
from masthead.service.cli.arguments import (
    counted,
    files_are,
    refuse_existing,
    replace_option,
    tenant_option,
)
from masthead.service.cli.invocation import Invocation, Output, command
from masthead.service.cli.opened_installation import opened_site

_NOUNS = {"media": ("media file",)}
FORMAT = click.Choice([each.value for each in OTHER_PLATFORMS])


@command("export-site")
@click.option("--format", "wanted", type=FORMAT, required=True, help="The format to write.")
@tenant_option
@click.option(
    "--output",
    metavar="PATH",
    type=click.Path(path_type=Path),
    required=True,
    help="The file to write.",
)
@replace_option
async def export_site(
    invocation: Invocation, wanted: str, tenant: str, output: Path, *, replace: bool
) -> Output:
    """Writes a tenant's posts, pages, members and media in a format that other platforms import.

    Drafts and posts for members are included. The file appears when it is complete.
    """
    refuse_existing(output, replace=replace)
    export_format = Format(wanted)
    async with opened_site(invocation, tenant) as site:
        expected = await totals(site.parts, site.id)
        with _progress(expected, export_format) as count:
            written = await run.export_site(
                site.parts, site.tenant, export_format, output, replaces=replace, count=count
            )
    return Output(_shown(written, export_format, output), _summary(written, export_format, output))


@contextmanager
def _progress(expected: dict[str, int], export_format: Format) -> Iterator[Count]:
    if not sys.stderr.isatty():
        yield _count_nothing
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with progress:
        bars = {
            kind: progress.add_task(kind, total=expected[kind]) for kind in KINDS[export_format]
        }

        async def advance(kind: str, count: int) -> None:
            progress.advance(bars[kind], count)

        yield advance


async def _count_nothing(_kind: str, _count: int) -> None:
    pass


def _shown(written: Written, export_format: Format, output: Path) -> dict[str, object]:
    return {"format": export_format, "output": str(output), **msgspec.structs.asdict(written)}


def _summary(written: Written, export_format: Format, output: Path) -> str:
    counts = (
        counted(getattr(written, kind), *_NOUNS.get(kind, (kind.removesuffix("s"),)))
        for kind in KINDS[export_format]
    )
    missing = f" {files_are(written.missing_files)} missing." if written.missing_files else ""
    return f"Wrote {', '.join(counts)} to {output} ({written.bytes:,} bytes).{missing}"
