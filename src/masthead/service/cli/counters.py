"""Counters on a terminal that show the progress of a command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counters(*kinds: str) -> Iterator[Callable[[str, int], None]]:
    """Yields a function that adds to the counter of a kind. Without a terminal it does nothing."""
    if not sys.stderr.isatty():
        yield lambda _kind, _count: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description} {task.completed:,}"),
        console=Console(stderr=True),
        transient=True,
    )
    with progress:
        tasks = {kind: progress.add_task(kind, total=None) for kind in kinds}
        yield lambda kind, count: progress.advance(tasks[kind], count)
