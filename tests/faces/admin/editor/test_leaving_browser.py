"""Typing after each way of leaving each menu, dialog, panel and field of the editor: the selection
is the one from before, visible and real. Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from PIL import Image
from playwright.async_api import Locator, Page, expect
from tests.browser import Browser, needs_chromium
from tests.faces.admin.served import served
from tests.features.ai.provider import plays, text_event, world_with_ai
from tests.tls import Receiver
from tests.world import PASSWORD, Account, TenantWorld

pytestmark = needs_chromium

LINES = 12
WORD = "turns"
LINK = "https://tides.example/"


@dataclass(frozen=True)
class Site:
    origin: str
    browser: Browser
    tenant: TenantWorld
    owner: Account

    async def opened(self, html: str = f"<p>{WORD}</p>" * LINES) -> Page:
        context = await self.browser.new_context(viewport={"width": 1280, "height": 900})
        cookie: Any = {"name": "pb_auth", "value": self.owner.token, "url": self.origin}
        await context.add_cookies([cookie])
        post = await self.tenant.post(title="Tides", content_html=html)
        page = await context.new_page()
        await page.goto(f"{self.origin}/admin/posts/{post['id']}?as=editor")
        await expect(page.locator("mh-editor[data-ready]")).to_be_attached()
        return page


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> AsyncIterator[Site]:
    folder = tmp_path_factory.mktemp("leaving")
    async with Receiver(None) as provider:
        provider.default = plays(text_event("openai", "ebbs") + b"data: [DONE]\n\n")
        world = await world_with_ai(folder, provider)
        async with served(world) as origin:
            tenant = await world.new_tenant("demo", slug="demo")
            yield Site(origin, browser, tenant, await tenant.owner(name="Nell Ashby"))


def line(page: Page, number: int) -> Locator:
    return page.locator("#text > p").nth(number)


async def select(page: Page, number: int) -> None:
    await line(page, number).dblclick(position={"x": 10, "y": 10})
    await expect(page.locator(".bubble")).to_be_visible()


async def types_over(page: Page, number: int, *, text: str = "ebbs") -> None:
    """The word is selected as before, and the next keys replace it."""
    await expect(page.locator("dialog[open], .menu-floating, .ai")).to_have_count(0)
    await expect(page.locator("#text")).to_be_focused()
    assert await page.evaluate("getSelection().toString()") == WORD
    await expect(page.locator(".bubble")).to_be_visible()
    await page.keyboard.type(text)
    await expect(line(page, number)).to_have_text(text)


async def types_on(page: Page, where: Locator, text: str) -> None:
    """At the caret."""
    await expect(page.locator("dialog[open], .menu-floating, .ai")).to_have_count(0)
    await expect(page.locator("#text")).to_be_focused()
    await page.keyboard.type("!")
    await expect(where).to_have_text(text)


async def test_after_the_dialog_of_a_link(site: Site) -> None:
    page = await site.opened()
    dialog = page.get_by_role("dialog")
    bubble = page.locator(".bubble").get_by_role("button", name="Link")

    async def by_keys() -> None:
        await page.keyboard.press("Control+k")

    async def by_the_bubble() -> None:
        await bubble.click()

    async def by_the_bubble_with_keys() -> None:
        await bubble.focus()
        await page.keyboard.press("Enter")

    number = 0
    for opened in (by_keys, by_the_bubble, by_the_bubble_with_keys):
        await select(page, number)
        await opened()
        await expect(dialog.get_by_label("Address")).to_be_focused()
        await page.keyboard.press("Escape")
        await types_over(page, number)
        await select(page, number + 1)
        await opened()
        await dialog.get_by_role("button", name="Cancel").click()
        await types_over(page, number + 1)
        number += 2
    await select(page, number)
    await by_keys()
    await page.keyboard.type("no address")
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_role("alert")).to_be_visible()
    await dialog.get_by_label("Address").fill(LINK)
    await page.keyboard.press("Enter")
    await expect(line(page, number).locator("a")).to_have_text(WORD)
    await expect(line(page, number).locator("a")).to_have_attribute("href", LINK)
    # A link ends with its words: what is typed over all of them is none.
    await types_over(page, number)
    await expect(line(page, number).locator("a")).to_have_count(0)


@pytest.mark.sweep
async def test_after_the_dialog_of_a_link_that_is_there(site: Site) -> None:
    page = await site.opened(f'<p><a href="{LINK}">{WORD}</a></p>' * 3 + "<p>At</p>")
    dialog = page.get_by_role("dialog")
    await select(page, 0)
    await page.keyboard.press("Control+k")
    await page.keyboard.press("Escape")
    await types_over(page, 0)
    await select(page, 1)
    await page.keyboard.press("Control+k")
    await dialog.get_by_role("button", name="Remove the link").click()
    await expect(line(page, 1).locator("a")).to_have_count(0)
    await types_over(page, 1)
    await select(page, 2)
    await page.keyboard.press("Control+k")
    await page.keyboard.type("https://moon.example/")
    await dialog.get_by_role("button", name="Change").click()
    await types_over(page, 2)
    # Without a selection the address itself is written; what follows is no part of it.
    await line(page, 3).click()
    await page.keyboard.press("End")
    await page.keyboard.type(" ")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("moon.example")
    await page.keyboard.press("Enter")
    await types_on(page, line(page, 3), "At https://moon.example!")
    await expect(line(page, 3).locator("a")).to_have_text("https://moon.example")


@pytest.mark.sweep
async def test_after_a_menu_of_the_toolbar(site: Site) -> None:
    page = await site.opened()
    more = page.locator(".tools").get_by_role("button", name="More formatting")
    for number, key in enumerate(("Escape", "Tab")):
        await select(page, number)
        await more.click()
        await expect(page.get_by_role("menuitem").first).to_be_focused()
        await page.keyboard.press(key)
        await types_over(page, number)
    await select(page, 2)
    await more.click()
    await more.click()
    await types_over(page, 2)
    await select(page, 3)
    await more.click()
    await page.get_by_role("menuitem", name="Highlight").click()
    await types_over(page, 3)
    await expect(line(page, 3).locator("mark")).to_have_text("ebbs")
    await more.click()
    await select(page, 4)
    await types_over(page, 4)


@pytest.mark.sweep
async def test_after_the_toolbar_and_the_bubble(site: Site) -> None:
    page = await site.opened()
    for number, bar in enumerate((".tools", ".bubble")):
        await select(page, number * 2)
        await page.locator(bar).get_by_role("button", name="Bold").focus()
        await page.keyboard.press("Escape")
        await types_over(page, number * 2)
        await select(page, number * 2 + 1)
        await page.locator(bar).get_by_role("button", name="Bold").click()
        await types_over(page, number * 2 + 1)
        await expect(line(page, number * 2 + 1).locator("strong")).to_have_text("ebbs")


@pytest.mark.sweep
async def test_after_the_panel_of_the_ai(site: Site) -> None:
    page = await site.opened()
    panel = page.locator(".ai")

    async def ask(number: int, item: str) -> None:
        await select(page, number)
        await page.locator(".bubble").get_by_role("button", name="Rewrite").click()
        await page.get_by_role("menuitem", name=item, exact=True).click()

    await select(page, 0)
    await page.locator(".bubble").get_by_role("button", name="Rewrite").click()
    await page.keyboard.press("Escape")
    await types_over(page, 0)
    await ask(1, "Translate…")
    await expect(panel.get_by_label("Into which language?")).to_be_focused()
    await page.keyboard.press("Escape")
    await types_over(page, 1)
    await ask(2, "Translate…")
    await panel.get_by_role("button", name="Discard").click()
    await types_over(page, 2)
    await ask(3, "Rewrite")
    await expect(panel.get_by_role("button", name="Replace")).to_be_focused()
    await page.keyboard.press("Escape")
    await types_over(page, 3)
    await ask(4, "Rewrite")
    await panel.get_by_role("button", name="Replace").click()
    await types_on(page, line(page, 4), "ebbs!")
    await ask(5, "Rewrite")
    await panel.get_by_role("button", name="Insert below").click()
    await types_on(page, line(page, 6), "ebbs!")
    await expect(line(page, 5)).to_have_text(WORD)


@pytest.mark.sweep
async def test_after_the_menu_of_a_slash(site: Site) -> None:
    page = await site.opened("<p>turns</p><p></p>")
    await line(page, 1).click()
    await page.keyboard.type("/hea")
    await page.keyboard.press("Escape")
    await types_on(page, line(page, 1), "/hea!")
    await page.keyboard.press("Enter")
    await page.keyboard.type("/smaller")
    await page.keyboard.press("Enter")
    await types_on(page, page.locator("#text h3"), "!")
    await page.keyboard.press("Enter")
    await page.keyboard.type("/quo")
    await page.get_by_role("option", name="Quote").click()
    await types_on(page, page.locator("#text blockquote"), "!")


@pytest.mark.sweep
async def test_after_the_library(site: Site) -> None:
    await site.owner.api.post(
        "/api/collections/media/records",
        files={"file": ("boat.png", png())},
        data={"alt": "A boat", "caption": "In the mud"},
    )
    page = await site.opened("<p></p>")
    dialog = page.get_by_role("dialog")
    text = page.locator("#text > p").first

    async def choose() -> None:
        await page.keyboard.press("Control+a")
        await page.keyboard.type("/media")
        await page.keyboard.press("Enter")
        await expect(dialog).to_be_visible()

    await text.click()
    await choose()
    await page.keyboard.press("Escape")
    await types_on(page, text, "!")
    await choose()
    await dialog.get_by_role("button", name="Cancel").click()
    await types_on(page, text, "!")
    await choose()
    await dialog.locator("[data-picture]").first.click()
    await expect(page.locator("#text figcaption")).to_have_text("In the mud")
    await types_on(page, text, "!")
    # The picture stands where the empty line was, and one writes on below it.
    assert await page.evaluate(
        "[...document.querySelector('#text').children].map((each) => each.localName)"
    ) == ["figure", "p"]


@pytest.mark.sweep
async def test_after_the_field_of_a_block(site: Site) -> None:
    page = await site.opened("<p>turns</p><pre><code>a = 1</code></pre><p>ebbs</p>")
    language = page.get_by_label("Language of the code")
    code = page.locator("#text pre")
    await line(page, 0).click()
    await language.fill("python")
    await page.keyboard.press("Enter")
    await types_on(page, code, "a = 1!")
    await language.click()
    await page.keyboard.press("Escape")
    await types_on(page, code, "a = 1!!")


@pytest.mark.sweep
async def test_after_a_picture_that_was_not_uploaded(site: Site) -> None:
    page = await site.opened("<p>turns</p><p>turns</p>")
    await page.route("**/media/upload", lambda route: route.abort())
    for number, way in enumerate(("Leave it out", "Try again")):
        await select(page, number)
        async with page.expect_file_chooser() as chooser:
            await page.locator(".tools").get_by_role("button", name="Picture").click()
        files: Any = [{"name": "boat.png", "mimeType": "image/png", "buffer": png()}]
        await (await chooser.value).set_files(files)
        await page.get_by_role("button", name=way).click()
        await types_over(page, number)


@pytest.mark.sweep
async def test_after_the_sign_in(site: Site) -> None:
    page = await site.opened()
    dialog = page.get_by_role("dialog")
    notice = page.locator("[data-notice=signed-out]").get_by_role("button", name="Sign in")
    await line(page, 0).click()
    await page.context.clear_cookies()
    await page.keyboard.type(" ")
    await expect(dialog).to_be_visible()
    await page.keyboard.press("Escape")
    await types_on(page, line(page, 0), f"{WORD} !")
    await select(page, 1)
    await notice.click()
    await dialog.get_by_role("button", name="Later").click()
    await types_over(page, 1)
    await select(page, 2)
    await notice.click()
    await dialog.get_by_label("Email address").fill(site.owner.email)
    await dialog.get_by_label("Password").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await types_over(page, 2)
    await expect(notice).to_have_count(0)
    # Another field of the page has the focus again.
    title = page.get_by_label("Title", exact=True)
    await title.click()
    await page.context.clear_cookies()
    await page.keyboard.press("End")
    await page.keyboard.type("!")
    await expect(dialog).to_be_visible()
    await page.keyboard.press("Escape")
    await page.keyboard.type("!")
    await expect(title).to_have_value("Tides!!")
    await page.locator("[data-notice=signed-out]").get_by_role("button", name="Close").click()
    await expect(page.locator("#text")).to_be_focused()


def png() -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (3, 2), "white").save(made, "PNG")
    return made.getvalue()
