"""`python -m bench.commits BASE`: the current version beside an older commit, in turn on the same
work, and beside the bare HTTP server. Exits with 1 if a row is lower by more than its spread and
5 %."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from bench import checkout, datasets, progress, report, runner
from bench.data import Content
from bench.databases import POSTGRESQL, SQLITE, databases, settle
from bench.masthead import Masthead
from bench.runner import OURS, PEER, Filled, RunOptions
from bench.tasks import Settings

RESULTS: Final = Path(__file__).with_name("results") / "commits.json"
HERE: Final = "."
"""This version beside itself."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    progress.end_on_sigterm()
    older = checkout.current() if options.base == HERE else checkout.of_commit(options.base)
    current = checkout.current()
    content = Content(options.sites, options.posts)
    settings = Settings(options.seconds, options.connections)
    is_postgres = options.engine == POSTGRESQL
    with datasets.run_folder() as folder, databases(options.engine, folder) as new_database:
        sides = {}
        for name, version in {PEER: older, OURS: current}.items():
            url = new_database() if is_postgres else ""
            service = Masthead(version.name, version.command, database_url=url)
            sides[name] = Filled(service, folder / name)
            sides[name].folder.mkdir()
            service.fill(sides[name].folder, content)
            if is_postgres:
                asyncio.run(settle(url))
        wanted = RunOptions(content, options.rounds, settings, options.only)
        rows = progress.shown(runner.measured(sides, wanted))
    if not rows:
        print("No row has that name. The names are:", *runner.names(is_beside=False), sep="\n  ")
        return 2
    print(report.commits(rows, older.name, current.name))
    print(f"\n{report.settings(options.rounds, options.seconds, options.connections)}.")
    print("Above 1 is better now.")
    progress.print_notes(rows)
    _write({"base": older.name, "now": current.name}, rows, options)
    failed = [f"{row.name} {row.verdict.value}" for row in rows if row.verdict.is_failure]
    print(f"failed: {', '.join(failed)}" if failed else "no row is lower")
    return 1 if failed else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.commits", description=__doc__)
    parser.add_argument("base", help=f"a commit; {HERE} for this version beside itself")
    parser.add_argument("--engine", choices=(SQLITE, POSTGRESQL), default=SQLITE)
    progress.add_options(parser, rounds=7, seconds=1.0, sites=2, posts=2_000)
    return parser.parse_args(arguments)


def _write(names: dict[str, str], rows: Sequence[report.Row], options: argparse.Namespace) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    found = [asdict(row) | {"verdict": row.verdict.name.lower()} for row in rows]
    RESULTS.write_text(json.dumps({**names, "settings": vars(options), "rows": found}, indent=1))


if __name__ == "__main__":
    sys.exit(main())
