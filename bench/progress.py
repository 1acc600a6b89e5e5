"""Prints the progress of a run, and ends it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable, Sequence

from bench.figures import Row


def end_on_sigterm() -> None:
    """So that SIGTERM runs the context managers that stop the servers."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def shown(rows: Iterable[Row]) -> list[Row]:
    """Says when each is done."""
    began, found = time.monotonic(), []
    for row in rows:
        found.append(row)
        print(f"[{time.monotonic() - began:4.0f} s] {row.name}", file=sys.stderr)
    return found


def print_notes(rows: Sequence[Row]) -> None:
    for row in rows:
        for said in (*row.notes, *dict.fromkeys(row.problems)):
            print(f"{row.name}: {said}")
