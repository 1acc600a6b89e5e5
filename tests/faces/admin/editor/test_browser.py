"""The editor in Chromium, against the real service: what is written is stored, whatever happens.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import BrowserContext, Page, Route, expect
from tests.browser import AXE, Browser, needs_chromium
from tests.conftest import Server
from tests.content.cards.every_card import every_card
from tests.databases import fresh_url
from tests.features.ai.provider import Hand, text_event, world_with_ai
from tests.served import serving
from tests.tls import Receiver
from tests.world import PASSWORD, Account, RunningClock, open_world

from masthead.features.posts.collection import posts

PASTES = Path(__file__).parent / "pastes"

pytestmark = needs_chromium

# A paste as the clipboard makes it.
PASTE = """([html, text]) => {
  const data = new DataTransfer();
  if (html) data.setData("text/html", html);
  if (text) data.setData("text/plain", text);
  const event = new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true});
  document.querySelector("#text").dispatchEvent(event);
}"""
DROP = """async ([name, type, bytes]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], name, {type}));
  const target = document.querySelector("#text p");
  const {left, top} = target.getBoundingClientRect();
  const at = {clientX: left + 5, clientY: top + 5};
  target.dispatchEvent(
    new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true, ...at}));
}"""


@dataclass
class Desk:
    """One person's browser, signed in."""

    server: Server
    context: BrowserContext
    owner: Account
    problems: list[str]

    async def open(self, path: str) -> Page:
        page = await self.context.new_page()
        # The policy's violations are errors of the console too.
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._console)
        await page.goto(self.server.url + path)
        await expect(page.locator("mh-editor[data-ready]")).to_be_attached()
        return page

    def _console(self, message: Any) -> None:
        # A refused or broken connection is part of some tests.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(message.text)

    async def stored(self, post_id: str) -> dict[str, Any]:
        tenant_id = self.server.tenant.id
        records = self.server.world.parts.records
        [found] = await records.find(posts, {"id": post_id}, tenant_id=tenant_id)
        return found


@pytest.fixture
async def desk(server: Server, browser: Browser) -> AsyncIterator[Desk]:
    async with desk_at(server, browser) as found:
        yield found


@asynccontextmanager
async def desk_at(server: Server, browser: Browser) -> AsyncIterator[Desk]:
    owner = await server.tenant.owner(name="Nell Ashby")
    context = await signed_in(await browser.new_context(), server, owner)
    found = Desk(server, context, owner, [])
    yield found
    await context.close()
    assert found.problems == []


async def signed_in(context: BrowserContext, server: Server, account: Account) -> BrowserContext:
    await context.add_cookies([{"name": "pb_auth", "value": account.token, "url": server.url}])
    return context


async def write(page: Page, text: str) -> None:
    await page.locator("#text").click()
    await page.keyboard.type(text)


async def saved(page: Page) -> None:
    await expect(page.locator("[data-save-status]")).to_have_attribute("data-save-status", "clean")


async def phase(page: Page, name: str) -> None:
    await expect(page.locator("[data-save-status]")).to_have_attribute("data-save-status", name)


def post_id(page: Page) -> str:
    return page.url.partition("?")[0].rpartition("/")[2]


async def test_what_is_written_and_formatted_is_rendered_by_the_server(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await page.get_by_label("Title", exact=True).fill("Low tide")
    await page.get_by_label("Title", exact=True).press("Enter")
    # The text gets the focus with the next frame.
    await expect(page.locator("#text")).to_be_focused()
    await page.keyboard.type("## Sand\nPlain **bold** and *leaning* and `code`.\n> Said\n")
    await page.keyboard.press("Enter")
    await page.keyboard.type("- one\ntwo\n\n")
    await page.keyboard.type("1. first\n\n[] to do\n\n```python\nprint(1)\n\n\n")
    await page.keyboard.type("/tab")
    await page.keyboard.press("Enter")
    await page.keyboard.type("cell")
    await saved(page)
    found = await desk.stored(post_id(page))
    assert (found["title"], found["slug"], found["status"]) == ("Low tide", "low-tide", "draft")
    for part in (
        "<h2>Sand</h2>",
        "<p>Plain <strong>bold</strong> and <em>leaning</em> and <code>code</code>.</p>",
        "<blockquote><p>Said</p>",
        "<ul><li><p>one</p></li><li><p>two</p></li></ul>",
        "<ol><li><p>first</p></li></ol>",
        '<li data-type="taskItem" data-checked="false">',
        '<pre><code class="language-python">print(1)</code></pre>',
        "<th><p>cell</p></th>",
    ):
        assert part in found["content_html"], found["content_html"]
    shown = await page.locator("#text").inner_text()
    await page.reload()
    await expect(page.locator("mh-editor[data-ready]")).to_be_attached()
    await expect(page.get_by_label("Title", exact=True)).to_have_value("Low tide")
    assert await page.locator("#text").inner_text() == shown


PASTED = {
    "google-docs": (
        "<h2>Low tide</h2>",
        "The boats lie on the <strong>sand</strong><em>, at rest</em>, and "
        '<a href="https://example.org/tides">the tables</a><sup>1</sup>',
        "<ul><li><p>Nets</p><ul><li><p><s>Old nets</s></p></li></ul></li></ul>",
    ),
    "word": (
        "<h2>Harbour dues</h2>",
        "Paid by the <strong>metre</strong>, <em>monthly</em>, at 10<sup>th</sup> hour.",
        "<ul><li><p>Small boats</p><ul><li><p>Dinghies</p></li></ul></li>"
        "<li><p>Trawlers</p></li></ul>",
        "[Picture: The quay – drop it here]",
        "<td><p>Berth</p></td><td><p>12</p></td>",
    ),
    "google-sheets": (
        "<tr><td><p>Port</p></td><td><p>High water</p></td></tr>",
        "<tr><td><p>Chapel Point</p></td><td><p>04:12</p></td></tr>",
    ),
}


@pytest.mark.sweep
async def test_a_page_is_written_and_published_and_then_changed_by_update_alone(
    desk: Desk,
) -> None:
    page = await desk.open("/admin/pages/new")
    await page.get_by_label("Title", exact=True).fill("About us")
    await write(page, "Fog and tides.")
    await saved(page)
    # The address that it gets, as long as none is chosen.
    await expect(page.get_by_label("Address")).to_have_attribute("placeholder", "about-us")
    assert "/admin/pages/" in page.url
    await page.get_by_role("button", name="Publish…").click()
    await page.get_by_role("button", name="Publish", exact=True).click()
    await expect(page.get_by_text("The page is published.")).to_be_visible()
    reader = await desk.context.new_page()
    await reader.goto(f"{desk.server.url}/about-us")
    await expect(reader.get_by_text("Fog and tides.")).to_be_visible()
    await page.locator("#text").click()
    await page.keyboard.press("Control+End")
    await page.keyboard.type(" And gulls.")
    await saved(page)
    await reader.reload()
    await expect(reader.get_by_text("And gulls.")).to_have_count(0)
    await page.get_by_role("button", name="Update…").click()
    await page.get_by_role("button", name="Update", exact=True).click()
    await expect(page.get_by_text("The change is live.")).to_be_visible()
    await reader.reload()
    await expect(reader.get_by_text("Fog and tides. And gulls.")).to_be_visible()


@pytest.mark.sweep
async def test_text_of_other_programs_arrives_without_its_looks(desk: Desk) -> None:
    for name, parts in PASTED.items():
        page = await desk.open("/admin/posts/new")
        await page.locator("#text").click()
        await page.evaluate(PASTE, [(PASTES / f"{name}.html").read_text(), ""])
        await saved(page)
        html = (await desk.stored(post_id(page)))["content_html"]
        for part in parts:
            assert part in html, (part, html)
        assert "style=" not in html
        await page.close()


@pytest.mark.sweep
async def test_plain_text_becomes_an_embed_or_what_its_marks_mean(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await page.locator("#text").click()
    await page.evaluate(PASTE, ["", "https://example.org/watch?v=1"])
    # What the server finds there changes the text, and Markdown stays as it is in one that has
    # changed before the answer.
    await expect(page.locator("#text .card-bookmark")).to_have_count(1)
    await page.evaluate(PASTE, ["", "### Marks\n\nMade **bold**."])
    await expect(page.locator("#text h3")).to_have_text("Marks")
    await saved(page)
    stored = await desk.stored(post_id(page))
    assert '<a href="https://example.org/watch?v=1">' in stored["content_html"]
    assert "<p>Made <strong>bold</strong>.</p>" in stored["content_html"]
    assert stored["content_json"]["content"][0]["type"] == "bookmark"
    await page.keyboard.press("Control+z")
    await expect(page.locator("#text")).to_contain_text("Made **bold**.")


@pytest.mark.sweep
async def test_one_writes_on_below_a_dropped_picture_which_asks_for_its_text(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await write(page, "Look:")
    await page.evaluate(DROP, ["boat.png", "image/png", list(_png())])
    figure = page.locator("#text figure")
    await expect(figure).to_have_count(1)
    await expect(figure.get_by_text("Alt text missing")).to_be_visible()
    await page.keyboard.type("It lies in the mud.")
    await expect(page.locator("#text > p").last).to_have_text("It lies in the mud.")
    await page.get_by_label("Alternative text").click()
    await page.keyboard.type("A boat")
    await expect(figure.get_by_text("Alt text missing")).to_have_count(0)
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Alternative text")).not_to_be_focused()
    await page.keyboard.type("In the mud")
    await saved(page)
    html = (await desk.stored(post_id(page)))["content_html"]
    assert 'alt="A boat" width="3" height="2"' in html
    assert "<figcaption>In the mud</figcaption></figure><p>It lies in the mud.</p>" in html
    assert "/media/" in html
    await page.get_by_label("Crop of the picture").select_option("16:9")
    await expect(figure.locator("img")).to_have_css("aspect-ratio", "16 / 9")
    data = f"data:image/png;base64,{_base64(_png())}"
    await page.locator("#text p").first.click()
    await page.evaluate(PASTE, [f'<p>Pasted <img src="{data}"></p>', ""])
    await expect(page.locator("#text figure")).to_have_count(2)
    await saved(page)
    stored = json.dumps((await desk.stored(post_id(page)))["content_json"])
    assert "data:" not in stored
    assert "blob:" not in stored


@pytest.mark.sweep
async def test_who_writes_on_during_an_upload_keeps_the_caret(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    may_go = asyncio.Event()

    async def slow(route: Route) -> None:
        await may_go.wait()
        await route.continue_()

    await page.route("**/media/upload", slow)
    await write(page, "Look: ")
    await page.evaluate(DROP, ["boat.png", "image/png", list(_png())])
    await page.keyboard.type("a boat")
    may_go.set()
    await expect(page.locator("#text figure")).to_have_count(1)
    await page.keyboard.type(" in the mud")
    await expect(page.locator("#text p").first).to_have_text("Look: a boat in the mud")


@pytest.mark.sweep
async def test_the_place_below_a_picture_is_in_view_wherever_one_wrote_before(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await write(page, "Line.\n" * 60 + "Last.")
    await page.locator("#text p").first.scroll_into_view_if_needed()
    await page.evaluate(DROP, ["boat.png", "image/png", list(_png())])
    await expect(page.locator("#text figure")).to_have_count(1)
    await page.keyboard.type("Below. ")
    below = page.get_by_text("Below. Line.")
    await expect(below).to_be_in_viewport(ratio=1)


@pytest.mark.sweep
async def test_pictures_that_are_chosen_together_stand_below_each_other(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await page.locator("#text").click()
    async with page.expect_file_chooser() as chooser:
        await page.locator(".tools").get_by_role("button", name="Picture").click()
    both: Any = [
        {"name": name, "mimeType": "image/png", "buffer": _png()} for name in ("a.png", "b.png")
    ]
    await (await chooser.value).set_files(both)
    await expect(page.locator("#text figure")).to_have_count(2)
    await page.keyboard.type("Below.")
    await expect(page.locator("#text > p").last).to_have_text("Below.")
    await expect(page.locator("#text > figure + figure + p")).to_have_text("Below.")


@pytest.mark.sweep
async def test_ctrl_enter_publishes(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await page.get_by_label("Title", exact=True).fill("Low tide")
    await write(page, "By keys.")
    await page.keyboard.press("Control+Enter")
    await expect(page.get_by_role("button", name="Publish", exact=True)).to_be_focused()
    draft = page.url.removesuffix("/publish").rpartition("/")[2]
    assert (await desk.stored(draft))["status"] == "draft"
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Update…")).to_be_visible()
    found = await desk.stored(post_id(page))
    assert (found["status"], found["content_html"]) == ("published", "<p>By keys.</p>")


async def test_html_with_handlers_opens_without_a_report(desk: Desk) -> None:
    """A fixture looks at what the policy refuses."""
    handled = '<p onclick="alert(1)">One</p><img src="/x.png" alt="" onerror="alert(2)">'
    stored = await desk.server.tenant.post(title="Old", content_html=handled)
    page = await desk.open(f"/admin/posts/{stored['id']}?as=editor")
    await expect(page.locator("#text")).to_contain_text("One")


@pytest.mark.slow("a whole way through the pages in a browser")
async def test_nothing_typed_without_a_network_or_before_a_crash_is_lost(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await write(page, "Before. ")
    await saved(page)
    await desk.context.set_offline(True)
    await page.keyboard.type("Offline. ")
    await phase(page, "waiting")
    await expect(page.locator("[data-save-status]")).to_have_text(
        "Not saved: the server can’t be reached. Kept on this device"
    )
    await desk.context.set_offline(False)
    await saved(page)
    assert "Before. Offline." in (await desk.stored(post_id(page)))["content_html"]
    # The server's answers are lost, and then the tab.
    await page.route("**/text", _lost_answer)
    await page.keyboard.type("Lost. ")
    await phase(page, "waiting")
    await page.keyboard.type("Crashed. ")
    await expect(page.locator("#text")).to_contain_text("Crashed.")
    while not await page.evaluate(_IS_KEPT, "Crashed."):
        await asyncio.sleep(0.05)
    address = page.url
    await page.close()
    page = await desk.open(address.removeprefix(desk.server.url))
    await expect(page.locator("[data-notice=restored]")).to_be_visible()
    await saved(page)
    html = (await desk.stored(post_id(page)))["content_html"]
    assert "Before. Offline. Lost. Crashed." in html


@pytest.mark.sweep
async def test_every_character_is_there_after_the_server_was_stopped(
    tmp_path: Path, browser: Browser
) -> None:
    world = await open_world(
        fresh_url("sqlite", tmp_path), tmp_path, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo"
    )
    tenant = await world.new_tenant("demo", slug="demo")
    async with AsyncExitStack() as stack:
        async with serving(world.http) as address:
            server = Server(address, world, tenant)
            desk = await stack.enter_async_context(desk_at(server, browser))
            page = await desk.open("/admin/posts/new")
            await write(page, "Up. ")
            await saved(page)
        await page.keyboard.type("Down. ")
        await phase(page, "waiting")
        await page.keyboard.type("Still down. ")
        async with serving(world.http, urlsplit(address).port or 0):
            await saved(page)
            html = (await desk.stored(post_id(page)))["content_html"]
    assert "Up. Down. Still down." in html
    await world.parts.close()


@pytest.mark.sweep
async def test_an_answer_of_the_ai_changes_the_text_only_when_it_is_taken(
    tmp_path: Path, browser: Browser
) -> None:
    async with Receiver(None) as provider, AsyncExitStack() as stack:
        world = await world_with_ai(tmp_path, provider)
        tenant = await world.new_tenant("demo", slug="demo")
        server = Server(await stack.enter_async_context(serving(world.http)), world, tenant)
        desk = await stack.enter_async_context(desk_at(server, browser))
        page = await desk.open("/admin/posts/new")
        await write(page, "Nobody has been there.")
        hand = Hand()
        provider.default = hand
        await page.keyboard.press("Control+a")
        await page.locator(".bubble").get_by_role("button", name="Rewrite").click()
        await page.get_by_role("menuitem", name="Rewrite").click()
        await hand.send(text_event("openai", "No one "))
        await hand.send(text_event("openai", "came."))
        await expect(page.locator(".ai-text")).to_have_text("No one came.")
        await page.keyboard.press("Escape")
        await hand.hung_up.wait()
        await expect(page.locator(".ai")).to_contain_text("Stopped.")
        await saved(page)
        assert "No one" not in (await desk.stored(post_id(page)))["content_html"]
        await page.get_by_role("button", name="Replace").click()
        await expect(page.locator("#text")).to_have_text("No one came.")
        await page.keyboard.press("Control+z")
        await expect(page.locator("#text")).to_have_text("Nobody has been there.")
        await page.keyboard.press("Control+Shift+z")
        await saved(page)
        assert (await desk.stored(post_id(page)))["content_html"] == "<p>No one came.</p>"
    await world.parts.close()


async def _lost_answer(route: Any) -> None:
    """The server stores the text, and the client never learns of it."""
    await route.fetch()
    await route.abort()


_IS_KEPT = """text => new Promise((resolve) => {
  indexedDB.open("masthead-editor").onsuccess = (event) => {
    const database = event.target.result;
    database.transaction("kept").objectStore("kept").getAll().onsuccess = (found) => {
      database.close();
      resolve(JSON.stringify(found.target.result).includes(text));
    };
  };
})"""


@pytest.mark.sweep
async def test_a_sign_out_midway_asks_for_the_password_and_saves(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await write(page, "Before. ")
    await saved(page)
    await desk.context.clear_cookies()
    await page.keyboard.type("After. ")
    await phase(page, "signed-out")
    await page.get_by_role("button", name="Later").click()
    await write(page, "Later. ")
    await page.locator("[data-notice=signed-out]").get_by_role("button", name="Sign in").click()
    await expect(page.get_by_label("Email address")).to_have_value(desk.owner.email)
    await expect(page.get_by_label("Password")).to_be_focused()
    await page.get_by_label("Email address").fill("nobody@demo.example")
    await page.get_by_label("Password").fill("wrong")
    await page.get_by_role("dialog").get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("The email address or the password is wrong.")).to_be_visible()
    await page.get_by_label("Email address").fill(desk.owner.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("dialog").get_by_role("button", name="Sign in").click()
    await saved(page)
    assert "Before. After. Later." in (await desk.stored(post_id(page)))["content_html"]


async def test_a_text_is_neither_sent_for_nor_offered_to_another_account(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await write(page, "Begun. ")
    await saved(page)
    unsent = await desk.open("/admin/posts/new")
    # Another person signs in, in another tab.
    colleague = await desk.server.tenant.owner(name="Tobias Wren")
    await signed_in(desk.context, desk.server, colleague)
    await write(unsent, "Mine alone. ")
    await phase(unsent, "refused")
    await expect(unsent.locator("[data-save-status]")).to_contain_text(
        "Not saved: Another account is signed in now."
    )
    unsent_id = unsent.url.rpartition("=")[2]
    records = desk.server.world.parts.records
    wanted = {"id": unsent_id}
    assert await records.find(posts, wanted, tenant_id=desk.server.tenant.id) == []
    await write(page, "Gone on. ")
    await phase(page, "refused")
    path = page.url.removeprefix(desk.server.url)
    theirs = await desk.open(path)
    await theirs.wait_for_load_state("networkidle")
    await expect(theirs.locator("#text")).to_have_text("Begun.")
    await expect(theirs.locator("[data-notice=restored]")).to_have_count(0)
    # Once the author is back, all of it is there.
    await signed_in(desk.context, desk.server, desk.owner)
    await page.keyboard.press("Control+s")
    await saved(page)
    assert "Gone on." in (await desk.stored(post_id(page)))["content_html"]
    await unsent.close()
    # The next page sends it, whichever it is.
    again = await desk.open("/admin/posts/new")
    await expect(again.locator(".toast")).to_contain_text("Mine alone.")
    assert "Mine alone." in (await desk.stored(unsent_id))["content_html"]


@pytest.mark.sweep
async def test_one_person_in_two_tabs_sees_both_texts_and_chooses(desk: Desk) -> None:
    stored = await desk.server.tenant.post(title="Shared")
    address = f"/admin/posts/{stored['id']}"
    mine = await desk.open(address)
    theirs = await desk.open(address)
    await expect(mine.locator("[data-notice=tab]")).to_contain_text("another tab")
    await write(theirs, "Theirs. ")
    await saved(theirs)
    await write(mine, "Mine. ")
    await phase(mine, "conflict")
    view = mine.locator(".versus")
    await expect(view).to_contain_text("Mine.")
    await expect(view).to_contain_text("Theirs.")
    await expect(mine.get_by_role("heading", level=1)).to_have_text("Changed in another tab")
    await expect(mine.get_by_text("You saved this text in another tab")).to_be_visible()
    await expect(mine.locator(".conflict")).not_to_contain_text("heirs stays")
    await expect(mine.get_by_text("Not saved: two versions")).to_be_in_viewport()
    await expect(mine.get_by_role("button", name="Publish")).to_be_disabled()
    await mine.get_by_role("button", name="Keep mine").click()
    await saved(mine)
    assert "Mine." in (await desk.stored(stored["id"]))["content_html"]
    await write(theirs, "Again. ")
    await phase(theirs, "conflict")
    await theirs.get_by_role("button", name="Take the other one").click()
    await expect(theirs.locator("[data-notice=aside]")).to_be_visible()
    await expect(theirs.locator("#text")).to_contain_text("Mine.")
    await theirs.get_by_role("button", name="Show").click()
    await expect(theirs.get_by_role("dialog")).to_contain_text("Again.")


@pytest.mark.sweep
async def test_a_setting_that_was_not_stored_is_not_called_saved(desk: Desk) -> None:
    stored = await desk.server.tenant.post(title="Scheduled", content_html="<p>Ready.</p>")
    page = await desk.open(f"/admin/posts/{stored['id']}?as=editor")
    await write(page, "Quite ")
    await saved(page)
    # The schedule publishes it: another version of the same text.
    await desk.server.tenant.update("posts", stored["id"], {"status": "published"})
    await page.get_by_label("Paid members", exact=True).check()
    await phase(page, "conflict")
    view = page.locator(".versus")
    await expect(view).to_contain_text("Who can read it: Paid members")
    await expect(view).to_contain_text("Who can read it: Everyone")
    await page.get_by_role("button", name="Keep mine").click()
    await saved(page)
    await page.reload()
    await expect(page.locator("mh-editor[data-ready]")).to_be_attached()
    await expect(page.get_by_label("Paid members", exact=True)).to_be_checked()
    # A save that reached the server is no conflict, although its answer was lost.
    await page.route("**/text", _lost_answer, times=1)
    await page.get_by_label("Tags").fill("fog,coast")
    await phase(page, "waiting")
    await saved(page)


@pytest.mark.sweep
async def test_what_is_typed_before_the_editor_is_loaded_is_saved(desk: Desk) -> None:
    stored = await desk.server.tenant.post(title="Early", content_html="<p>Ready.</p>")
    page = await desk.context.new_page()
    is_typed = asyncio.Event()

    async def late(route: Route) -> None:
        await is_typed.wait()
        await route.continue_()

    await page.route(re.compile(r"/assets/admin/.*editor.*\.js"), late)
    address = f"{desk.server.url}/admin/posts/{stored['id']}?as=editor"
    await page.goto(address, wait_until="commit")
    await page.get_by_label("Title", exact=True).fill("Early bird")
    assert await page.locator("mh-editor[data-ready]").count() == 0
    async with page.expect_response(re.compile("/text$")):
        is_typed.set()
    assert (await desk.stored(stored["id"]))["title"] == "Early bird"


@pytest.mark.sweep
async def test_a_published_post_changes_on_the_site_only_with_update(desk: Desk) -> None:
    page = await desk.open("/admin/posts/new")
    await page.get_by_label("Title", exact=True).fill("Live")
    await write(page, "First. ")
    # Not saved yet: it is, before the form goes.
    await page.get_by_role("button", name="Publish…").click()
    await page.get_by_role("button", name="Publish", exact=True).click()
    await expect(page.get_by_role("button", name="Update…")).to_be_visible()
    live = await desk.stored(post_id(page))
    assert live["status"] == "published"
    assert "First." in live["content_html"]
    await expect(page.locator("mh-editor[data-ready]")).to_be_attached()
    await write(page, "Second. ")
    await saved(page)
    assert "Second." not in (await desk.stored(post_id(page)))["content_html"]
    await page.reload()
    await expect(page.locator("mh-editor[data-ready]")).to_be_attached()
    await expect(page.locator("#text")).to_contain_text("Second.")
    await page.get_by_role("button", name="Update…").click()
    await page.get_by_role("button", name="Update", exact=True).click()
    await expect(page.locator(".toast")).to_be_visible()
    assert "Second." in (await desk.stored(post_id(page)))["content_html"]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (375, "light"), (375, "dark")]
)
async def test_axe_finds_nothing(desk: Desk, browser: Browser, width: int, scheme: Any) -> None:
    stored = await desk.server.tenant.post(title="Everything", content_json=_everything())
    # The policy forbids the script that axe is.
    context = await browser.new_context(
        bypass_csp=True, color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    owner = await desk.server.tenant.owner()
    page_of = Desk(desk.server, await signed_in(context, desk.server, owner), owner, [])
    page = await page_of.open(f"/admin/posts/{stored['id']}")
    await page.add_script_tag(path=AXE)
    await page.locator("#text p").first.click(click_count=3)
    found = await page.evaluate("async () => (await axe.run()).violations")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def _everything() -> dict[str, Any]:
    def block(kind: str, *content: Any, **attrs: Any) -> dict[str, Any]:
        made: dict[str, Any] = {"type": kind}
        if attrs:
            made["attrs"] = attrs
        if content:
            made["content"] = list(content)
        return made

    def text(value: str, *marks: str) -> dict[str, Any]:
        return {"type": "text", "text": value, "marks": [{"type": mark} for mark in marks]}

    def line(value: str) -> dict[str, Any]:
        return block("paragraph", text(value))

    marks = ("bold", "italic", "underline", "strike", "highlight", "superscript")
    return block(
        "doc",
        block("paragraph", text("All "), *(text(mark, mark) for mark in marks), text("x", "code")),
        block("heading", text("Heading"), level=2),
        block("bulletList", block("listItem", line("One"))),
        block("taskList", block("taskItem", line("Task"), checked=True)),
        block("codeBlock", text("print(1)"), language="python"),
        block("table", block("tableRow", block("tableHeader", line("Head")))),
        block("figure", text("Caption"), src="/media/none.png", alt="A boat", width=3, height=2),
        *every_card().values(),
        block("paywall"),
        line("End"),
    )


def _png() -> bytes:
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (3, 2), "white").save(buffer, "PNG")
    return buffer.getvalue()


def _base64(content: bytes) -> str:
    import base64

    return base64.b64encode(content).decode()
