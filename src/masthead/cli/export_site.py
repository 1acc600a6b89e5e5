"""`masthead export-site`: a tenant's posts, pages, members and media for other platforms."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from masthead.cli.invocation import Invocation, Shown, command, new_app
from masthead.cli.opened import opened
from masthead.cli.tenant_option import Tenant
from masthead.identity.named import tenant_named
from masthead.ids import TenantId
from masthead.site_export.content import Tell, totals
from masthead.site_export.run import KINDS, Exported, Format, export_site

app = new_app()


@command(app, "export-site")
async def export(
    invocation: Invocation,
    form: Annotated[Format, typer.Option("--format", help="What others import.")],
    tenant: Tenant,
    output: Annotated[Path, typer.Option(metavar="PATH", help="The file to write.")],
) -> Shown:
    """Writes a tenant's posts, pages, members and media in a format that other platforms import.

    Drafts and posts for members only are part of it. The file is there when it is whole.
    """
    async with opened(invocation) as installation:
        found = await tenant_named(installation.records, tenant)
        with _progress(await totals(installation, TenantId(found["id"])), form) as tell:
            exported = await export_site(installation, found, form, output, tell)
    return Shown(_shown(exported), _in_words(exported))


@contextmanager
def _progress(expected: dict[str, int], form: Format) -> Iterator[Tell]:
    if not sys.stderr.isatty():
        yield lambda _kind, _count: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    shown = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with shown:
        bars = {kind: shown.add_task(kind, total=expected[kind]) for kind in KINDS[form]}
        yield lambda kind, count: shown.advance(bars[kind], count)


def _shown(exported: Exported) -> dict[str, object]:
    return dataclasses.asdict(exported) | {"output": str(exported.output)}


def _in_words(exported: Exported) -> str:
    counts = (f"{getattr(exported, kind):,} {kind}" for kind in KINDS[exported.format])
    missing = (
        f" {exported.missing_files:,} media files are missing." if exported.missing_files else ""
    )
    return f"Wrote {', '.join(counts)} to {exported.output} ({exported.bytes:,} bytes).{missing}"
