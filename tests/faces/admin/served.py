"""A whole service on a real port."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

from tests.databases import fresh_url
from tests.served import serving
from tests.world import RunningClock, World, open_world


@contextlib.asynccontextmanager
async def world_at_its_address(folder: Path, **environ: str) -> AsyncIterator[tuple[World, int]]:
    """A service that knows its port, so that links in its emails and pages lead to it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        world = await open_world(
            fresh_url("sqlite", folder),
            folder,
            RunningClock(),
            MASTHEAD_BASE_URL=f"http://localhost:{port}",
            **environ,
        )
        async with serving(world.http, listener=listener):
            yield world, port
            world.parts.realtime.end_all()
        await world.parts.close()


@contextlib.asynccontextmanager
async def served(world: World) -> AsyncIterator[str]:
    """Its origin; the world is closed at the end."""
    async with serving(world.http) as origin:
        yield origin
        # A page that is still open may listen.
        world.parts.realtime.end_all()
    await world.parts.close()
