"""A whole service on a real port, for browsers."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser as PlaywrightBrowser
from playwright.async_api import BrowserContext, ConsoleMessage, WebError, async_playwright
from tests.databases import fresh_url
from tests.reader.test_browser import CHROMIUM
from tests.served import serving
from tests.world import RunningClock, World, open_world

REFUSED: list[str] = []
"""What the policy has refused and which scripts have failed, in any page of any browser that is
opened here. The tests' `conftest.py` looks at it after each of them."""


@dataclass(frozen=True)
class Browser:
    """Chromium, with an eye on the policy and on failing scripts."""

    chromium: PlaywrightBrowser

    async def new_context(self, **options: Any) -> BrowserContext:
        context = await self.chromium.new_context(**options)
        context.on("console", _note_policy)
        context.on("weberror", _note_error)
        return context


def _note_policy(message: ConsoleMessage) -> None:
    if "Content Security Policy" in message.text:
        REFUSED.append(f"{message.location.get('url')}: {message.text}")


def _note_error(error: WebError) -> None:
    REFUSED.append(f"{error.page.url if error.page else ''}: {error.error}")


@contextlib.asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        # Containers run tests as root, for whom Chromium's own sandbox can't start.
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield Browser(browser)
        await browser.close()


@contextlib.asynccontextmanager
async def world_at_its_address(folder: Path, **environ: str) -> AsyncIterator[tuple[World, int]]:
    """A service that knows its port, so that links in its mails and pages lead to it."""
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
        await world.parts.close()


@contextlib.asynccontextmanager
async def served(world: World) -> AsyncIterator[tuple[str, Browser]]:
    """Its origin and a browser; the world is closed at the end."""
    async with serving(world.http) as origin, chromium() as browser:
        yield origin, browser
    await world.parts.close()
