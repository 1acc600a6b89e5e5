"""Texts that are stored as HTML, in Chromium: in the editor at once, or after one press.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

from playwright.async_api import expect
from tests.browser import needs_chromium
from tests.faces.admin.editor.test_browser import Desk, desk, saved

pytestmark = needs_chromium
__all__ = ["desk"]


async def test_html_opens_in_the_editor_or_says_what_it_would_lose(desk: Desk) -> None:
    kept = "<p>One <b>bold</b></p>\n<ul><li>a</li></ul><!--more--><p>Paid</p>"
    post = await desk.server.tenant.post(title="Kept", content_html=kept)
    page = await desk.open(f"/admin/posts/{post['id']}")
    await expect(page.locator("#text .paywall")).to_be_visible()
    await expect(page.locator("[data-notice]")).to_have_count(0)
    # Looking at it changes nothing; typing makes it a document.
    assert (await desk.stored(post["id"]))["content_html"] == kept
    await page.locator("#text p").last.click()
    await page.keyboard.press("End")
    await page.keyboard.type(" words")
    await saved(page)
    stored = await desk.stored(post["id"])
    assert stored["content_html"] == (
        "<p>One <strong>bold</strong></p><ul><li><p>a</p></li></ul>"
        '<hr class="paywall"><p>Paid words</p>'
    )
    lost = "<h2 id=tides>Tides</h2><dl><dt>Ebb</dt><dd>Out</dd></dl>"
    post = await desk.server.tenant.post(title="Lost", content_html=lost)
    await page.goto(f"{desk.server.url}/admin/posts/{post['id']}")
    await expect(page.get_by_text("Without id on <h2>")).to_be_visible()
    await page.get_by_role("button", name="Convert and open in the editor").click()
    await expect(page.locator("mh-editor[data-ready] h2")).to_have_text("Tides")
    await expect(page.locator(".card-html")).to_be_visible()
    stored = await desk.stored(post["id"])
    assert stored["content_json"]["content"][1]["attrs"]["html"] == (
        "<dl><dt>Ebb</dt><dd>Out</dd></dl>"
    )
