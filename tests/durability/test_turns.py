"""Changes of one tenant are serialized, and their times are in the order of their versions."""

from __future__ import annotations

import asyncio

from tests.world import World

from masthead.base import clock
from masthead.base.caller import system


async def test_a_change_has_the_time_at_which_it_got_the_lock(world: World) -> None:
    tenant = await world.new_tenant()
    posts = world.collection("posts")
    records = world.parts.records
    async with records.unit(system(tenant.id)) as first:
        waiting = asyncio.create_task(records.create(system(tenant.id), posts, {"title": "Later"}))
        await first.create(posts, {"title": "Earlier"})
        # Ten iterations of the event loop: by now the other change waits for the lock.
        for _ in range(10):
            await first.find(posts, {"title": "Earlier"}, limit=1)
        world.clock.advance(seconds=10)
    later = await waiting
    assert later["created"] == clock.to_text(world.clock())
