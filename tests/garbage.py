"""Finds reference cycles that a handled exception leaves in memory.

A future refers to its exception, whose traceback refers to frames. If one of these refers to the
future, all of them stay until a full collection, which is rare in a server.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

TIMEOUT_SECONDS = 120.0


@asynccontextmanager
async def no_cycles_of(*kinds: type) -> AsyncIterator[None]:
    """Disables garbage collection: an object that is left when all threads are done is in a
    cycle."""
    gc.disable()
    # What is there already is not looked at again, here nor by any later collection.
    gc.freeze()
    try:
        yield
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while (left := _left(kinds)) and time.monotonic() < deadline:
            # The event loop holds references for now, and so may a thread.
            await asyncio.sleep(0.001)
        assert not left, left
    finally:
        gc.enable()


def _left(kinds: tuple[type, ...]) -> list[str]:
    new = [each for each in gc.get_objects() if isinstance(each, kinds)]
    return [f"{type(each).__name__}: {each}" for each in new]
