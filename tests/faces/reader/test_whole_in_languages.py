"""Whole sites in Arabic and in Japanese, and one in German and French at once, in Chromium: a
reader's way from the home page to the newsletter. Every page and email on it has the language and
the direction of its address, no English word of ours, and fits a telephone and a screen. With
`MASTHEAD_PICTURES` set to a folder, each is a picture."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from playwright.async_api import Page, expect
from tests.browser import Browser, needs_chromium
from tests.catalogs.extraction import stored_catalog
from tests.catalogs.pseudo import latin_words
from tests.faces.reader.live_site import LiveSite, live_site
from tests.looks import PHONE, WIDE, resize, sideways
from tests.outside.mail.offices import text_of
from tests.v1.keys import key_client

from masthead.base.languages.translators import direction_of, translator_of
from masthead.content.texts.languages import root_of
from masthead.service.background import mailing_worker

pytestmark = [needs_chromium, pytest.mark.sweep]

SITES = {
    "ar": {"site_name": "المرفأ", "site_description": "أخبار الساحل"},
    "ja": {"site_name": "港だより", "site_description": "海辺の町から届けるニュース"},
    "de": {"site_name": "Der Hafen", "site_description": "Neues von der Küste"},
}
TEXTS = {
    "ar": ("الضباب فوق الميناء", "خريطة النوافير", "<p>كان الصباح هادئًا.</p>"),
    "ja": (
        "霧に包まれた港の朝",
        "町の水飲み場をめぐる地図",
        "<p>静かな朝でした。「船はもう出たよ」と、漁師の一人が教えてくれました。</p>",
    ),
    "de": ("Nebel über dem Hafen", "Eine Karte der Brunnen", "<p>Der Morgen war still.</p>"),
    "fr": ("Brume sur le port", "Une carte des fontaines", "<p>Le matin était calme.</p>"),
}
NEWSLETTERS = {"ar": "رسالة المرفأ", "ja": "港だより週報", "de": "Hafenpost"}
KNOWN = (
    "Masthead",
    "Supporter",
    "RSS",
    "Website",
    "DELETE MY DATA",
    "Chrome",
    "Linux",
    "UK£",
    "mail/",
)
"""Names, what is typed, a field that only programs see, a currency in Arabic, a folder."""
_TORN = """[...document.querySelectorAll('body *')]
  .filter(each => parseFloat(getComputedStyle(each).letterSpacing)
    && /[\\u0620-\\u06ff\\u3040-\\u9fff]/.test(each.textContent))
  .map(each => each.outerHTML.slice(0, 100))"""
"""Letter spacing tears letters apart that are joined, and pushes together those in squares."""
WORDS = re.compile(r"[A-Za-z]{2,}.*[A-Za-z]{2,}|[A-Z][a-z]{3,}")


def english_of(language: str) -> list[re.Pattern[str]]:
    """Patterns of our English words that the language says in other words."""
    found = []
    for each in stored_catalog(language):
        ids = each.id if isinstance(each.id, tuple) else (each.id,)
        said = {*each.string} if isinstance(each.string, tuple) else {each.string}
        for message in ids:
            plain = re.sub(r"<[^<>]+>", "", message)
            if WORDS.search(re.sub(r"%\(\w+\)s", "", plain)) and message not in said:
                literal = re.escape(plain).replace("%%", "%")
                found.append(re.compile(re.sub(r"%\\\(\w+\\\)s", ".+", literal)))
    return found


@dataclass
class Way:
    """A reader's way in one language."""

    site: LiveSite
    page: Page
    language: str
    edition: str
    found: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root = root_of(self.edition)
        self.email = f"reader-{self.language}@example.com"
        self.words = translator_of(self.language).gettext
        self._english = english_of(self.language)

    async def open(self, path: str) -> None:
        await self.page.goto(f"{self.site.origin}{self.root}{path}")

    async def press(self, message: str) -> None:
        button = self.page.get_by_role("button", name=self.words(message), exact=True).first
        async with self.page.expect_navigation():
            await button.click()

    async def judge(self, where: str) -> None:
        page = self.page
        shown = await page.evaluate("[document.documentElement.lang, document.dir || 'ltr']")
        problems: list[Any] = []
        if shown != [self.language, direction_of(self.language)]:
            problems.append(shown)
        content = await page.content()
        problems += self._untranslated(content)
        await page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
        if self.language in ("ar", "ja") and (torn := await page.evaluate(_TORN)):
            problems.append(torn)
        if wide := await sideways(page, (PHONE, WIDE)):
            problems.append(wide)
        if problems:
            self.found[where] = problems
        await self._take(where)

    def _untranslated(self, content: str) -> list[str]:
        if self.language in ("ar", "ja"):
            return latin_words(content, *KNOWN)
        tree = html.document_fromstring(content)
        for element in tree.xpath("//script | //style"):
            element.drop_tree()
        texts = tree.xpath("//text() | //@alt | //@aria-label | //@placeholder | //@title")
        plain = {" ".join(str(each).split()) for each in texts}
        return sorted(
            text for text in plain if text and any(each.fullmatch(text) for each in self._english)
        )

    async def judge_letter(self, where: str, subject: str) -> None:
        mails = await self.site.office.mails()
        own = [each for each in mails if each["to"].addresses[0].addr_spec == self.email]
        [mail] = [each for each in own if each["subject"] == subject]
        await self.page.goto("about:blank")
        await self.page.set_content(text_of(mail, "html"))
        await self.judge(where)
        texts = [subject, *text_of(mail).splitlines()]
        lines = self._untranslated("".join(f"<p>{each}</p>" for each in texts if "://" not in each))
        if lines:
            self.found[f"{where}, text"] = lines

    async def _take(self, where: str) -> None:
        if folder := os.environ.get("MASTHEAD_PICTURES"):
            for width in (PHONE, WIDE):
                await resize(self.page, width)
                path = Path(folder) / f"way-{self.language}-{where}-{width}.png"
                await self.page.screenshot(path=path, full_page=True)


@pytest.fixture
async def site(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LiveSite]:
    language, others = request.param
    async with live_site("sqlite", tmp_path) as site:
        tenant = site.tenant
        settings = {**SITES[language], "language": language, "languages": others}
        await tenant.settings(**settings, comments_by="everyone")
        [main] = await site.processor.find("newsletters")
        await tenant.update("newsletters", main["id"], {"name": NEWSLETTERS[language]})
        for each in (language, *others):
            first, second, text = TEXTS[each]
            tag = "" if each == language else each
            common = {"content_html": text, "language": tag, "tags": [TEXTS[each][1]]}
            await tenant.published(title=first, slug=f"open-{each}", **common)
            await tenant.published(
                title=second, slug=f"closed-{each}", visibility="members", **common
            )
        yield site


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport={"width": WIDE, "height": 800})
    yield await context.new_page()
    await context.close()


@pytest.mark.parametrize("site", [("ar", [])], indirect=True, ids=["ar"])
async def test_a_site_in_arabic(site: LiveSite, page: Page) -> None:
    assert await walk(Way(site, page, "ar", "")) == {}


@pytest.mark.parametrize("site", [("ja", [])], indirect=True, ids=["ja"])
async def test_a_site_in_japanese(site: LiveSite, page: Page) -> None:
    assert await walk(Way(site, page, "ja", "")) == {}


@pytest.mark.parametrize("site", [("de", ["fr"])], indirect=True, ids=["de-fr"])
async def test_a_site_in_german_and_french_at_once(site: LiveSite, page: Page) -> None:
    assert await walk(Way(site, page, "de", "")) == {}
    await page.context.clear_cookies()
    french = Way(site, page, "fr", "fr")
    assert await walk(french) == {}
    # From one language to the other, and each with its own posts only.
    await french.open("/")
    await page.get_by_role("link", name="Deutsch").click()
    await expect(page).to_have_url(f"{site.origin}/")
    await expect(page.get_by_role("link", name=TEXTS["de"][0]).first).to_be_visible()
    assert TEXTS["fr"][0] not in await page.content()


async def walk(way: Way) -> dict[str, Any]:
    await reads(way)
    await joins(way)
    await signs_in_again(way)
    await gets_the_newsletter(way)
    return way.found


async def reads(way: Way) -> None:
    page, language = way.page, way.language
    await way.open("/")
    await way.judge("home")
    await page.get_by_role("link", name=TEXTS[language][0]).first.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(TEXTS[language][0])
    await way.judge("post")
    await way.open(f"/posts/closed-{language}")
    await way.judge("paywall")
    for path in ("/archive", "/search?q=x", "/nothing-here", "/member/tiers", "/member/gift"):
        await way.open(path)
        await way.judge(path.strip("/").replace("/", "-").partition("?")[0])


async def joins(way: Way) -> None:
    page = way.page
    await way.open(f"/member/sign-up?back={way.root}/posts/closed-{way.language}")
    await way.judge("sign-up")
    await page.locator("main input[type=email]").first.fill(way.email)
    await way.press("Send me a link")
    await way.judge("sign-up-sent")
    site = SITES["de" if way.language == "fr" else way.language]["site_name"]
    subject = way.words("Confirm that you want to join %(site)s") % {"site": site}
    await way.judge_letter("sign-up-email", subject)
    await page.goto(await way.site.mailed_link(way.email, f"{way.root}/member/link"))
    await way.judge("confirm")
    await way.press("Confirm and join")
    await way.open(f"/posts/closed-{way.language}")
    await expect(page.get_by_text(re.sub("<.*?>", "", TEXTS[way.language][2]))).to_be_visible()
    await way.judge("member-post")
    await way.open("/member/account")
    await way.judge("account")
    await way.open("/member/delete")
    await way.judge("delete")


async def signs_in_again(way: Way) -> None:
    page = way.page
    await page.context.clear_cookies()
    await way.open("/member/sign-in")
    await way.judge("sign-in")
    await page.locator("main input[type=email]").first.fill(way.email)
    await way.press("Sign in")
    await way.judge("sign-in-sent")
    site = SITES["de" if way.language == "fr" else way.language]["site_name"]
    await way.judge_letter("sign-in-email", way.words("Sign in to %(site)s") % {"site": site})


async def gets_the_newsletter(way: Way) -> None:
    tenant, first = way.site.tenant, TEXTS[way.language][0]
    [member] = await way.site.processor.find("blog_members", email=way.email)
    await tenant.update("blog_members", member["id"], {"newsletter": True})
    [post] = await way.site.processor.find("posts", slug=f"open-{way.language}")
    api = await key_client(tenant)
    made = await api.post("/api/v1/mailings", json={"post_id": post["id"]})
    assert made.status_code == 202, made.text
    await mailing_worker(tenant.world.parts).run_due()
    await way.judge_letter("newsletter", first)
