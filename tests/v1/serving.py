"""The service on a real port, for clients that live in processes of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.world import World, open_world

from masthead.service.serve.http_server import HttpServer
from masthead.service.serve.listener import address_of, listen
from masthead.web.asgi import ASGIApp


@asynccontextmanager
async def unlimited_world(database_url: str, folder: Path) -> AsyncIterator[World]:
    """The bare host serves the tenant `demo`; calls are not counted."""
    world = await open_world(
        database_url,
        folder,
        MASTHEAD_DEFAULT_TENANT="demo",
        MASTHEAD_RATE_LIMITS="off",
        MASTHEAD_OUTBOUND_ALLOW="127.0.0.0/8",
    )
    try:
        yield world
    finally:
        await world.parts.close()


@asynccontextmanager
async def serving_as_the_command_does(app: ASGIApp) -> AsyncIterator[str]:
    """Serves with the HTTP server of `masthead serve`."""
    (listener,) = listen("127.0.0.1", port=0)
    server = HttpServer(app, listener)
    running = asyncio.create_task(server.serve())
    try:
        yield address_of(listener)
    finally:
        listener.close()
        server.stop()  # type: ignore[no-untyped-call]
        await running
