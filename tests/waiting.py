"""Waits for what happens elsewhere: in another task, in a worker, at the far side of a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


async def until(holds: Callable[[], bool | Awaitable[bool]]) -> None:
    """Without a limit of its own: a busy machine may take its time, and each test has one."""
    while True:
        answer = holds()
        if answer if isinstance(answer, bool) else await answer:
            return
        await asyncio.sleep(0.05)
