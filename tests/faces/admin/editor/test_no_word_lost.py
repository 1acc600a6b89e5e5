"""The histories by which words were lost, in Chromium: whatever was typed is in the post, among its
revisions, or on offer. `test_histories.py` plays thousands of others without a browser.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from typing import Any

import pytest
from playwright.async_api import Error, Page, Request, Route, expect
from tests.browser import needs_chromium
from tests.faces.admin.editor.test_browser import PASTE, Desk, desk, phase, post_id, saved, write

from masthead.features.posts.collection import post_revisions, post_working_copies

__all__ = ["desk"]

pytestmark = needs_chromium


async def ready(page: Page) -> None:
    await expect(page.locator("mh-editor[data-ready]")).to_be_attached()


async def texts_of(desk: Desk, text_id: str) -> str:
    """The post, its working copy and its revisions, as one text."""
    records, tenant_id = desk.server.world.parts.records, desk.server.tenant.id
    found: list[Any] = [await desk.stored(text_id)]
    for collection in (post_working_copies, post_revisions):
        found += await records.find(collection, {"post_id": text_id}, tenant_id=tenant_id, limit=99)
    return " ".join(str(each["content_html"]) for each in found)


async def until_stored(desk: Desk, text_id: str, words: str) -> None:
    while words not in (await desk.stored(text_id))["content_html"]:
        await asyncio.sleep(0.05)


async def cut(route: Route) -> None:
    await route.abort()


async def crash(page: Page) -> None:
    """With the last key: the page has no time to write or to send anything."""
    async with page.expect_event("crash"):
        with contextlib.suppress(Error):
            await page.goto("chrome://crash")
    await page.close()


@pytest.mark.sweep
async def test_a_choice_that_was_not_made_is_asked_for_again(desk: Desk) -> None:
    stored = await desk.server.tenant.post(title="Shared")
    address = f"/admin/posts/{stored['id']}"
    mine, other = await desk.open(address), await desk.open(address)
    await write(other, "Other words.")
    await saved(other)
    await write(mine, "My words.")
    await phase(mine, "conflict")
    for _ in range(2):
        await mine.reload()
        await ready(mine)
        await phase(mine, "conflict")
        await expect(mine.locator(".versus")).to_contain_text("My words.")
    assert (await desk.stored(stored["id"]))["content_html"] == "<p>Other words.</p>"
    await mine.get_by_role("button", name="Keep mine").click()
    await saved(mine)
    assert (await desk.stored(stored["id"]))["content_html"] == "<p>My words.</p>"
    assert "Other words." in await texts_of(desk, stored["id"])


@pytest.mark.sweep
async def test_a_choice_without_a_network_leaves_the_other_text_among_the_states(
    desk: Desk,
) -> None:
    stored = await desk.server.tenant.post(title="Shared")
    address = f"/admin/posts/{stored['id']}"
    mine, other = await desk.open(address), await desk.open(address)
    await write(other, "Other words.")
    await saved(other)
    await write(mine, "My words.")
    await phase(mine, "conflict")
    await mine.route("**/text", cut)
    await mine.get_by_role("button", name="Keep mine").click()
    await phase(mine, "waiting")
    await mine.unroute("**/text", cut)
    await mine.reload()
    await ready(mine)
    await until_stored(desk, stored["id"], "My words.")
    assert "Other words." in await texts_of(desk, stored["id"])


@pytest.mark.sweep
async def test_two_tabs_that_end_without_a_network_leave_both_texts(desk: Desk) -> None:
    stored = await desk.server.tenant.post(title="Shared")
    address = f"/admin/posts/{stored['id']}"
    one, other = await desk.open(address), await desk.open(address)
    await desk.context.route("**/text", cut)
    await write(one, "Words of one.")
    await phase(one, "waiting")
    await write(other, "Words of the other.")
    for page in (other, one):
        await crash(page)
    await desk.context.unroute("**/text", cut)
    again = await desk.open(address)
    await expect(again.locator("#text")).to_contain_text("Words of the other.")
    await saved(again)
    await again.get_by_role("button", name="Show").click()
    await expect(again.get_by_role("dialog")).to_contain_text("Words of one.")


@pytest.mark.parametrize("way", [pytest.param("another page", marks=pytest.mark.sweep), "closed"])
async def test_the_last_key_before_the_page_goes_is_stored(desk: Desk, way: str) -> None:
    stored = await desk.server.tenant.post(title="Short")
    page = await desk.open(f"/admin/posts/{stored['id']}")
    await write(page, "Some LEAVE words")
    if way == "closed":
        await page.close(run_before_unload=True)
    else:
        await page.goto(f"{desk.server.url}/api/health")
    # By the page itself, while it goes: no other page of the admin is opened.
    await until_stored(desk, stored["id"], "<p>Some LEAVE words</p>")


@pytest.mark.sweep
async def test_a_long_paste_that_is_left_at_once_is_sent_by_the_next_page(desk: Desk) -> None:
    stored = await desk.server.tenant.post(title="Long")
    page = await desk.open(f"/admin/posts/{stored['id']}")
    words = " ".join(f"word{number}" for number in range(25_000))
    assert len(words) > 200_000
    await page.locator("#text").click()
    await page.evaluate(
        f"given => {{ ({PASTE})(given); location.assign('/api/health'); }}", ["", words]
    )
    await page.wait_for_url("**/api/health")
    await page.goto(f"{desk.server.url}/admin/media")
    await until_stored(desk, stored["id"], "word24999</p>")


@pytest.mark.sweep
async def test_what_can_not_be_sent_is_said_in_the_list_and_sent_later(desk: Desk) -> None:
    stored = await desk.server.tenant.post(title="Offline post")
    await desk.context.route("**/text", cut)
    for address in (f"/admin/posts/{stored['id']}", "/admin/posts/new"):
        page = await desk.open(address)
        await write(page, "Kept words.")
        await crash(page)
    page = await desk.context.new_page()
    await page.goto(f"{desk.server.url}/admin/posts")
    row = page.get_by_role("row").filter(has_text="Offline post")
    await expect(row).to_contain_text("Kept in this browser, not saved yet")
    await expect(page.locator("[data-unsent]")).to_contain_text("“Kept words.”")
    assert "Kept" not in (await desk.stored(stored["id"]))["content_html"]
    await desk.context.unroute("**/text", cut)
    await page.goto(f"{desk.server.url}/admin/comments")
    await expect(page.locator(".toast")).to_contain_text(
        "Saved the changes that this browser had kept"
    )
    await until_stored(desk, stored["id"], "Kept words.")
    await page.goto(f"{desk.server.url}/admin/posts")
    await expect(page.get_by_role("link", name="Untitled")).to_be_visible()
    await expect(page.get_by_text("not saved yet")).to_have_count(0)


async def test_a_kept_text_never_replaces_what_was_saved_meanwhile(desk: Desk) -> None:
    stored = await desk.server.tenant.post(title="Shared")
    page = await desk.open(f"/admin/posts/{stored['id']}")
    await page.route("**/text", cut)
    await write(page, "Kept words.")
    await crash(page)
    await desk.server.tenant.update("posts", stored["id"], {"content_html": "<p>Newer words.</p>"})
    page = await desk.context.new_page()
    async with page.expect_response(re.compile("/text$")) as answered:
        await page.goto(f"{desk.server.url}/admin/posts")
    assert (await answered.value).status == 409
    sent: list[str] = []

    def requested(request: Request) -> None:
        if request.url.endswith("/text"):
            sent.append(request.url)

    desk.context.on("request", requested)
    row = page.get_by_role("row").filter(has_text="Shared")
    await expect(row).to_contain_text("Kept in this browser, not saved yet")
    assert (await desk.stored(stored["id"]))["content_html"] == "<p>Newer words.</p>"
    # Once: the pages that follow say it, and send nothing until a person has chosen.
    await page.reload()
    await expect(row).to_contain_text("Kept in this browser, not saved yet")
    again = await desk.open(f"/admin/posts/{stored['id']}?as=editor")
    await phase(again, "conflict")
    await expect(again.locator(".versus")).to_contain_text("Kept words.")
    # A look at the two is no choice.
    await again.close()
    await page.reload()
    await expect(row).to_contain_text("Kept in this browser, not saved yet")
    assert sent == []
    again = await desk.open(f"/admin/posts/{stored['id']}?as=editor")
    await again.get_by_role("button", name="Keep mine").click()
    await saved(again)
    await until_stored(desk, stored["id"], "Kept words.")
    assert len(sent) == 1


@pytest.mark.sweep
async def test_a_full_store_asks_before_the_page_goes(desk: Desk) -> None:
    page = await desk.context.new_page()
    await page.add_init_script(
        """
        const full = () => { throw new DOMException("full", "QuotaExceededError"); };
        Storage.prototype.setItem = IDBObjectStore.prototype.put = full;
        """
    )
    await page.goto(f"{desk.server.url}/admin/posts/new")
    await ready(page)
    await page.route("**/text", cut)
    await write(page, "Nowhere else.")
    await expect(page.get_by_text("This browser does not keep the text")).to_be_visible()
    asked: list[str] = []

    async def stay(dialog: Any) -> None:
        asked.append(dialog.type)
        await dialog.dismiss()

    page.on("dialog", stay)
    await page.close(run_before_unload=True)
    while not asked:
        await asyncio.sleep(0.05)
    assert asked == ["beforeunload"]
    await expect(page.locator("#text")).to_have_text("Nowhere else.")
    page.remove_listener("dialog", stay)
    await page.unroute("**/text", cut)
    await page.keyboard.press("Control+s")
    await saved(page)
    assert json.dumps("Nowhere else.")[1:-1] in (await desk.stored(post_id(page)))["content_html"]
