"""Awaitables that must run to their end even when the task that awaits them is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")


async def complete(work: Awaitable[Result]) -> Result:
    """Waits for the end of `work` even when cancelled; then raises the cancellation."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # retrieved, so that the event loop does not report it
        raise
    finally:
        # An exception's traceback refers to this frame, and the future refers to the exception.
        # Without this, the reference cycle would live until a garbage collection.
        del work, running
