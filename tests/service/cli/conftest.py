from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests import log_lines
from tests.databases import database_url
from tests.service.cli.commands import Masthead

__all__ = ["database_url"]


@pytest.fixture(autouse=True)
def own_logs() -> Iterator[None]:
    """A command sets up logging for its process; here that is the whole test run's."""
    with log_lines.own_logs():
        yield


@pytest.fixture
def masthead(
    database_url: str,
    tmp_path_factory: pytest.TempPathFactory,
    capfd: pytest.CaptureFixture[str],
) -> Masthead:
    return Masthead(database_url, tmp_path_factory.mktemp("data"), capfd)
