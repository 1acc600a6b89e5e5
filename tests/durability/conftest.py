"""A separate service for tests that crash it or read all of its data."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.world import World, open_world


@pytest.fixture
async def world(database_url: str, tmp_path: Path) -> AsyncIterator[World]:
    world = await open_world(database_url, tmp_path)
    yield world
    await world.parts.close()
