"""What an exception leaves in memory once it has been dealt with.

An exception that crosses a future is held by it, and by its traceback holds the frames it came
through and those behind them. Where one of these holds the future, everything they know stays until
a full collection, which a server puts off for long.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PATIENCE_SECONDS = 5.0


@asynccontextmanager
async def nothing_stays_of(*kinds: type) -> AsyncIterator[None]:
    """Within it nothing is collected: what is left when all threads are done is in a cycle."""
    gc.collect()
    before = {id(each) for each in gc.get_objects() if isinstance(each, kinds)}
    gc.disable()
    try:
        yield
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (left := _left(kinds, before)) and time.monotonic() < deadline:
            # The event loop has what it is at in hand, and a thread may have to let go yet.
            await asyncio.sleep(0)
        assert not left, left
    finally:
        gc.enable()


def _left(kinds: tuple[type, ...], before: set[int]) -> list[str]:
    new = [x for x in gc.get_objects() if isinstance(x, kinds) and id(x) not in before]
    return [f"{type(each).__name__}: {each}" for each in new]
