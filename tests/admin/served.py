"""A whole service on a real port, for browsers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from playwright.async_api import Browser, async_playwright
from tests.conftest import _QuietServer
from tests.reader.test_browser import CHROMIUM
from tests.world import World


@contextlib.asynccontextmanager
async def served(world: World) -> AsyncIterator[tuple[str, Browser]]:
    """Its origin and a browser; the world is closed at the end."""
    config: Any = uvicorn.Config(world.http, port=0, log_config=None, lifespan="off", ws="none")
    server = _QuietServer(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0)
    port = server.servers[0].sockets[0].getsockname()[1]
    async with async_playwright() as playwright:
        # Containers run tests as root, for whom Chromium's own sandbox can't start.
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield f"http://127.0.0.1:{port}", browser
        await browser.close()
    server.should_exit = True
    await serving
    await world.parts.close()
