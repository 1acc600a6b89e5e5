"""Whole ways through the editor in Chromium: writing, publishing, previewing, restoring; and what
may go wrong on them. Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Page, Request, expect
from tests.browser import Browser, needs_chromium
from tests.databases import fresh_url
from tests.durability.servers import environment, new_sites
from tests.faces.admin.editor.test_browser import (
    Desk,
    desk,
    phase,
    post_id,
    saved,
    signed_in,
    write,
)
from tests.forking import forked_program
from tests.world import PASSWORD

__all__ = ["desk"]

pytestmark = needs_chromium


async def ready(page: Page) -> None:
    await expect(page.locator("mh-editor[data-ready]")).to_be_attached()


async def press(page: Page, name: str) -> None:
    """A button that leads to another page, with the editor in it."""
    async with page.expect_event("load"):
        await page.get_by_role("button", name=name, exact=True).click()
    await ready(page)


async def through_dialog(page: Page, opens: str, press_there: str, what: str = "") -> None:
    """Opens a dialog with its button, and presses the button in it."""
    async with page.expect_event("load"):
        await page.get_by_role("button", name=opens, exact=True).click()
    if what:
        await page.get_by_label(what, exact=True).check()
    await press(page, press_there)


@pytest.mark.sweep
async def test_a_post_is_scheduled_published_and_taken_down_with_the_same_text(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    # What is not stored yet has no pages of its own.
    assert await page.locator("a[href*='/admin/posts/']").count() == 0
    await page.get_by_label("Title", exact=True).fill("Low tide")
    await write(page, "The boats lie on the sand.")
    await saved(page)
    # Everything from the first save on, without a reload.
    await expect(page.get_by_role("link", name="Delete this post…")).to_be_visible()
    await expect(page.locator('a[href$="/revisions"]')).to_be_visible()
    async with page.expect_event("load"):
        await page.get_by_role("button", name="Publish…").click()
    await page.get_by_label("At a time").check()
    await page.get_by_label("Time", exact=True).fill("2100-01-01T08:00")
    await expect(page.get_by_text("1 January 2100 at 08:00")).to_be_visible()
    await press(page, "Schedule")
    await expect(page.locator(".ed-bar .badge")).to_contain_text("1 Jan")
    # The focus is on what one does next.
    await expect(page.get_by_role("button", name="Publish…")).to_be_focused()
    assert (await desk.stored(post_id(page)))["scheduled_for"].startswith("2100-01-01")
    await through_dialog(page, "Publish…", "Cancel the schedule", "Don’t publish automatically")
    await expect(page.locator(".ed-bar .badge")).to_have_text("Draft")
    await through_dialog(page, "Publish…", "Publish")
    await expect(page.get_by_role("link", name="View on site")).to_be_focused()
    reader = httpx.AsyncClient(base_url=desk.server.url)
    assert "The boats lie on the sand." in (await reader.get("/posts/low-tide")).text
    await through_dialog(page, "Update…", "Unpublish", "Take it off the site")
    assert (await reader.get("/posts/low-tide")).status_code == 404
    await reader.aclose()
    await page.reload()
    await ready(page)
    await expect(page.locator("#text")).to_have_text("The boats lie on the sand.")
    await expect(page.get_by_label("Title", exact=True)).to_have_value("Low tide")


@dataclass
class Child:
    """`masthead serve` as a process of its own, on one port for all its lives."""

    port: int
    environ: dict[str, str]
    log: Path
    _process: asyncio.subprocess.Process | None = field(default=None)

    async def start(self) -> None:
        command = ("serve", "--port", str(self.port), "--no-worker")
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                forked_program(),
                *command,
                env={**os.environ, **self.environ},
                stdout=log,
                stderr=log,
            )
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}") as client:
            while not await _is_up(client):
                assert self._process.returncode is None, self.log.read_text()

    async def kill(self) -> None:
        if self._process and self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
            await self._process.wait()


async def _is_up(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/api/health")).status_code == 200
    except httpx.TransportError:
        await asyncio.sleep(0.1)
        return False


@asynccontextmanager
async def child_at(environ: dict[str, str], log: Path) -> AsyncIterator[Child]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    child = Child(port, {**environ, "MASTHEAD_BASE_URL": f"http://localhost:{port}"}, log)
    try:
        await child.start()
        yield child
    finally:
        await child.kill()


@pytest.mark.sweep
async def test_every_character_is_there_after_the_server_was_killed_midway(
    tmp_path: Path, browser: Browser
) -> None:
    environ = environment(tmp_path, fresh_url("sqlite", tmp_path))
    [site] = await new_sites(environ, "demo")
    async with child_at(environ, tmp_path / "log") as child:
        context = await browser.new_context()
        origin = f"http://demo.localhost:{child.port}"
        await context.add_cookies([{"name": "pb_auth", "value": site.token, "url": origin}])
        page = await context.new_page()
        await page.goto(f"{origin}/admin/posts/new")
        await ready(page)
        await write(page, "Up. ")
        await saved(page)
        # Killed while keys come, and started again while keys come.
        words = [f"word{number}" for number in range(60)]
        await page.keyboard.type(" ".join(words[:10]) + " ", delay=20)
        typing = asyncio.create_task(page.keyboard.type(" ".join(words[10:40]) + " ", delay=20))
        await child.kill()
        await typing
        await phase(page, "waiting")
        await child.start()
        await page.keyboard.type(" ".join(words[40:]), delay=20)
        await saved(page)
        await page.reload()
        await ready(page)
        await expect(page.locator("#text")).to_have_text("Up. " + " ".join(words))
        await context.close()


@pytest.mark.sweep
async def test_a_minute_offline_costs_nothing(desk: Desk) -> None:
    page = await desk.context.new_page()
    await page.clock.install()
    await page.goto(f"{desk.server.url}/admin/posts/new")
    await ready(page)
    await write(page, "Before. ")
    await saved(page)
    tries: list[str] = []

    def failed(request: Request) -> None:
        if request.url.endswith("/text"):
            tries.append(request.url)

    page.on("requestfailed", failed)
    await desk.context.set_offline(True)
    await page.keyboard.type("Offline. ")
    await page.clock.run_for(2_000)
    await phase(page, "waiting")
    await page.keyboard.type("For a minute. ")
    for _ in range(6):
        # In steps: each try has to fail before the next is planned.
        await page.clock.run_for(10_000)
        await phase(page, "waiting")
    assert len(tries) >= 3
    await expect(page.locator("[data-save-status]")).to_have_text(
        "Not saved: the server can’t be reached. Kept on this device"
    )
    await page.keyboard.type("Back.")
    # The browser says so by itself.
    await desk.context.set_offline(False)
    await page.clock.run_for(1_000)
    await saved(page)
    html = (await desk.stored(post_id(page)))["content_html"]
    assert html == "<p>Before. Offline. For a minute. Back.</p>"


async def test_a_post_is_written_linked_and_published_by_keys_alone(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    # The caret is in the title.
    await page.keyboard.type("Low tide")
    await page.keyboard.press("Enter")
    await page.keyboard.type("See the almanac")
    # In the text Ctrl K makes a link; in the title it searches.
    await page.keyboard.press("Control+Shift+ArrowLeft")
    await page.keyboard.press("Control+k")
    await expect(page.get_by_label("Address").last).to_be_focused()
    await page.keyboard.type("example.org")
    await page.keyboard.press("Enter")
    await expect(page.locator("#text a[href='https://example.org']")).to_have_text("almanac")
    await expect(page.locator("#palette")).to_be_hidden()
    await page.keyboard.press("ArrowRight")
    await page.keyboard.type(" of tides")
    # Published from the text: the page comes back with the caret where it was. The first save has
    # given the page its address before, which is a navigation without a load.
    async with page.expect_event("load"):
        await page.keyboard.press("Control+Enter")
    async with page.expect_event("load"):
        await page.keyboard.press("Enter")
    await ready(page)
    await expect(page.locator("#text")).to_be_focused()
    await page.keyboard.type(", too")
    await expect(page.locator("#text")).to_have_text("See the almanac of tides, too")
    await page.get_by_label("Title", exact=True).focus()
    await page.keyboard.press("Control+k")
    await expect(page.locator("#palette")).to_be_visible()


# Whether all of an element's text is seen, and nothing lies over it.
WHOLE = """(each) => {
  const {left, right, top, bottom} = each.getBoundingClientRect();
  const isCut = each.scrollWidth > each.clientWidth && getComputedStyle(each).display !== "inline";
  const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  const isWithin = left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
  return isWithin && !isCut && (each === over || each.contains(over) || over.contains(each));
}"""


@pytest.mark.sweep
async def test_nothing_of_the_bars_is_cut_on_a_phone_or_a_desktop(desk: Desk) -> None:
    post = await desk.server.tenant.post(title="Low tide")
    page = await desk.open(f"/admin/posts/{post['id']}")
    widths = (320, 375, 1280)
    line = page.locator("[data-save-status]")
    # Undo is in sight on a phone.
    await page.set_viewport_size({"width": 320, "height": 640})
    undo = page.locator(".keys-bar").get_by_role("button", name="Undo")
    assert await undo.evaluate(WHOLE)
    await write(page, "Words.")
    await undo.click()
    await expect(page.locator("#text")).to_have_text("")
    await page.get_by_role("button", name="Insert and format").click()
    await page.get_by_role("menuitem", name="Bullets").click()
    await page.keyboard.type("One")
    await expect(page.locator("#text li")).to_have_text("One")
    await saved(page)
    await through_dialog(page, "Publish…", "Publish")
    await write(page, "More")
    await saved(page)
    await expect(page.locator(".ed-bar .badge")).to_have_text("Changed, not live")
    for width in widths:
        await page.set_viewport_size({"width": width, "height": 640})
        assert await line.evaluate(WHOLE), (width, await line.inner_text())
    for choice in await page.locator(".segment label").all():
        assert await choice.evaluate(WHOLE), await choice.inner_text()
    # Why it is not saved, in whole sentences; where the text has been scrolled to is no matter.
    await page.route("**/text", lambda route: route.abort())
    await page.keyboard.type("\n" * 40)
    await phase(page, "waiting")
    for width in widths:
        await page.set_viewport_size({"width": width, "height": 640})
        assert await line.evaluate(WHOLE), (width, await line.inner_text())
    await page.get_by_role("button", name="Update…", exact=True).click()
    await expect(page.locator("[data-notice=stopped]")).to_be_in_viewport(ratio=1)


@pytest.mark.sweep
async def test_every_state_has_its_word_in_bar_title_and_list(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    badge, line = page.locator(".ed-bar .badge"), page.locator("[data-save-status]")
    await expect(badge).to_have_text("New")
    await expect(line).to_have_text("Not saved yet")
    await page.get_by_label("Title", exact=True).fill("Low tide")
    await expect(page).to_have_title(re.compile("^Low tide · New · "))
    await saved(page)
    await expect(badge).to_have_text("Draft")
    await expect(line).to_have_text(re.compile(r"^Saved \d\d:\d\d$"))
    await expect(page).to_have_title(re.compile("^Low tide · Draft · "))
    await through_dialog(page, "Publish…", "Publish")
    await expect(badge).to_have_text("Published")
    await expect(page).to_have_title(re.compile("^Low tide · Published · "))
    await expect(page.get_by_role("button", name="Discard changes")).to_be_hidden()
    await write(page, "Changed.")
    # With the first key: no word of it is on the site.
    await expect(badge).to_have_text("Changed, not live")
    await expect(page).to_have_title(re.compile("^Low tide · Changed, not live · "))
    await saved(page)
    await expect(badge).to_have_text("Changed, not live")
    await expect(page.get_by_role("button", name="Discard changes")).to_be_visible()
    listed = await desk.context.new_page()
    await listed.goto(f"{desk.server.url}/admin/posts")
    row = listed.get_by_role("row").filter(has_text="Low tide")
    await expect(row).to_contain_text("Changed, not live")
    await page.route("**/text", lambda route: route.abort())
    await page.keyboard.type(" Again.")
    await expect(line).to_contain_text("Not saved: the server can’t be reached")
    await expect(page).to_have_title(re.compile("^Low tide · Not saved · "))


@pytest.mark.sweep
async def test_publish_without_a_server_says_so(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await page.get_by_label("Title", exact=True).fill("Low tide")
    await saved(page)
    await desk.context.set_offline(True)
    said = page.locator("[data-notice=stopped]")
    # What is saved, and what is not.
    for typed, kept in (("", "The text is saved."), ("More.", "The text is kept on this device.")):
        await write(page, typed)
        await page.get_by_role("button", name="Publish…", exact=True).click()
        await expect(said).to_contain_text(f"Not published: The server can’t be reached. {kept}")
    await desk.context.set_offline(False)
    await saved(page)
    await through_dialog(page, "Publish…", "Publish")
    assert (await desk.stored(post_id(page)))["status"] == "published"


@pytest.mark.slow("a whole way through the pages in a browser")
async def test_two_people_see_both_texts_and_whose_they_are(desk: Desk, browser: Browser) -> None:
    colleague = await desk.server.tenant.owner(name="Tobias Wren", role="editor")
    context = await signed_in(await browser.new_context(), desk.server, colleague)
    his_desk = Desk(desk.server, context, colleague, desk.problems)
    stored = await desk.server.tenant.post(title="Shared")
    hers = await desk.open(f"/admin/posts/{stored['id']}")
    his = await his_desk.open(f"/admin/posts/{stored['id']}")
    await write(his, "His sentence.")
    await saved(his)
    await write(hers, "Her sentence.")
    await phase(hers, "conflict")
    # On a phone, too.
    await hers.set_viewport_size({"width": 375, "height": 812})
    await expect(hers.get_by_role("button", name="Keep mine")).to_be_in_viewport()
    await hers.set_viewport_size({"width": 1280, "height": 800})
    view = hers.locator(".versus")
    await expect(view).to_contain_text("Her sentence.")
    await expect(view).to_contain_text("His sentence.")
    await expect(hers.get_by_role("heading", level=1)).to_have_text("Changed by someone else")
    await expect(hers.get_by_text("Tobias Wren saved this")).to_be_visible()
    # Nothing is stored until she chooses.
    assert (await desk.stored(stored["id"]))["content_html"] == "<p>His sentence.</p>"
    await hers.get_by_role("button", name="Keep mine").click()
    await saved(hers)
    assert (await desk.stored(stored["id"]))["content_html"] == "<p>Her sentence.</p>"
    await his.locator("#text").press("End")
    await his.keyboard.type(" And on.")
    await phase(his, "conflict")
    await expect(his.get_by_text("Nell Ashby saved this")).to_be_visible()
    await his.get_by_role("button", name="Take theirs").click()
    await expect(his.locator("#text")).to_have_text("Her sentence.")
    # What he had is on his device, and nowhere else.
    await his.get_by_role("button", name="Show").click()
    await expect(his.get_by_role("dialog")).to_contain_text("His sentence. And on.")
    await context.close()


@pytest.mark.sweep
async def test_a_revision_is_compared_and_restored(desk: Desk) -> None:
    tenant = desk.server.tenant
    stored = await tenant.post(title="Fog", content_html="<p>Two short blasts at dawn.</p>")
    page = await desk.open(f"/admin/posts/{stored['id']}?as=editor")
    # Another person than the one before: the revision that she changes is stored.
    await page.locator("#text p").click(click_count=3)
    await page.keyboard.type("Two long blasts at dawn.")
    await saved(page)
    await page.get_by_role("link", name="History").click()
    await page.locator("tbody a.title").click()
    await expect(page.locator(".diff del")).to_have_text("short")
    await expect(page.locator(".diff ins")).to_have_text("long")
    await page.get_by_role("button", name="Restore this revision").click()
    await expect(page.locator(".toast")).to_contain_text("is back.")
    html = (await desk.stored(stored["id"]))["content_html"]
    assert html == "<p>Two short blasts at dawn.</p>"
    # And that is taken back the same way.
    await page.goto(f"{desk.server.url}/admin/posts/{stored['id']}/revisions")
    await page.locator("tbody a.title").first.click()
    await press(page, "Restore this revision")
    await expect(page.locator("#text")).to_have_text("Two long blasts at dawn.")


@pytest.mark.sweep
async def test_a_preview_shows_what_was_typed_a_moment_ago(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await page.get_by_label("Title", exact=True).fill("Low tide")
    await write(page, "For all.\n/paywall")
    await expect(page.get_by_role("option").first).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(page.locator("#text .paywall")).to_be_visible()
    await page.keyboard.type("For members alone.")
    await page.get_by_label("Members", exact=True).check()
    await page.get_by_role("button", name="Preview").click()
    frame = page.frame_locator("iframe")
    await expect(frame.locator("h1")).to_have_text("Low tide")
    await expect(frame.get_by_text("For all.")).to_be_visible()
    await expect(frame.get_by_text("For members alone.")).to_have_count(0)
    await page.get_by_role("link", name="Member", exact=True).click()
    await expect(frame.get_by_text("For members alone.")).to_be_visible()
    await page.get_by_role("link", name="Phone").click()
    await expect(frame.get_by_text("For members alone.")).to_be_visible()
    assert await frame.locator("body").evaluate("() => innerWidth") <= 390
    # A link leads out of the frame, and a form nowhere.
    async with desk.context.expect_page() as opened:
        await frame.get_by_role("link", name="Search").first.click()
    assert (await opened.value).url.endswith("/search")
    await page.get_by_role("link", name="Back to writing").click()
    await ready(page)
    await expect(page.locator("#text")).to_contain_text("For members alone.")
    # The frame runs no script, and refuses those of this test, too.
    desk.problems[:] = [each for each in desk.problems if "'allow-scripts'" not in each]


@pytest.mark.sweep
async def test_the_next_key_after_a_dialog_goes_into_the_text(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await write(page, "Before. ")
    await saved(page)
    await desk.context.clear_cookies()
    await page.keyboard.type("After. ")
    await phase(page, "signed-out")
    await expect(page.get_by_role("dialog")).to_be_visible()
    # The key comes in the same moment, before the next frame.
    await page.evaluate(
        """() => {
          const all = [...document.querySelectorAll("dialog button")];
          all.find((each) => each.textContent === "Later").click();
          document.execCommand("insertText", false, "At once.");
        }"""
    )
    await expect(page.locator("#text")).to_have_text("Before. After. At once.")
    await page.get_by_label("Title", exact=True).focus()
    await page.keyboard.press("Enter")
    await page.keyboard.type("Start. ")
    await expect(page.locator("#text")).to_have_text("Start. Before. After. At once.")
    await page.locator("[data-notice=signed-out]").get_by_role("button", name="Sign in").click()
    await page.get_by_label("Email address").fill(desk.owner.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("dialog").get_by_role("button", name="Sign in").click()
    await saved(page)


@pytest.mark.sweep
async def test_one_of_many_tags_is_suggested_as_it_is_typed(desk: Desk) -> None:
    for number in range(3):
        tags = [f"tag {number}{each:02}" for each in range(70)]
        await desk.server.tenant.post(title="Other", tags=[*tags, "zebra crossings"])
    page = await desk.open("/admin/posts/new")
    field = page.get_by_role("combobox", name="Tags")
    await field.press_sequentially("zeb")
    await expect(page.get_by_role("option")).to_have_text(["zebra crossings"])
    await field.press("ArrowDown")
    await field.press("Enter")
    await expect(page.locator(".chip")).to_have_text(["zebra crossings"])


@pytest.mark.sweep
async def test_tags_are_chosen_by_keys_from_those_of_the_site(desk: Desk) -> None:
    for tags in (["fog", "coast"], ["fog", "Long reads"]):
        await desk.server.tenant.post(title="Other", tags=tags)
    page = await desk.open("/admin/posts/new")
    field = page.get_by_role("combobox", name="Tags")
    await field.focus()
    options = page.get_by_role("option")
    # The most used one first, the others by their letters.
    await expect(options).to_have_text(["fog", "coast", "Long reads"])
    await field.press_sequentially("o")
    await expect(options).to_have_text(["fog", "coast", "Long reads"])
    for _ in range(3):
        await field.press("ArrowDown")
    await expect(options.nth(2)).to_have_attribute("aria-selected", "true")
    await expect(field).to_have_attribute("aria-activedescendant", "tags-option-2")
    await field.press("Enter")
    # As the site writes it, whatever the case.
    await field.press_sequentially("FOG,tide tables")
    await field.press("Enter")
    await expect(page.locator(".chip")).to_have_text(["Long reads", "fog", "tide tables"])
    await field.press("Backspace")
    await page.get_by_role("button", name="Remove fog").click()
    await expect(field).to_be_focused()
    await field.press_sequentially("left behind")
    await page.get_by_label("Excerpt").focus()
    await expect(page.locator(".chip")).to_have_text(["Long reads", "left behind"])
    await saved(page)
    assert (await desk.stored(post_id(page)))["tags"] == ["Long reads", "left behind"]
    await page.reload()
    await ready(page)
    await expect(page.locator(".chip")).to_have_text(["Long reads", "left behind"])


@pytest.mark.sweep
async def test_the_search_result_follows_what_is_typed(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    result = page.locator("[data-result]")
    title = result.locator("[data-result-title]").first
    description = result.locator("[data-result-description]").first
    await page.get_by_label("Title", exact=True).fill("Low <b>tide</b>")
    await expect(title).to_contain_text("Low <b>tide</b> · ")
    await page.get_by_label("Excerpt").fill("An excerpt.")
    await expect(description).to_have_text("An excerpt.")
    await page.get_by_label("Title for search engines").fill("Tides, explained")
    await page.get_by_label("Description for search engines").fill("x" * 165)
    await expect(title).to_have_text("Tides, explained")
    await expect(description).to_have_text("x" * 160)
    await expect(page.locator("[data-count-of=seo_description]")).to_have_text(
        "165/160, 5 too many"
    )
    await page.get_by_label("Address").fill("tides")
    await expect(result.locator("[data-result-address]")).to_contain_text("› posts › tides")
