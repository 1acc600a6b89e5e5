"""The two tiers of the suite: every behaviour once, and what repeats it.

`make test` (`--tier test`) runs every behaviour once, on SQLite. `make test-sweeps` (`--tier
sweeps`) runs what repeats a behaviour over many inputs or environments: tests that are marked
`sweep`, every other test on PostgreSQL, and those that draw their inputs, with more of them.
Without `--tier`, pytest runs whatever it is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from _pytest.terminal import TerminalReporter

TESTS = Path(__file__).parent

ON_BOTH = ("engine/records", "storage")
"""Folders of `tests` where the databases differ: `make test` runs them on both."""

_LEFT = pytest.StashKey[int]()
_NAMED = "tests_of_the_other_tier"

_sweeps = False


def add_option(parser: pytest.Parser) -> None:
    parser.addoption(
        "--tier", choices=["test", "sweeps"], help="only this tier: see tests/tiers.py"
    )


def configure(config: pytest.Config) -> None:
    """Before any test module is imported."""
    global _sweeps
    _sweeps = config.getoption("--tier") == "sweeps"
    config.pluginmanager.register(_Left(config))


def rounds(few: int, many: int) -> int:
    """How many inputs Hypothesis draws."""
    return many if _sweeps else few


def representatives(cases: Iterable[Any], number: int = 1) -> list[Any]:
    """The cases of a table, of which `make test` runs the first: the others are sweeps."""
    listed = [each if isinstance(each, ParameterSet) else pytest.param(each) for each in cases]
    repeated = [pytest.mark.sweep]
    return [
        *listed[:number],
        *(pytest.param(*each.values, id=each.id, marks=repeated) for each in listed[number:]),
    ]


def leave_out_the_other_tier(config: pytest.Config, items: list[pytest.Item]) -> None:
    tier = config.getoption("--tier")
    if tier is None:
        return
    repeated = on_the_second_database(items)
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for each in items:
        is_repeated = each.nodeid in repeated or is_marked(each)
        in_tier = is_repeated or draws_its_inputs(each) if tier == "sweeps" else not is_repeated
        (kept if in_tier else left).append(each)
    items[:] = kept
    config.stash[_LEFT] = len(left)
    if hasattr(config, "workerinput"):
        config.workeroutput[_NAMED] = len(left)  # type: ignore[attr-defined]
    config.hook.pytest_deselected(items=left)


def on_the_second_database(items: list[pytest.Item]) -> set[str]:
    """Names of the tests on PostgreSQL that show the same as those on SQLite."""
    names = {each.nodeid for each in items}
    return {
        name
        for each in items
        if (name := each.nodeid) and not runs_on_both(each) and sqlite_twin(each) in names
    }


def runs_on_both(item: pytest.Item) -> bool:
    return _is_of_both(item.path) or item.get_closest_marker("both_databases") is not None


@cache
def _is_of_both(path: Path) -> bool:
    return any(path.is_relative_to(TESTS / folder) for folder in ON_BOTH)


def sqlite_twin(item: pytest.Item) -> str | None:
    """The name of the same test on SQLite, for one on PostgreSQL."""
    callspec: Any = getattr(item, "callspec", None)
    if callspec is None or "postgresql" not in callspec.params.values():
        return None
    return item.nodeid.replace("postgresql", "sqlite")


def is_marked(item: pytest.Item) -> bool:
    return item.get_closest_marker("sweep") is not None


def draws_its_inputs(item: pytest.Item) -> bool:
    """Whether Hypothesis makes them: few in `make test`, many in sweeps."""
    return getattr(getattr(item, "function", None), "is_hypothesis_test", False)


def in_order(tier: str | None, items: list[pytest.Item]) -> list[pytest.Item]:
    """Processes take groups of tests in this order. Long ones come early, so that no process waits
    for one at the end. In `make test` most of them wait for a browser: they are spread over the
    first two thirds of the others, so that other processes use the cores meanwhile."""
    groups: dict[str, list[pytest.Item]] = {}
    for each in items:
        groups.setdefault(_group(each), []).append(each)
    long = [each for each in groups.values() if any(map(takes_long, each))]
    ordered = [each for each in groups.values() if not any(map(takes_long, each))]
    distance = 0.0 if tier == "sweeps" else len(ordered) * 2 / 3 / max(1, len(long))
    for number in reversed(range(len(long))):
        ordered.insert(int(number * distance), long[number])
    return list(chain(*ordered))


def _group(item: pytest.Item) -> str:
    mark = item.get_closest_marker("xdist_group")
    return mark.args[0] if mark else item.nodeid


def takes_long(item: pytest.Item) -> bool:
    if is_marked(item) or item.get_closest_marker("slow"):
        return True
    return "chromium" in getattr(item, "fixturenames", ())


class _Left:
    """Says at the end how many tests are of the other tier. Each process of the tests has counted
    them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        left = getattr(node, "workeroutput", {}).get(_NAMED)
        if left is not None:
            self._config.stash[_LEFT] = left

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        if left := self._config.stash.get(_LEFT, 0):
            other = (
                "make test-sweeps" if self._config.getoption("--tier") == "test" else "make test"
            )
            terminalreporter.write_line(f"left to `{other}`: {left} tests", yellow=True)
