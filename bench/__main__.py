"""`python -m bench`: Masthead beside PocketBase, in turn on the same posts. A whole run writes its
table into docs/benchmarks.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from bench import datasets, progress, report, runner
from bench.data import Content
from bench.masthead import Masthead
from bench.pocketbase import PocketBase
from bench.runner import OURS, PEER, Filled, RunOptions
from bench.service import Side
from bench.tasks import Settings

SITES, POSTS = 50, 50_000


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    progress.end_on_sigterm()
    wanted = RunOptions(
        Content(options.sites, options.posts),
        options.rounds,
        Settings(options.seconds, options.connections),
        options.only,
        is_beside=True,
    )
    sides: dict[str, Side] = {PEER: PocketBase(), OURS: Masthead(workers=options.workers)}
    with ExitStack() as stack:
        filled = {}
        for name, side in sides.items():
            copy = datasets.copy_of(
                f"{side.name.lower()}-{wanted.content.name}-{side.version}",
                lambda folder, side=side: side.fill(folder, wanted.content),  # type: ignore[misc]
                is_fresh=options.fresh,
            )
            filled[name] = Filled(side, stack.enter_context(copy))
        rows = progress.shown(runner.measured(filled, wanted))
    if not rows:
        print("No row has that name. The names are:", *runner.names(is_beside=True), sep="\n  ")
        return 2
    how = report.settings(options.rounds, options.seconds, options.connections)
    print(report.beside(rows))
    print(f"{how}, --workers {options.workers}")
    progress.print_notes(rows)
    is_valid = not any(row.problems for row in rows)
    if is_valid and (options.only, options.sites, options.posts) == ("", SITES, POSTS):
        report.write_page(rows, f"{options.sites} sites with {options.posts:,} posts, {how}")
    return 0 if is_valid else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    progress.add_options(parser, rounds=5, seconds=2.0, sites=SITES, posts=POSTS)
    parser.add_argument("--workers", type=int, default=1, help="server processes of Masthead")
    parser.add_argument("--fresh", action="store_true", help="load the data again")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
