"""One process runs a group of tests, so that what they share is made once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tiers import TESTS


@pytest.fixture(scope="module")
def shared() -> None:
    pass


@pytest.mark.xdist_group("groups")
def test_a_test_has_the_name_of_its_group(request: pytest.FixtureRequest) -> None:
    """pytest-xdist finds groups by the names of tests, and writes them there; with a version of
    pytest that it does not know it groups nothing, and nobody is told."""
    assert request.node.nodeid.endswith("@groups") is is_grouping(request)


def test_those_that_share_something_of_their_file_are_a_group(
    shared: None, request: pytest.FixtureRequest
) -> None:
    assert request.node.nodeid.endswith("@tests/test_groups.py") is is_grouping(request)


def is_grouping(request: pytest.FixtureRequest) -> bool:
    return bool(getattr(request.config.option, "loadgroup", False))


SUITE = """
import pytest

@pytest.fixture(autouse=True)
def noted(request):
    with open("order", "a") as order:
        order.write(request.node.name + "\\n")

def test_first(): pass

@pytest.mark.xdist_group("small")
def test_small(): pass

@pytest.mark.xdist_group("large")
@pytest.mark.parametrize("number", range(5))
def test_large(number): pass

@pytest.mark.parametrize("number", range(5))
def test_alone(number): pass
"""
CONFTEST = """
from tests.scheduling import Scheduling

def pytest_xdist_make_scheduler(config, log):
    return Scheduling(config, log)
"""


def test_groups_are_taken_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(SUITE)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", "1", "--dist", "loadgroup"),
            *("-p", "no:cacheprovider", "-p", "no:schemathesis", "--rootdir", str(tmp_path)),
            str(tmp_path),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "12 passed" in done.stdout, done.stdout
    names = [each.partition("@")[0] for each in (tmp_path / "order").read_text().splitlines()]
    large, alone = ([f"test_{kind}[{n}]" for n in range(5)] for kind in ("large", "alone"))
    assert names == ["test_first", "test_small", *large, *alone]
