"""Chromium, for every test that opens a page. Each process of the tests starts it once."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.async_api import Browser as PlaywrightBrowser
from playwright.async_api import BrowserContext, ConsoleMessage, WebError, async_playwright, expect
from tests.clients.node import HERE as CLIENTS

# The shell does the same for the pages, without windows, in a third of the time.
_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _PROGRAMS)), None)
# Containers run tests as root, for whom Chromium's own sandbox can't start; letters stand as on a
# screen, not on whole pixels.
ARGUMENTS = ["--no-sandbox", "--font-render-hinting=none"]
AXE = CLIENTS / "node_modules" / "axe-core" / "axe.min.js"

PATIENCE_MS = 120_000
"""How long a page is waited for: only against hanging, as a busy machine may stop for seconds."""
expect.set_options(timeout=PATIENCE_MS)

REFUSED: list[str] = []
"""Refusals of the policy and failures of scripts, in any page that is opened here.
`the_policy_refuses_nothing_and_no_script_fails` looks at it after each test."""


needs_chromium = pytest.mark.skipif(
    CHROMIUM is None,
    reason="Chromium is missing: install chromium-headless-shell or chromium, as .ci/run does",
)


def keep_files_together(items: list[pytest.Item]) -> None:
    """One process runs all tests of a file that has something made once for all of them, a site or
    a server; the files are spread over the processes."""
    for each in items:
        is_grouped = each.get_closest_marker("xdist_group") is not None
        if _has_fixtures_of_its_file(each) and not is_grouped:
            each.add_marker(pytest.mark.xdist_group(each.nodeid.partition("::")[0]))


def _has_fixtures_of_its_file(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function):
        return False
    definitions = item._fixtureinfo.name2fixturedefs.values()
    return any(each[-1].scope == "module" for each in definitions)


@dataclass(frozen=True)
class Browser:
    """Chromium, with an eye on the policy and on failing scripts."""

    chromium: PlaywrightBrowser
    _opened: list[BrowserContext] = field(default_factory=list)

    async def new_context(self, **options: Any) -> BrowserContext:
        context = await self.chromium.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        context.on("console", _note_policy)
        context.on("weberror", _note_error)
        self._opened.append(context)
        return context

    async def close(self) -> None:
        for each in self._opened:
            await each.close()


def _note_policy(message: ConsoleMessage) -> None:
    if "Content Security Policy" in message.text:
        REFUSED.append(f"{message.location.get('url')}: {message.text}")


def _note_error(error: WebError) -> None:
    REFUSED.append(f"{error.page.url if error.page else ''}: {error.error}")


@contextlib.asynccontextmanager
async def launched() -> AsyncIterator[PlaywrightBrowser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        await browser.close()
