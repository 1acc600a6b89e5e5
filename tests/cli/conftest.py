from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog
from tests.cli.commands import Masthead
from tests.databases import database_url

from masthead import logs

__all__ = ["database_url"]


@pytest.fixture(autouse=True)
def own_logs() -> Iterator[None]:
    """A command sets up logging for its process; here that is the whole test run's."""
    root = logging.getLogger()
    before = root.handlers, root.level
    yield
    logs.close_access_log()
    root.handlers, root.level = before
    structlog.reset_defaults()


@pytest.fixture
def masthead(
    database_url: str,
    tmp_path_factory: pytest.TempPathFactory,
    capfd: pytest.CaptureFixture[str],
) -> Masthead:
    return Masthead(database_url, tmp_path_factory.mktemp("data"), capfd)
