from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.databases import database_url
from tests.service.tracing.collector import Collector

__all__ = ["database_url"]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as running:
        yield running
