"""Prints the progress of a run, and ends it."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterable, Sequence

from bench.figures import Row


def end_on_sigterm() -> None:
    """So that SIGTERM runs the context managers that stop the servers."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def add_options(
    parser: argparse.ArgumentParser, *, rounds: int, seconds: float, sites: int, posts: int
) -> None:
    """Those of every comparison, with the defaults of this one."""
    parser.add_argument("--only", default="", help="rows with this in their name")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=float, default=seconds, help="of each round")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--sites", type=int, default=sites)
    parser.add_argument("--posts", type=int, default=posts, help="of all sites")


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
