"""Work that must not stop half-way when the task that asked for it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")


async def completed(work: Awaitable[Result]) -> Result:
    """Waits for the end of `work` even when cancelled meanwhile; then the cancellation goes on."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # looked at, so that the event loop does not report it as lost
        raise
    finally:
        # An exception's traceback has this frame. If the frame had the future, and the future has
        # the exception, all three and whatever else they hold would stay until a collection.
        del work, running
