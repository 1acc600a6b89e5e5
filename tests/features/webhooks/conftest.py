from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.databases import fresh_url
from tests.features.webhooks.hooks import Hooks, new_hooks, open_hooks_world
from tests.tls import Authority
from tests.world import START, World


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
async def hooks_world(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    authority: Authority,
) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("hooks")
    world = await open_hooks_world(fresh_url(request.param, folder), folder, authority)
    yield world
    await world.parts.close()


@pytest.fixture
async def hooks(hooks_world: World, authority: Authority) -> AsyncIterator[Hooks]:
    hooks_world.clock.moment = START
    async with new_hooks(hooks_world, authority) as hooks:
        yield hooks
