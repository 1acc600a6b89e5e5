"""Links and snippets in the editor, by keyboard alone, in Chromium.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

from playwright.async_api import expect
from tests.browser import needs_chromium
from tests.faces.admin.editor.test_browser import Desk, desk, post_id, saved, write

pytestmark = needs_chromium
__all__ = ["desk"]


async def test_links_are_found_and_snippets_saved_and_inserted_by_keyboard(desk: Desk) -> None:
    await desk.server.tenant.published(title="Fog signals", slug="fog-signals")
    page = await desk.open("/admin/posts/new")
    keys = page.keyboard
    await write(page, "See this")
    await keys.press("Shift+ArrowLeft")
    for _ in range(3):
        await keys.press("Shift+ArrowLeft")
    await keys.press("Control+k")
    field = page.get_by_role("combobox", name="Address, or words of a post, page or tag")
    await expect(field).to_be_focused()
    await keys.type("fog sig")
    await expect(page.get_by_role("option", name="Fog signals")).to_have_attribute(
        "aria-selected", "true"
    )
    await keys.press("Enter")
    await expect(page.locator("#text a")).to_have_attribute("href", "/posts/fog-signals")
    await expect(page.locator("#text a")).to_have_text("this")
    # With nothing selected the title is the text; an address is an address as before.
    await keys.press("End")
    await keys.type(" or ")
    await keys.press("Control+k")
    await keys.type("fog")
    await keys.press("Enter")
    await expect(page.locator("#text a").last).to_have_text("Fog signals")
    await keys.type(" or ")
    await keys.press("Control+k")
    await keys.type("example.org/a")
    await keys.press("Enter")
    await expect(page.locator("#text a").last).to_have_attribute("href", "https://example.org/a")
    # The paragraph as a snippet, twice.
    await keys.press("Control+a")
    await page.get_by_role("button", name="More formatting").focus()
    await keys.press("Enter")
    await page.get_by_role("menuitem", name="Save as a snippet…").focus()
    await keys.press("Enter")
    await expect(page.get_by_label("Name")).to_be_focused()
    await keys.type("Fog note")
    await keys.press("Enter")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.locator("#text")).to_be_focused()
    await keys.press("Control+End")
    # The editor learns a little later than the page where the caret is.
    await expect(page.locator(".bubble")).to_be_hidden()
    await keys.press("Enter")
    await expect(page.locator("#text p")).to_have_count(2)
    await keys.type("/snip")
    await keys.press("Enter")
    await expect(page.get_by_role("option", name="Fog note")).to_be_visible()
    await keys.type("note")
    await keys.press("Enter")
    await expect(page.locator("#text p")).to_have_count(3)
    await keys.type("After.")
    await saved(page)
    content = (await desk.stored(post_id(page)))["content_json"]["content"]
    assert content[0] == content[1]
    assert content[2]["content"][0]["text"] == "After."
