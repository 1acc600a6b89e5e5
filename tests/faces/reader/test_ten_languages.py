"""The pages that every reader sees, an email and the newsletter, in each language with a catalog:
nothing is wider than a telephone or a screen. With `MASTHEAD_PICTURES` set to a folder, each is a
picture."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from playwright.async_api import Page, Route
from tests.browser import Browser, needs_chromium
from tests.faces.reader.sample_site import SampleSite, any_picture, running
from tests.faces.reader.samples import LONG_WORD, PAGES, SITE, TEXT
from tests.looks import resize, sideways
from tests.outside.mail.test_message import MAILS
from tests.world import TenantWorld

from masthead.base.caller import Audience, Reader
from masthead.base.languages.translators import LANGUAGES, direction_of, translator_of
from masthead.faces.reader.member_views import AccountPage
from masthead.faces.reader.views import ErrorPage
from masthead.features.mailings.letter import Recipient, draw_letter
from masthead.features.mailings.tracking import Tracked
from masthead.features.site.address import Site
from masthead.outside.mail.rendering import render

pytestmark = needs_chromium

SEEN = (
    *("home", "post", "paywall", "sign-in", "sign-up", "account", "not-found"),
    *("tiers-member", "offer", "gift"),
)
PHONE, SCREEN = 375, 1280


@dataclass(frozen=True)
class Languages:
    origin: str
    page: Page

    async def open(self, language: str, name: str) -> None:
        await self.page.goto(f"{self.origin}/{language}.{name}", wait_until="load")
        shown = await self.page.evaluate("[document.documentElement.lang, document.dir || 'ltr']")
        assert shown == [language, direction_of(language)]
        await self.page.evaluate(
            "document.querySelectorAll('details').forEach(each => each.open = true)"
        )

    async def open_email(self, html: str) -> None:
        # Without the policy of the page before.
        await self.page.goto("about:blank")
        await self.page.set_content(html)


@asynccontextmanager
async def _in_languages() -> AsyncIterator[str]:
    """The samples, each in each language, at its tag and its name."""
    site = SampleSite()
    for language in LANGUAGES:
        for name in SEEN:
            template, chrome, page = PAGES[name]
            shown = replace(chrome, site=replace(chrome.site, language=language))
            site.pages[f"{language}.{name}"] = (template, shown, _said(page, language))
    async with running(site) as origin:
        yield origin


def _said(page: object, language: str) -> object:
    """With what the site says in the page in this language."""
    words = translator_of(language).gettext
    match page:
        case AccountPage():
            return replace(page, notice=words(page.notice))
        case ErrorPage():
            return replace(page, title=words(page.title), text=words(page.text))
    return page


@pytest.fixture(scope="module")
async def languages(browser: Browser) -> AsyncIterator[Languages]:
    async with _in_languages() as origin:
        context = await browser.new_context(viewport={"width": SCREEN, "height": 800})
        await context.route(f"{SITE.url}/**", _pictures)
        yield Languages(origin, await context.new_page())


async def _pictures(route: Route) -> None:
    """Those of emails, which have no server here."""
    if "/pictures/" in route.request.url:
        await route.fulfill(body=any_picture(), content_type="image/webp")
    else:
        await route.abort()


@pytest.mark.parametrize(
    "language",
    ["ar", *(pytest.param(each, marks=pytest.mark.sweep) for each in LANGUAGES if each != "ar")],
)
async def test_nothing_is_wider_than_the_screen(
    languages: Languages, tenant: TenantWorld, language: str
) -> None:
    found = {}
    for name in SEEN:
        await languages.open(language, name)
        found[name] = await _problems(languages.page, f"{language}-{name}")
    for name, html in (await _emails(tenant, language)).items():
        await languages.open_email(html)
        found[name] = await _problems(languages.page, f"{language}-{name}")
    assert {name: problems for name, problems in found.items() if problems} == {}


async def _emails(tenant: TenantWorld, language: str) -> dict[str, str]:
    """One with a link, and a newsletter for who may read all of its post, and for who may not."""
    mail = next(each for each in MAILS if each.template == "sign_in")
    post = await tenant.published(
        title=f"The lighthouse keeps its own hours, says the {LONG_WORD}",
        excerpt="Chapel Point light was taken off the clock in 1987.",
        featured_image="/pictures/lighthouse.webp",
        visibility="paid",
        language="en",
        content_html=f"<p>Every evening at a quarter to six.</p><!--more-->{TEXT}",
    )
    emails = {"sign_in": render(replace(mail, language=language)).html}
    for name, audience in (("newsletter", Audience.PAID), ("newsletter-wall", Audience.FREE)):
        letter = await draw_letter(
            tenant.world.parts.records,
            tenant_id=tenant.id,
            site=Site(SITE.name, SITE.url, language),
            newsletter={"slug": "weekly", "name": "The weekly letter", "footer": "1 Mole Road"},
            post=post,
            reader=Reader(audience),
            counted=Tracked("mailing", SITE.url, b"key", opens=True, clicks=True),
        )
        own = Recipient("ines.ferro@example.com", "Ines Ferro", f"{SITE.url}/unsubscribe")
        emails[name] = letter.for_recipient(own).html
    return emails


async def _problems(page: Page, name: str) -> dict[str, list[Any]]:
    problems = await sideways(page, (PHONE, SCREEN))
    if folder := os.environ.get("MASTHEAD_PICTURES"):
        for width in (PHONE, SCREEN):
            await resize(page, width)
            await page.screenshot(path=Path(folder) / f"{name}-{width}.png", full_page=True)
    return problems
