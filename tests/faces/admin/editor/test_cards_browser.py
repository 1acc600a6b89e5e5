"""Cards in the editor: from the slash menu to the site, by keyboard alone.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.browser import Browser, needs_chromium
from tests.content.cards.every_card import every_card
from tests.faces.admin.editor.test_browser import PASTE, Desk, desk, post_id, saved, write
from tests.faces.site_export.filled import entries, export
from tests.features.media.test_copies import photo
from tests.looks import EVERY_LOOK, accessibility, sideways

pytestmark = needs_chromium
__all__ = ["desk"]

FIELDS: dict[str, tuple[str, dict[str, str]]] = {
    "bookmark": ("bookmark", {"Address": "https://elsewhere.example/fog", "Title": "Fog"}),
    "button": ("button", {"Label": "Buy", "Address": "https://elsewhere.example/buy"}),
    "audio": ("audio", {"Title": "Horn", "Address of the file": "https://f.example/a.mp3"}),
    "video": ("movie", {"Caption": "Sea", "Address of the file": "https://f.example/a.mp4"}),
    "file": ("download", {"Name": "Tides", "Address of the file": "https://f.example/a.pdf"}),
    "html": ("widget", {"HTML": "<b>Vote</b>"}),
    "join": ("subscribe", {"Label": "Join us"}),
    "embed": ("vimeo", {"Address": "https://vimeo.com/76979871", "Title": "A film"}),
    "callout": ("callout", {"Sign": "!"}),
    "toggle": ("toggle", {"Line that opens it": "How?"}),
}
VALUES = {
    **{"Address": "url", "Title": "title", "Label": "label", "Caption": "caption", "HTML": "html"},
    **{"Name": "name", "Sign": "emoji", "Line that opens it": "summary"},
    "Address of the file": "src",
}


async def insert(page: Page, words: str, fields: dict[str, str]) -> None:
    """Uses the keyboard alone: the slash menu, then field by field."""
    await page.keyboard.type(f"/{words}")
    await page.keyboard.press("Enter")
    label = next(iter(fields))
    await expect(page.locator(".card-node.is-open").last.get_by_label(label)).to_be_focused()
    for at, value in enumerate(fields.values()):
        if at:
            await page.keyboard.press("Tab")
        await page.keyboard.type(value)
    await page.keyboard.press("Escape")


async def written(desk: Desk, names: list[str]) -> tuple[Page, list[dict[str, Any]]]:
    page = await desk.open("/admin/posts/new")
    await page.get_by_label("Title").first.fill("Cards")
    await write(page, "Text.")
    for name in names:
        await page.keyboard.press("Enter")
        words, fields = FIELDS[name]
        await insert(page, words, fields)
        if name in ("callout", "toggle"):
            await page.keyboard.type(f"Inside the {name}.")
            await page.locator("#text > p").last.click()
            continue
        await page.locator("#text > p").last.click()
    await saved(page)
    stored = (await desk.stored(post_id(page)))["content_json"]["content"]
    return page, [each for each in stored if each["type"] in FIELDS]


def expected(name: str) -> dict[str, str]:
    return {VALUES[label]: value for label, value in FIELDS[name][1].items()}


async def test_a_card_goes_from_the_slash_menu_to_readers_and_other_platforms(
    desk: Desk, tmp_path: Path
) -> None:
    page, stored = await written(desk, ["button", "callout"])
    assert [each["type"] for each in stored] == ["button", "callout"]
    assert stored[0]["attrs"] == expected("button")
    assert stored[1]["attrs"] == {"emoji": "!"}
    assert stored[1]["content"][0]["content"][0]["text"] == "Inside the callout."
    # One that lacks what it needs is not sent, and says so.
    await page.keyboard.type("/bookmark")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Not saved yet: Address missing.")).to_be_visible()
    await page.keyboard.press("Escape")
    await saved(page)
    html = (await desk.stored(post_id(page)))["content_html"]
    assert "mh-bookmark" not in html
    await page.reload()
    await expect(page.locator("#text .card-button .card-press")).to_have_text("Buy")
    await expect(page.locator("#text .card-callout .card-inside")).to_have_text(
        "Inside the callout."
    )
    check_forms(await forms_of(desk, post_id(page), tmp_path), ["button", "callout"])


async def test_a_pasted_address_becomes_an_embed_without_asking(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await page.locator("#text").click()
    await page.evaluate(PASTE, ["", "https://vimeo.com/76979871"])
    await expect(page.locator("#text .card-embed")).to_be_visible()
    await page.keyboard.type("Below.")
    await saved(page)
    [embed, below] = (await desk.stored(post_id(page)))["content_json"]["content"]
    assert embed["type"] == "embed"
    assert embed["attrs"]["url"] == "https://vimeo.com/76979871"
    assert below["content"][0]["text"] == "Below."


@dataclass
class Forms:
    """The forms of a published post that readers and other platforms get."""

    path: str
    site: str
    feed: str
    mail: str
    ghost: str
    wordpress: str


async def forms_of(desk: Desk, draft: str, folder: Path) -> Forms:
    tenant = desk.server.tenant
    post = await tenant.update("posts", draft, {"status": "published"})
    path = f"/posts/{post['slug']}"
    feed = (await tenant.guest.get("/feed.json")).json()["items"][0]["content_html"]
    mail = await desk.owner.api.get(
        f"/admin/posts/{draft}/email/page?as=free",
        headers={"cookie": f"pb_auth={desk.owner.token}"},
    )
    files = {}
    for form in ("ghost", "wxr"):
        await export(tenant, form, folder / form)
        content = (folder / form).read_bytes()
        if content[:2] == b"PK":
            content = b"".join(entries(folder / form).values())
        files[form] = content.decode("utf-8", "replace").replace('\\"', '"')
    site = (await tenant.guest.get(path)).text
    return Forms(path, site, feed, mail.text, files["ghost"], files["wxr"])


GHOST = {"join": "kg-signup-card", "html": "kg-card-begin: html"}
WORDPRESS = {
    **{"callout": "mh-callout", "bookmark": "wp:embed", "toggle": "wp:details"},
    **{"join": "wp:button", "html": "wp:html"},
}


def check_forms(forms: Forms, names: list[str]) -> None:
    for name in names:
        assert f'data-card="{name}"' in forms.site, name
        # Words that the author has typed.
        label, typed = next(reversed(FIELDS[name][1].items()))
        said = typed if VALUES[label] not in ("emoji", "html") else typed.strip("<b>/")
        for where in (forms.feed, forms.mail, forms.ghost, forms.wordpress):
            assert said in unescape(where), (name, said)
        assert GHOST.get(name, f"kg-{name}-card") in forms.ghost, name
        assert WORDPRESS.get(name, f"wp:{name}") in forms.wordpress, name


async def add_gallery(page: Page) -> None:
    await page.keyboard.type("/gallery")
    await page.keyboard.press("Enter")
    node = page.locator(".card-gallery")
    await expect(node.get_by_label("Caption")).to_be_focused()
    await page.keyboard.type("Two of them")
    files = [
        {"name": f"{each}.jpg", "mimeType": "image/jpeg", "buffer": photo((60 + each, 40))}
        for each in range(2)
    ]
    await node.locator("input[type=file]").set_input_files(files)
    await expect(node.locator(".card-pictures img")).to_have_count(2)
    await page.locator("#text > p").last.click()


@pytest.mark.sweep
async def test_every_card_goes_from_the_slash_menu_to_readers_and_other_platforms(
    desk: Desk, browser: Browser, tmp_path: Path
) -> None:
    page, stored = await written(desk, list(FIELDS))
    assert [each["type"] for each in stored] == list(FIELDS)
    for each in stored:
        name = each["type"]
        assert each["attrs"].items() >= expected(name).items(), name
    await add_gallery(page)
    await saved(page)
    forms = await forms_of(desk, post_id(page), tmp_path)
    check_forms(forms, list(FIELDS))
    for where in (forms.site, forms.feed, forms.mail, forms.ghost, forms.wordpress):
        assert "Two of them" in where
    for scripts in (True, False):
        context = await browser.new_context(java_script_enabled=scripts)
        outside: list[str] = []
        context.on("request", lambda sent, outside=outside: outside.append(sent.url))
        reader = await context.new_page()
        await reader.goto(desk.server.url + forms.path)
        await expect(reader.locator("[data-card]")).to_have_count(len(FIELDS) + 1)
        if scripts:
            assert await sideways(reader) == {}
            assert await accessibility(reader, EVERY_LOOK) == {}
        # Neither of a player nor of a recording at another site.
        assert [each for each in outside if not each.startswith(desk.server.url)] == []
        await context.close()


@pytest.mark.sweep
async def test_what_is_stored_opens_and_is_saved_unchanged(desk: Desk) -> None:
    cards = list(every_card().values())
    post = await desk.server.tenant.post(
        title="Every card", content_json={"type": "doc", "content": cards}
    )
    page = await desk.open(f"/admin/posts/{post['id']}")
    await expect(page.locator(".card-node")).to_have_count(len(cards))
    await page.locator("#text").press("Control+End")
    await page.keyboard.press("Enter")
    await page.keyboard.type("End.")
    await saved(page)
    stored = (await desk.stored(post["id"]))["content_json"]["content"]
    assert [each for each in stored if each["type"] != "paragraph"] == cards
