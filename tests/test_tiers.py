"""Which tier a test belongs to, and that a run says what it has left to the other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests import tiers
from tests.tiers import ON_BOTH, TESTS
from tests.world import World

CONFTEST = """
from tests import tiers

def pytest_addoption(parser):
    tiers.add_option(parser)

def pytest_configure(config):
    config.addinivalue_line("markers", "sweep")
    config.addinivalue_line("markers", "both_databases")
    tiers.configure(config)

def pytest_collection_modifyitems(config, items):
    tiers.leave_out_the_other_tier(config, items)
"""
SUITE = """
import pytest
from hypothesis import given, strategies
from tests.tiers import representatives

on_each = pytest.mark.parametrize("database", ["sqlite", "postgresql"])

def test_plain(): pass

@pytest.mark.sweep
def test_marked(): pass

@pytest.mark.parametrize("number", representatives([1, 2]))
def test_partly_marked(number): pass

@on_each
def test_of_a_face(database): pass

@on_each
@pytest.mark.both_databases
def test_of_races(database): pass

@pytest.mark.parametrize("database", ["postgresql"])
def test_of_postgresql_alone(database): pass

@given(strategies.integers())
def test_drawn(number): pass
"""
IN_TEST = [
    "test_drawn",
    "test_of_a_face[sqlite]",
    "test_of_postgresql_alone[postgresql]",
    "test_of_races[postgresql]",
    "test_of_races[sqlite]",
    "test_partly_marked[1]",
    "test_plain",
]
IN_SWEEPS = ["test_drawn", "test_marked", "test_of_a_face[postgresql]", "test_partly_marked[2]"]


def run(folder: Path, *arguments: str) -> str:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(SUITE)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p"),
            *("no:schemathesis", "--basetemp", str(folder / "temp"), "--rootdir", str(folder)),
            *(*arguments, str(folder)),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def names_in(output: str) -> list[str]:
    found = re.findall(r"test_some\.py::(\S+) PASSED|PASSED test_some\.py::(\S+)", output)
    return sorted(one or other for one, other in found)


@pytest.mark.parametrize("processes", tiers.representatives(["1", "0"]))
def test_make_test_runs_each_behaviour_once_and_says_what_is_left(
    processes: str, tmp_path: Path
) -> None:
    output = run(tmp_path, "--tier", "test", "-n", processes)
    assert names_in(output) == IN_TEST
    assert "left to `make test-sweeps`: 3 tests\n" in output


def test_sweeps_run_the_rest(tmp_path: Path) -> None:
    output = run(tmp_path, "--tier", "sweeps", "-n", "0")
    assert names_in(output) == IN_SWEEPS
    assert "left to `make test`: 6 tests\n" in output


def test_without_a_tier_everything_runs(tmp_path: Path) -> None:
    output = run(tmp_path, "-n", "0")
    assert names_in(output) == sorted({*IN_TEST, *IN_SWEEPS})
    assert "left to" not in output


@dataclass(frozen=True)
class Item:
    """A test, as far as its place in a run depends on it."""

    nodeid: str
    group: str = ""
    marks: tuple[str, ...] = ()
    fixturenames: tuple[str, ...] = ()

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        if name == "xdist_group" and self.group:
            return pytest.mark.xdist_group(self.group).mark
        return getattr(pytest.mark, name).mark if name in self.marks else None


def test_groups_that_wait_for_a_browser_are_spread_over_the_others_and_none_is_last() -> None:
    short = [Item(f"{number}") for number in range(9)]
    one = [Item(f"one {number}", "one", fixturenames=("chromium",)) for number in range(2)]
    two = [Item("two 1", "two"), Item("two 2", "two", ("slow",))]
    given: Any = [*short[:4], two[0], *one, *short[4:], two[1]]
    assert tiers.in_order("test", given) == [*two, *short[:3], *one, *short[3:]]
    assert tiers.in_order("sweeps", given) == [*two, *one, *short]


@pytest.mark.parametrize("folder", ON_BOTH)
def test_a_folder_that_runs_on_both_has_tests(folder: str) -> None:
    assert any((TESTS / folder).glob("test_*.py"))


def test_this_folder_runs_on_sqlite_once(service: World, request: pytest.FixtureRequest) -> None:
    assert not tiers.runs_on_both(request.node)
    assert (tiers.sqlite_twin(request.node) is None) == (service.engine == "sqlite")
