"""The progress of a command, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

Advance = Callable[[str, int], None]
"""Adds to the count of a kind."""


@contextmanager
def progress(totals: Mapping[str, int | None], *, is_shown: bool = True) -> Iterator[Advance]:
    """A bar for each kind that has any; a total of None is not known. Without a terminal nothing is
    shown."""
    if not is_shown or not sys.stderr.isatty():
        yield lambda _kind, _count: None
        return
    # Imported here, because it is slow to load.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f}/s", style="progress.data.speed")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate())
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as shown:
        bars = {
            kind: shown.add_task(kind, total=total) for kind, total in totals.items() if total != 0
        }

        def advance(kind: str, count: int) -> None:
            if kind in bars:
                shown.advance(bars[kind], count)

        yield advance
