"""The service on a real port, for clients that live in processes of their own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from tests.world import World, open_world

from masthead.serve.http_server import HttpServer
from masthead.serve.listener import address_of, listen


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


class _QuietServer(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # They belong to the test run.
        yield


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    """The address that the application answers at."""
    config: Any = uvicorn.Config(app, port=0, log_config=None, lifespan="off", ws="none")
    server = _QuietServer(config)
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def serving_as_the_command_does(app: ASGIApp) -> AsyncIterator[str]:
    """By the HTTP server of `masthead serve`."""
    listener = listen("127.0.0.1", 0)
    server = HttpServer(app, listener)
    running = asyncio.create_task(server.serve())
    try:
        yield address_of(listener)
    finally:
        listener.close()
        server.stop()  # type: ignore[no-untyped-call]
        await running
