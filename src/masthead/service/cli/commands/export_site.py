"""`masthead export-site`: a tenant's posts, pages, members and media for other platforms."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from masthead.faces.site_export import run
from masthead.faces.site_export.content import totals
from masthead.faces.site_export.formats import KINDS, OTHER_PLATFORMS, Format
from masthead.faces.site_export.run import ExportCounts
from masthead.service.cli.arguments import (
    counted,
    files_are,
    refuse_existing,
    replace_option,
    tenant_option,
)
from masthead.service.cli.invocation import Invocation, Output, command
from masthead.service.cli.opened_installation import opened_site
from masthead.service.cli.progress import progress

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
        with progress({kind: expected[kind] for kind in KINDS[export_format]}) as advance:

            async def count(kind: str, number: int) -> None:
                advance(kind, number)

            written = await run.export_site(
                site.parts, site.tenant, export_format, output, replaces=replace, count=count
            )
    return Output(_shown(written, export_format, output), _summary(written, export_format, output))


def _shown(written: ExportCounts, export_format: Format, output: Path) -> dict[str, object]:
    return {"format": export_format, "output": str(output), **msgspec.structs.asdict(written)}


def _summary(written: ExportCounts, export_format: Format, output: Path) -> str:
    counts = (
        counted(getattr(written, kind), *_NOUNS.get(kind, (kind.removesuffix("s"),)))
        for kind in KINDS[export_format]
    )
    missing = f" {files_are(written.missing_files)} missing." if written.missing_files else ""
    return f"Wrote {', '.join(counts)} to {output} ({written.bytes:,} bytes).{missing}"
