"""`python -m bench.commits BASE`: the current version beside an older commit, in turn on the same
work, and beside the bare HTTP server. Exits with 1 if a row is lower by more than its spread and
5 %."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Final

from bench import datasets
from bench.commits import checkout, rounds
from bench.commits.comparison import Row, table
from bench.commits.operations import Settings
from bench.commits.rounds import BASE, NOW
from bench.commits.version import Version

RESULTS: Final = Path(__file__).parents[1] / "results" / "commits.json"
HERE: Final = "."


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    # So that SIGTERM runs the context managers that stop the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    older = checkout.current() if options.base == HERE else checkout.of_commit(options.base)
    current = checkout.current()
    began, rows = time.monotonic(), []
    with datasets.run_folder() as folder:
        versions = {BASE: Version(older, folder / BASE), NOW: Version(current, folder / NOW)}
        for version in versions.values():
            version.fill(options.posts)
        for row in rounds.measured(versions, _wanted(options)):
            rows.append(row)
            print(f"[{time.monotonic() - began:4.0f} s] {row.name}", file=sys.stderr)
    if not rows:
        print("No row has that name. The names are:", *rounds.names(), sep="\n  ")
        return 2
    _report(rows, older.name, current.name, options)
    failed = [f"{row.name} {row.verdict.value}" for row in rows if row.verdict.is_failure]
    print(f"failed: {', '.join(failed)}" if failed else "no row is lower")
    return 1 if failed else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.commits", description=__doc__)
    parser.add_argument("base", help=f"a commit; {HERE} for this version beside itself")
    parser.add_argument("--only", default="", help="rows with this in their name")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each round")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--posts", type=int, default=1_000, help="of each of two sites")
    return parser.parse_args(arguments)


def _wanted(options: argparse.Namespace) -> rounds.Wanted:
    settings = Settings(options.seconds, options.connections)
    return rounds.Wanted(options.rounds, settings, options.only)


def _report(rows: list[Row], base: str, now: str, options: argparse.Namespace) -> None:
    print(table(rows, base, now))
    load = f"{os.getloadavg()[0]:.1f}"
    print(f"\n{options.rounds} rounds of {options.seconds:g} s, {options.connections} connections,")
    print(f"{os.cpu_count()} cores, load {load} at the end. Above 1 is better now.")
    for row in rows:
        for said in (*row.notes, *dict.fromkeys(row.problems)):
            print(f"{row.name}: {said}")
    RESULTS.parent.mkdir(exist_ok=True)
    document = {
        "base": base,
        "now": now,
        "settings": vars(options),
        "rows": [row.document() for row in rows],
    }
    RESULTS.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
