"""Cards in the editor: from the slash menu to the site, by keyboard alone.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.browser import needs_chromium
from tests.content.cards.every_card import every_card
from tests.faces.admin.editor.test_browser import PASTE, Desk, desk, post_id, saved, write

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


async def test_a_card_goes_from_the_slash_menu_to_the_site(desk: Desk) -> None:
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


@pytest.mark.sweep
async def test_every_card_goes_from_the_slash_menu_to_the_site(desk: Desk) -> None:
    page, stored = await written(desk, list(FIELDS))
    assert [each["type"] for each in stored] == list(FIELDS)
    for each in stored:
        name = each["type"]
        assert each["attrs"].items() >= expected(name).items(), name
    records = desk.server.world.parts.records
    tenant = desk.server.tenant
    await tenant.update("posts", post_id(page), {"status": "published"})
    [post] = await records.find(
        tenant.world.collection("posts"), {"id": post_id(page)}, tenant_id=tenant.id
    )
    shown = (await tenant.guest.get(f"/posts/{post['slug']}")).text
    for name in FIELDS:
        assert re.search(rf'data-card="{name}"', shown), name


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
