"""One process runs a group of tests, so that what they share is made once."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("groups")
def test_a_test_has_the_name_of_its_group(request: pytest.FixtureRequest) -> None:
    """pytest-xdist finds groups by the names of tests, and writes them there; with a version of
    pytest that it does not know it groups nothing, and nobody is told."""
    is_grouping = getattr(request.config.option, "loadgroup", False)
    assert request.node.nodeid.endswith("@groups") is is_grouping
