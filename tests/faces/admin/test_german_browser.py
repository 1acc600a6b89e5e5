"""The admin's main way in German, in Chromium: no English word is shown, and every page fits.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from playwright.async_api import Page, ViewportSize, expect
from tests.browser import Browser, needs_chromium
from tests.catalogs.checks import translations
from tests.catalogs.extraction import CATALOG_LANGUAGES, stored_catalog
from tests.conftest import Server
from tests.looks import sideways
from tests.world import PASSWORD

from masthead.base.languages.translators import ADMIN_LANGUAGES

pytestmark = [needs_chromium, pytest.mark.sweep]

DESKTOP = ViewportSize(width=1280, height=900)
SHOWN = """() => {
  const names = ["aria-label", "placeholder", "title", "alt", "data-placeholder"];
  const found = [document.title];
  for (const each of document.body.querySelectorAll("*")) {
    if (each.closest("script, style, template, code, pre") || !each.checkVisibility()) continue;
    found.push(...names.map((name) => each.getAttribute(name) ?? ""));
    for (const node of each.childNodes)
      if (node.nodeType === Node.TEXT_NODE) found.push(node.textContent);
  }
  return found.map((each) => each.replace(/\\s+/g, " ").trim()).filter(Boolean);
}"""
"""All texts that a person sees or hears."""
PATHS = (
    *("/", "/posts", "/pages", "/members", "/comments", "/media", "/statistics", "/account"),
    *("/settings", "/settings/design", "/settings/domain", "/settings/newsletters"),
    *("/settings/welcome", "/settings/payments", "/settings/ai", "/settings/privacy"),
)
_VALUE = re.compile(r"%\\?\(\w+\\?\)s")


async def check(page: Page, where: str) -> None:
    texts = await page.evaluate(SHOWN)
    english = [each for each in texts if _english().fullmatch(each)]
    problems: dict[str, Any] = await sideways(page)
    await page.set_viewport_size(DESKTOP)
    assert (english, problems) == ([], {}), where


@cache
def _english() -> re.Pattern[str]:
    """Every English text of the admin that is another one in German."""
    german: set[str] = set()
    english: set[str] = set()
    for name in CATALOG_LANGUAGES:
        for message in stored_catalog("de", name):
            if message.id:
                german.update(translations(message))
                english.update(message.id if isinstance(message.id, tuple) else (message.id,))
    # Languages are named in themselves.
    only = english - german - set(ADMIN_LANGUAGES.values())
    shown = (each for each in only if re.search(r"[A-Za-z]{2}", _VALUE.sub("", each)))
    return re.compile("|".join(map(_pattern, shown)))


def _pattern(message: str) -> str:
    text = re.escape(re.sub(r"<[^<>]+>", "", message).strip())
    return _VALUE.sub(".+", text).replace("%%", "%")


def test_an_english_text_is_found() -> None:
    assert _english().fullmatch("Saved in another tab at 10:42. Reopen it to continue from there.")
    assert _english().fullmatch("Search pictures")
    assert not _english().fullmatch("Bilder suchen")


async def test_the_main_way_is_german_and_fits(server: Server, browser: Browser) -> None:
    owner = await server.tenant.owner(name="Änne Groß")
    await server.tenant.member(name="Jörg Weiß", tier="free")
    page = await (await browser.new_context(locale="de-DE", viewport=DESKTOP)).new_page()
    await page.goto(f"{server.url}/admin/posts/new")
    await check(page, "sign-in")
    await page.get_by_label("E‑Mail-Adresse").fill(owner.email)
    await page.get_by_label("Passwort", exact=True).fill(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.locator("mh-editor[data-ready]")).to_be_attached()
    await check(page, "editor")
    await _write_with_cards(page)
    await page.get_by_role("button", name="Veröffentlichen").first.click()
    await expect(page.locator("h1")).to_have_text("Veröffentlichen")
    await check(page, "publish")
    await page.get_by_role("button", name="Veröffentlichen").last.click()
    await expect(page.get_by_role("button", name="Aktualisieren")).to_be_visible()
    await check(page, "published")
    for path in PATHS:
        answer = await page.goto(f"{server.url}/admin{path}")
        assert answer is not None
        assert answer.ok, path
        await check(page, path)


async def _write_with_cards(page: Page) -> None:
    await page.get_by_label("Titel", exact=True).fill("Der Leuchtturm")
    await page.locator("#text").click()
    await page.keyboard.type("/")
    await expect(page.get_by_role("option", name="Schaltfläche")).to_be_attached()
    await check(page, "slash menu")
    await page.keyboard.type("schalt")
    await page.keyboard.press("Enter")
    await expect(page.locator(".card-node").get_by_label("Beschriftung")).to_be_focused()
    await check(page, "card")
    await page.keyboard.type("Kaufen")
    await page.keyboard.press("Tab")
    await page.keyboard.type("https://elsewhere.example/kaufen")
    await page.keyboard.press("Escape")
    await page.locator("#text > p").last.click()
    await page.keyboard.type("/galerie")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Noch nicht gespeichert. Es fehlt: Datei.")).to_be_visible()
    await check(page, "gallery")
    await page.locator(".card-gallery").get_by_role("button", name="Entfernen").click()
    status = page.locator("[data-save-status]")
    await expect(status).to_have_attribute("data-save-status", "clean")
    await expect(status).to_have_text(re.compile(r"Gespeichert \d\d:\d\d"))
    await check(page, "saved")
