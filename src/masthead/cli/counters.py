"""Numbers that grow on a terminal while a command works; nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counting(*kinds: str) -> Iterator[Callable[[str, int], None]]:
    if not sys.stderr.isatty():
        yield lambda _kind, _count: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    shown = Progress(
        SpinnerColumn(),
        TextColumn("{task.description} {task.completed:,}"),
        console=Console(stderr=True),
        transient=True,
    )
    with shown:
        tasks = {kind: shown.add_task(kind, total=None) for kind in kinds}
        yield lambda kind, count: shown.advance(tasks[kind], count)
