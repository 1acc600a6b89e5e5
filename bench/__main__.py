"""`python -m bench`: loads both sides, measures them in turn, prints one table of ratios."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from bench import data, datasets, deliveries, masthead, measure, pocketbase, process
from bench.operations import OPERATIONS
from bench.report import OURS, Row, Target, table, write
from bench.sides import Server, Side

RESULTS = Path(__file__).with_name("results") / "latest.json"
_IDLE_MEMORY, _LOADED_MEMORY, _COLD_START = "idle memory", "memory after load", "cold start"
_SIDE_BY_SIDE = (
    *(operation.name for operation in OPERATIONS),
    *(_IDLE_MEMORY, _LOADED_MEMORY, _COLD_START),
)
_STARTS = 5
_SETTLE_SECONDS = 2.0


def main() -> int:
    options = _options()
    # So that SIGTERM runs the context managers that stop the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    started = time.monotonic()
    rows = []
    for row in _measure(options):
        rows.append(row)
        print(f"[{time.monotonic() - started:4.0f} s] {row.name}", file=sys.stderr)
    if not rows:
        named = (*_SIDE_BY_SIDE, *deliveries.names())
        print("No measurement has that name. The names are:", *named, sep="\n  ")
        return 2
    print(table(rows))
    print(f"{OURS} ran with --workers {options.workers} on {os.cpu_count()} cores.")
    write(rows, RESULTS, vars(options))
    problems = [problem for row in rows for problem in row.problems]
    for problem in problems:
        print(f"INVALID MEASUREMENT: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", default="", help="measure rows with this in their name")
    parser.add_argument("--side", default="", help="measure only this side")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--warm-up", type=float, default=0.7, help="seconds before each round")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--workers", type=int, default=1, help="server processes of Masthead")
    parser.add_argument("--fresh", action="store_true", help="load the data again")
    return parser.parse_args()


def _measure(options: argparse.Namespace) -> Iterator[Row]:
    both = (pocketbase.SIDE, masthead.side(options.workers))
    sides = [side for side in both if options.side.lower() in side.name.lower()]
    if any(options.only in name for name in _SIDE_BY_SIDE):
        with ExitStack() as stack:
            folders = {
                side.name: stack.enter_context(_loaded(side, "posts", data.posts, options))
                for side in sides
            }
            yield from _side_by_side(sides, folders, options)
            if options.only in _COLD_START:
                yield _cold_start(sides, folders)
    if any(side.name == OURS for side in sides):
        yield from deliveries.rows(options.only)


def _loaded(
    side: Side,
    content: str,
    posts: Callable[[], Iterable[data.Post]],
    options: argparse.Namespace,
) -> AbstractContextManager[Path]:
    return datasets.copy_of(
        f"{side.name.lower()}-{side.version}-{content}-{data.VERSION}",
        lambda folder: side.build(folder, posts()),
        is_fresh=options.fresh,
    )


def _side_by_side(
    sides: list[Side], folders: dict[str, Path], options: argparse.Namespace
) -> Iterator[Row]:
    with ExitStack() as stack:
        servers = {
            side.name: stack.enter_context(side.serving(folders[side.name])) for side in sides
        }
        if options.only in _IDLE_MEMORY:
            time.sleep(_SETTLE_SECONDS)
            yield _memory(_IDLE_MEMORY, servers, Target(110))
        settings = _settings(options)
        for operation in OPERATIONS:
            if options.only not in operation.name:
                continue
            subjects = {
                name: measure.Subject(server, operation) for name, server in servers.items()
            }
            target = Target(operation.target, is_ratio=True) if operation.target else None
            yield _rates(operation.name, measure.alternate(subjects, settings), target)
        if options.only in _LOADED_MEMORY:
            yield _memory(_LOADED_MEMORY, servers, Target(250))


def _settings(options: argparse.Namespace) -> measure.Settings:
    return measure.Settings(options.rounds, options.seconds, options.warm_up, options.connections)


def _rates(name: str, rounds: dict[str, measure.Rounds], target: Target | None) -> Row:
    values = {side: done.rates for side, done in rounds.items()}
    return Row(name, "rps", values, target, {side: done.results for side, done in rounds.items()})


def _memory(name: str, servers: dict[str, Server], target: Target | None) -> Row:
    values = {side: [process.pss_megabytes(server.pid)] for side, server in servers.items()}
    return Row(name, "MB", values, target)


def _cold_start(sides: list[Side], folders: dict[str, Path]) -> Row:
    values: dict[str, list[float]] = {side.name: [] for side in sides}
    for _ in range(_STARTS):
        for side in sides:
            values[side.name].append(measure.start_seconds(side, folders[side.name]))
    return Row(_COLD_START, "s", values, Target(1.5))


if __name__ == "__main__":
    sys.exit(main())
