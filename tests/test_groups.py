"""One process runs a group of tests, so that what they share is made once."""

from __future__ import annotations

import pytest


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
