"""A second process of the service on the same database: nothing in memory is shared."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.databases import do_not_wait_for_disk
from tests.world import World

from masthead.service.services import build


@asynccontextmanager
async def second_process(world: World) -> AsyncIterator[World]:
    parts = await build(world.parts.settings, world.clock)
    do_not_wait_for_disk(parts.database)
    try:
        yield World(parts, world.clock)
    finally:
        await parts.close()
