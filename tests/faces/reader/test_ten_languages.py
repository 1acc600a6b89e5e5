"""The pages that every reader sees, and the emails, in each language with a catalog: nothing is
wider than a telephone or a screen. With `MASTHEAD_PICTURES` set to a folder, each is a picture."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.async_api import Page
from tests.browser import Browser, needs_chromium
from tests.faces.reader.sample_site import SampleSite, running
from tests.faces.reader.samples import PAGES
from tests.looks import resize, sideways
from tests.outside.mail.test_message import MAILS

from masthead.base.languages.translators import LANGUAGES, direction_of
from masthead.outside.mail.rendering import render

pytestmark = needs_chromium

SEEN = ("home", "post", "paywall", "sign-in", "sign-up", "account", "not-found")
PHONE, SCREEN = 375, 1280


@dataclass(frozen=True)
class Languages:
    origin: str
    page: Page

    async def open(self, language: str, name: str) -> None:
        if name in SEEN:
            await self.page.goto(f"{self.origin}/{language}.{name}", wait_until="load")
            return
        mail = next(each for each in MAILS if each.template == name)
        # Without the policy of the page before.
        await self.page.goto("about:blank")
        await self.page.set_content(render(replace(mail, language=language)).html)


@asynccontextmanager
async def _in_languages() -> AsyncIterator[str]:
    """The samples, each in each language, at its tag and its name."""
    site = SampleSite()
    for language in LANGUAGES:
        for name in SEEN:
            template, chrome, page = PAGES[name]
            shown = replace(chrome, site=replace(chrome.site, language=language))
            site.pages[f"{language}.{name}"] = (template, shown, page)
    async with running(site) as origin:
        yield origin


@pytest.fixture(scope="module")
async def languages(browser: Browser) -> AsyncIterator[Languages]:
    async with _in_languages() as origin:
        context = await browser.new_context(viewport={"width": SCREEN, "height": 800})
        yield Languages(origin, await context.new_page())


@pytest.mark.parametrize(
    "language",
    ["ar", *(pytest.param(each, marks=pytest.mark.sweep) for each in LANGUAGES if each != "ar")],
)
async def test_nothing_is_wider_than_the_screen(languages: Languages, language: str) -> None:
    found = {}
    for name in (*SEEN, "sign_in"):
        await languages.open(language, name)
        page = languages.page
        if name in SEEN:
            shown = await page.evaluate("[document.documentElement.lang, document.dir || 'ltr']")
            assert shown == [language, direction_of(language)]
        await page.evaluate(
            "document.querySelectorAll('details').forEach(each => each.open = true)"
        )
        if problems := await sideways(page, (PHONE, SCREEN)):
            found[name] = problems
        await _take(page, f"{language}-{name}")
    assert found == {}


async def _take(page: Page, name: str) -> None:
    if folder := os.environ.get("MASTHEAD_PICTURES"):
        for width in (PHONE, SCREEN):
            await resize(page, width)
            await page.screenshot(path=Path(folder) / f"{name}-{width}.png", full_page=True)
