"""What `make test-quick` leaves out, and that the folders which it names are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.quick import is_slow
from tests.world import World

ROOT = Path(__file__).parent.parent


def test_what_runs_on_postgresql_is_left_out(
    service: World, request: pytest.FixtureRequest
) -> None:
    assert is_slow(request.node) == (service.engine == "postgresql")


def test_what_needs_no_database_is_not(request: pytest.FixtureRequest) -> None:
    assert not is_slow(request.node)


@pytest.mark.long
def test_what_is_marked_long_is(request: pytest.FixtureRequest) -> None:
    assert is_slow(request.node)


def test_its_folders_are_there() -> None:
    written = re.search(r"^QUICK := (.*?[^\\])\n", (ROOT / "Makefile").read_text(), re.M | re.S)
    assert written
    folders = written[1].replace("\\\n", " ").split()
    assert "tests/records" in folders
    assert [each for each in folders if not any((ROOT / each).rglob("test_*.py"))] == []
