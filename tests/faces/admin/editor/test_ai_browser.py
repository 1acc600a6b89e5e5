"""The AI writes in the editor: its Markdown is formatting, and its links are the author's.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect
from tests.browser import Browser, needs_chromium
from tests.conftest import Server
from tests.faces.admin.editor.test_browser import Desk, desk_at, saved
from tests.features.ai.provider import plays, text_event, world_with_ai
from tests.served import serving
from tests.tls import Receiver

pytestmark = needs_chromium

TEXT = (
    "<p>The <strong>old</strong> <a href='https://a.example/x?y=1'>harbour</a> runs "
    "<code>make *tide*</code> in <a href='https://b.example/'>fog</a>.</p>"
)
FIGURE = '<figure><img src="/media/abc/fog.png" alt="Fog"><figcaption>Fog</figcaption></figure>'
SENT = "The **old** [harbour](link-1) runs `make *tide*` in [fog](link-2)."


@dataclass
class Room:
    desk: Desk
    provider: Receiver

    def answers(self, *pieces: str) -> None:
        events = b"".join(text_event("openai", each) for each in pieces)
        self.provider.default = plays(events + b"data: [DONE]\n\n")

    def sent(self) -> str:
        """The passage of the last call, between its marks."""
        body = json.loads(self.provider.requests[-1].body)
        passage: str = body["messages"][-1]["content"]
        return "\n".join(passage.split("\n")[1:-1])

    async def opened(self, html: str) -> tuple[Page, dict[str, Any]]:
        post = await self.desk.server.tenant.post(title="Tides", content_html=html)
        return await self.desk.open(f"/admin/posts/{post['id']}?as=editor"), post

    async def stored(self, page: Page, post: dict[str, Any]) -> str:
        await saved(page)
        html: str = (await self.desk.stored(post["id"]))["content_html"]
        return html


@pytest.fixture
async def room(tmp_path: Path, browser: Browser) -> AsyncIterator[Room]:
    async with Receiver(None) as provider:
        world = await world_with_ai(tmp_path, provider)
        tenant = await world.new_tenant("demo", slug="demo")
        async with (
            serving(world.http) as address,
            desk_at(Server(address, world, tenant), browser) as desk,
        ):
            yield Room(desk, provider)
        await world.parts.close()


async def ask(page: Page, action: str, bar: str = ".bubble") -> Locator:
    await page.locator(bar).get_by_role("button", name="Rewrite").click()
    await page.get_by_role("menuitem", name=action, exact=True).click()
    return page.locator(".ai")


async def select_all(page: Page) -> None:
    await page.locator("#text p").first.click()
    await page.keyboard.press("Control+a")


async def test_a_rewrite_keeps_the_formatting_of_the_selection(room: Room) -> None:
    page, post = await room.opened(TEXT)
    room.answers("In [the fog](link-2) the **very ", "old** [port](link-1) runs `make *tide*`.")
    await select_all(page)
    panel = await ask(page, "Rewrite")
    await expect(panel.locator(".ai-text strong")).to_have_text("very old")
    await expect(panel.locator(".ai-text")).to_have_text(
        "In the fog the very old port runs make *tide*."
    )
    await expect(panel.get_by_role("status")).to_have_text("Rewrite, 10 words")
    assert room.sent() == SENT
    # A look at the answer leads nowhere.
    await panel.locator("a").first.click()
    await panel.get_by_role("button", name="Replace").click()
    assert await room.stored(page, post) == (
        '<p>In <a href="https://b.example/">the fog</a> the <strong>very old</strong> '
        '<a href="https://a.example/x?y=1">port</a> runs <code>make *tide*</code>.</p>'
    )
    await page.keyboard.press("Control+z")
    await expect(page.locator("#text a").first).to_have_text("harbour")


@pytest.mark.sweep
async def test_addresses_are_the_authors_and_what_is_missing_is_said(room: Room) -> None:
    page, post = await room.opened(TEXT + FIGURE)
    room.answers(
        "The [port](link-1), says [a stranger](https://evil.example/), ",
        "![and a picture](https://evil.example/p.png) <img src=https://evil.example/q.png> ",
        "<a href='javascript:alert(1)'>or</a> <script>alert(1)</script>two.",
    )
    await select_all(page)
    panel = await ask(page, "Rewrite")
    status = panel.get_by_role("status")
    await expect(status).to_contain_text("A link of the selection is missing.")
    await expect(status).to_contain_text("A picture, table or embed of the selection is missing.")
    await expect(status).to_contain_text("Addresses that the AI made up are left out.")
    await panel.get_by_role("button", name="Replace").click()
    html = await room.stored(page, post)
    assert "evil" not in html
    assert "script" not in html
    assert '<a href="https://a.example/x?y=1">port</a>, says a stranger' in html


@pytest.mark.sweep
async def test_pictures_and_tables_come_back_and_markdown_is_formatting(room: Room) -> None:
    page, post = await room.opened(f"<h2>Sand</h2>{TEXT}{FIGURE}<ul><li><p>one</p></li></ul>")
    room.answers("## Sand, too\n\n{{1}}\n\nThe [a](link-1), [b](link-2).\n\n", "- *eins*\n- zwei")
    await select_all(page)
    panel = await ask(page, "Translate…")
    await panel.get_by_label("Into which language?").fill("German")
    await panel.get_by_role("button", name="Go").click()
    await expect(panel.get_by_role("button", name="Replace")).to_be_visible()
    await expect(panel.get_by_role("status")).to_have_text("Translation, 8 words")
    await panel.get_by_role("button", name="Replace").click()
    html = await room.stored(page, post)
    assert html.startswith('<h2>Sand, too</h2><figure><img src="/media/abc/fog.png" alt="Fog"')
    assert html.endswith("<ul><li><p><em>eins</em></p></li><li><p>zwei</p></li></ul>")


@pytest.mark.sweep
async def test_words_within_a_paragraph_stay_in_it(room: Room) -> None:
    page, post = await room.opened("<h2>The old <em>harbour</em> wall</h2>")
    room.answers("grey **quay**")
    await page.locator("#text em").dblclick()
    panel = await ask(page, "Rewrite")
    await expect(panel.get_by_role("button", name="Replace")).to_be_visible()
    assert room.sent() == "*harbour*"
    await panel.get_by_role("button", name="Replace").click()
    html = await room.stored(page, post)
    assert html == "<h2>The old grey <strong>quay</strong> wall</h2>"


@pytest.mark.sweep
async def test_new_words_are_formatted_and_stand_below(room: Room) -> None:
    page, post = await room.opened("<p>Tides.</p>")
    room.answers("### Why\n\nSee [the book](https://c.example/).\nIt is **long**.")
    await select_all(page)
    panel = await ask(page, "Write on…")
    await panel.get_by_label("What should it write?").fill("Say why, with https://c.example/")
    await panel.get_by_role("button", name="Go").click()
    await panel.get_by_role("button", name="Insert below").click()
    assert await room.stored(page, post) == (
        '<p>Tides.</p><h3>Why</h3><p>See <a href="https://c.example/">the book</a>.<br>'
        "It is <strong>long</strong>.</p>"
    )


@pytest.mark.sweep
async def test_code_is_sent_and_taken_as_it_is(room: Room) -> None:
    page, post = await room.opened("<pre><code>a = b * c * d</code></pre>")
    # Only the bar of phones offers it there.
    await page.set_viewport_size({"width": 390, "height": 800})
    room.answers("```python\na = b * c\n\nprint(a)\n```")
    await page.locator("#text pre").click()
    await page.keyboard.press("Home")
    await page.keyboard.press("Shift+End")
    panel = await ask(page, "Rewrite", ".keys-bar")
    await expect(panel.get_by_role("button", name="Replace")).to_be_visible()
    assert room.sent() == "a = b * c * d"
    await panel.get_by_role("button", name="Replace").click()
    html = await room.stored(page, post)
    assert "a = b * c\n\nprint(a)</code>" in html
