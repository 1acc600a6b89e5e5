"""The progress bar of an import, on standard error, and the table of its results.

The caller checks that standard error is a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from masthead.faces.importers.report import Report, Tally
from masthead.faces.importers.source import Overview


class ProgressBar:
    def __init__(self, progress: Progress, overview: Overview) -> None:
        self._progress = progress
        self._bars: dict[str, TaskID] = {}
        for name, total in (("posts", overview.posts), ("members", overview.members)):
            if total != 0:
                self._bars[name] = progress.add_task(name, total=total)

    def update(self, report: Report) -> None:
        for name, done in (("posts", report.done.posts), ("members", report.done.members)):
            if name in self._bars:
                self._progress.update(self._bars[name], completed=done)


class RateColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s", style="progress.data.speed")


@contextmanager
def progress_bar(overview: Overview) -> Iterator[ProgressBar]:
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as progress:
        yield ProgressBar(progress, overview)


@contextmanager
def reading() -> Iterator[None]:
    """Shown during the first pass over the export."""
    with Console(stderr=True).status("Reading the export …"):
        yield


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
