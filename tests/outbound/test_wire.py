"""A read's time limit is about the far side, not about our own queue."""

from __future__ import annotations

import asyncio
import time

from masthead.outbound.turns import Turns
from masthead.outbound.wire import Wire

LIMIT_SECONDS = 0.05


async def test_what_came_in_time_is_not_late_because_its_reader_is() -> None:
    loop = asyncio.get_running_loop()
    turns = Turns(per_turn=1)
    wire = Wire(turns)
    reading = asyncio.create_task(wire.read(LIMIT_SECONDS))
    await asyncio.sleep(0)
    for _ in range(4):
        before = loop.create_future()
        # Blocks the loop on purpose: a busy process, for longer than the limit in all.
        before.add_done_callback(lambda _: time.sleep(LIMIT_SECONDS / 2))
        turns.wake(before)

    wire.data_received(b"in time")

    assert await reading == b"in time"
    again = asyncio.create_task(wire.read(60))
    await asyncio.sleep(0)
    wire.data_received(b"and on")
    assert await again == b"and on"
    wire.close()
