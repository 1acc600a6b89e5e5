"""The results of an import as a table."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

from rich.console import Console
from rich.table import Table

from masthead.faces.importers.report import Report, Tally


def summary_table(report: Report) -> str:
    table = Table("", "imported", "updated", "skipped", "failed", box=None, pad_edge=False)
    for name, tally in _tallies(report):
        table.add_row(name, *_row(tally))
    images = report.images
    table.add_row("pictures", str(images.copied), "", "", str(images.failed))
    out = StringIO()
    console = Console(file=out, width=100, markup=False, highlight=False)
    console.print(table)
    for line in _remarks(report):
        console.print(line, soft_wrap=True)
    return out.getvalue().rstrip("\n")


def _tallies(report: Report) -> list[tuple[str, Tally]]:
    return [("posts", report.posts), ("members", report.members), *report.others().items()]


def _row(tally: Tally) -> list[str]:
    counts = tally.summary()
    return [str(counts[name]) for name in ("imported", "updated", "skipped", "failed")]


def _remarks(report: Report) -> Iterator[str]:
    for name, tally in _tallies(report):
        for reason, count in sorted(tally.skipped.items()):
            yield f"{name} skipped, {reason}: {count}"
    for reason, count in sorted(report.html_only.items()):
        yield f"posts that the editor can't open without losing {reason}: {count}"
    if report.images.to_fetch:
        yield f"pictures to fetch from the old site: {report.images.to_fetch}"
    if report.warnings:
        yield f"warnings: {len(report.warnings)} (--report has them)"
    if report.redirects_path:
        kinds = ", ".join(f"{count} of {kind}" for kind, count in report.redirect_kinds.items())
        yield f"redirects: {report.redirects_path} ({kinds})"
    if report.errors_path:
        yield f"errors: {report.errors_path}"
    if report.dry_run:
        yield "This was a dry run: nothing was written."
