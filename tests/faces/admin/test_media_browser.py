"""The media library in Chromium: files that are dropped, another file in a picture's place, the
choice of a picture, and all of it by keys. Skipped where the machine has no Chromium."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, Route, expect
from tests.browser import Browser, needs_chromium
from tests.databases import fresh_url
from tests.faces.admin.served import served
from tests.features.media.pictures import picture
from tests.world import Account, RunningClock, TenantWorld, open_world, records_of

pytestmark = needs_chromium

# What a person drops on the page.
DROP = """async (files) => {
  const data = new DataTransfer();
  for (const [name, type, bytes] of files)
    data.items.add(new File([new Uint8Array(bytes)], name, {type}));
  const options = {dataTransfer: data, bubbles: true, cancelable: true};
  const target = document.querySelector("mh-library");
  target.dispatchEvent(new DragEvent("dragover", options));
  target.dispatchEvent(new DragEvent("drop", options));
}"""


@dataclass
class Site:
    origin: str
    browser: Browser
    tenant: TenantWorld
    owner: Account
    problems: list[str] = field(default_factory=list)
    """Lines of the browser's console about the policy and about scripts that fail."""

    async def opened(self, path: str, width: int = 1280) -> Page:
        context = await self.browser.new_context(viewport={"width": width, "height": 800})
        cookie: Any = {"name": "pb_auth", "value": self.owner.token, "url": self.origin}
        await context.add_cookies([cookie])
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await context.new_page()
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._console)
        await page.goto(self.origin + path)
        return page

    def _console(self, message: Any) -> None:
        if "Content Security Policy" in message.text:
            self.problems.append(message.text)

    async def uploaded(self, name: str, **fields: str) -> dict[str, Any]:
        files = {"file": (name, picture("PNG"))}
        answer = await self.owner.api.post(records_of("media"), files=files, data=fields)
        assert answer.status_code == 200, answer.text
        item: dict[str, Any] = answer.json()
        return item

    async def stored(self, collection: str, record_id: str) -> dict[str, Any]:
        record: dict[str, Any] = (
            await self.owner.api.get(records_of(collection, record_id))
        ).json()
        return record


@pytest.fixture(scope="module")
async def served_site(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser
) -> AsyncIterator[Site]:
    folder = tmp_path_factory.mktemp("media")
    world = await open_world(
        fresh_url("sqlite", folder), folder, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo"
    )
    async with served(world) as origin:
        tenant = await world.new_tenant("Tideline", slug="demo")
        yield Site(origin, browser, tenant, await tenant.owner(name="Nell Ashby"))


@pytest.fixture
async def site(served_site: Site) -> AsyncIterator[Site]:
    served_site.problems.clear()
    yield served_site
    assert served_site.problems == []


async def test_dropped_files_show_their_progress_and_why_they_are_refused(site: Site) -> None:
    page = await site.opened("/admin/media")
    held = asyncio.Event()

    async def hold(route: Route) -> None:
        await held.wait()
        await route.continue_()

    await page.route("**/admin/media/upload", hold)
    broken = b"<svg xmlns='http://www.w3.org/2000/svg'><broken"
    dropped = [
        ["harbour.png", "image/png", list(picture("PNG"))],
        ["<b>bad</b>.svg", "image/svg+xml", list(broken)],
        ["third.png", "image/png", list(picture("PNG", (20, 20)))],
    ]
    await page.evaluate(DROP, dropped)
    rows = page.locator("[data-uploads] .up-row")
    # Two at once; the third waits for its turn.
    await expect(rows).to_have_count(2)
    await expect(rows.locator("progress")).to_have_count(2)
    held.set()
    await expect(rows).to_have_count(3)
    refused = rows.filter(has_text="<b>bad</b>.svg")
    await expect(refused).to_contain_text("not well-formed")
    await expect(refused.get_by_role("button", name="Try again")).to_be_visible()
    for name in ("harbour.png", "third.png"):
        await expect(rows.filter(has_text=name)).to_contain_text("Done")
        await expect(page.locator("#list").get_by_text(name)).to_be_visible()
    await expect(page.locator("[data-upload-status]")).to_have_text("2 files uploaded.")


@pytest.mark.sweep
async def test_a_failed_upload_is_tried_again(site: Site) -> None:
    page = await site.opened("/admin/media")
    await page.route("**/admin/media/upload", lambda route: route.abort())
    await page.evaluate(DROP, [["later.png", "image/png", list(picture("PNG"))]])
    row = page.locator("[data-uploads] .up-row")
    await expect(row).to_contain_text("can’t be reached")
    await page.unroute("**/admin/media/upload")
    await row.get_by_role("button", name="Try again").click()
    await expect(row).to_contain_text("Done")


@pytest.mark.sweep
async def test_an_item_opens_beside_the_list_by_keys(site: Site) -> None:
    item = await site.uploaded("keys.png")
    page = await site.opened("/admin/media?q=keys")
    tile = page.locator("a[data-item]", has_text="keys.png")
    await tile.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("#detail-name")).to_be_focused()
    assert f"item={item['id']}" in page.url
    await page.get_by_label("Alt text").last.fill("A bunch of keys")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    # The list and the item are still there.
    await expect(page.locator("#detail-name")).to_have_text("keys.png")
    assert f"item={item['id']}" in page.url
    assert (await site.stored("media", item["id"]))["alt"] == "A bunch of keys"
    await page.locator("mh-copy button").click()
    await expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == item["url"]
    await page.locator("#detail-name").focus()
    await page.keyboard.press("Escape")
    await expect(page.locator("a[data-item]", has_text="keys.png")).to_be_focused()


@pytest.mark.sweep
async def test_the_switch_private_closes_a_file_and_opens_it_again(site: Site) -> None:
    item = await site.uploaded("contract.png", alt="A contract")
    guest = site.tenant.world.client(site.tenant.host)
    path = urlsplit(item["url"]).path
    assert (await guest.get(path)).status_code == 200
    page = await site.opened("/admin/media?q=contract")
    await page.locator("a[data-item]", has_text="contract.png").click()
    detail = page.locator(".detail")
    await expect(detail.get_by_text("Everyone", exact=True)).to_be_visible()
    await detail.get_by_role("switch", name="Private").click()
    await detail.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    # Beside it and in both lists it says so; its own staff see it.
    await expect(detail.get_by_role("switch", name="Private")).to_be_checked()
    await expect(detail.locator("dd", has_text="Staff, and members who")).to_be_visible()
    await expect(page.locator(".tile", has_text="contract.png")).to_contain_text(", private")
    assert (await guest.get(path)).status_code == 404
    assert (await guest.get(path, params={"thumb": "300x0"})).status_code == 404
    await page.wait_for_function("document.querySelector('.detail img').naturalWidth > 0")
    await page.goto(f"{site.origin}/admin/media?q=contract&view=list")
    row = page.get_by_role("row").filter(has_text="contract.png")
    await expect(row).to_contain_text("Unused, private")
    await page.goto(f"{site.origin}/admin/media/{item['id']}")
    await page.get_by_role("switch", name="Private").focus()
    await page.keyboard.press("Space")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("switch", name="Private")).not_to_be_checked()
    assert (await guest.get(path)).status_code == 200
    assert not (await site.stored("media", item["id"]))["private"]


@pytest.mark.sweep
async def test_a_replaced_picture_is_the_new_one_on_the_page(site: Site) -> None:
    item = await site.uploaded("old.png", alt="Fog")
    post = await site.tenant.published(
        title="Fog", content_html=f'<p><img src="{item["url"]}"></p>', featured_image=item["url"]
    )
    page = await site.opened(f"/posts/{post['slug']}")
    width = "Math.max(...[...document.querySelectorAll('img')].map((each) => each.naturalWidth))"
    await page.wait_for_function(f"{width} === 64")
    await page.goto(f"{site.origin}/admin/media/{item['id']}")
    await page.get_by_text("Replace the file…").click()
    new = {"name": "new.png", "mimeType": "image/png", "buffer": picture("PNG", (96, 40))}
    await page.get_by_label("The new file").set_input_files(new)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Replace", exact=True).click()
    await expect(page.get_by_text("The file is replaced.")).to_be_visible()
    await expect(page.get_by_text("96 × 40")).to_be_visible()
    await page.goto(f"{site.origin}/posts/{post['slug']}")
    await page.wait_for_function(f"{width} === 96")


@pytest.mark.sweep
async def test_deleting_names_where_the_file_is_used(site: Site) -> None:
    item = await site.uploaded("used.png")
    await site.tenant.post(title="A history of fog", content_html=f'<img src="{item["url"]}">')
    page = await site.opened(f"/admin/media/{item['id']}", width=375)
    await page.get_by_role("link", name="Delete used.png…").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("It is in use.")).to_be_visible()
    await expect(page.get_by_role("link", name="A history of fog")).to_be_visible()
    await page.get_by_role("button", name="Delete the file").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("“used.png” is in the trash.")).to_be_visible()


@pytest.mark.sweep
async def test_the_picture_of_a_post_is_chosen_by_keys(site: Site) -> None:
    item = await site.uploaded("chosen-one.png")
    await site.uploaded("chosen-two.png")
    page = await site.opened("/admin/posts/new")
    await page.locator("#text").click()
    await page.keyboard.type("Words.")
    choose = page.locator("mh-picture").get_by_role("button", name="Choose…")
    await choose.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Search pictures")).to_be_focused()
    await page.keyboard.type("chosen")
    tiles = page.locator("dialog [data-picture]")
    await expect(tiles).to_have_count(2)
    await page.keyboard.press("ArrowDown")
    await expect(tiles.nth(0)).to_be_focused()
    await page.keyboard.press("ArrowRight")
    await expect(tiles.nth(1)).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("dialog.dialog-wide")).to_have_count(0)
    await expect(page.locator("#featured_image")).to_have_value(item["url"])
    await expect(page.locator("mh-picture img")).to_be_visible()
    await expect(page.locator("[data-save-status=clean]")).to_contain_text("Saved")
    post_id = page.url.rpartition("/")[2].partition("?")[0]
    assert (await site.stored("posts", post_id))["featured_image"] == item["url"]
    await page.locator("mh-picture").get_by_role("button", name="Remove").click()
    await expect(page.locator("#featured_image")).to_have_value("")


@pytest.mark.sweep
async def test_a_late_answer_leaves_the_focus_at_its_picture(site: Site) -> None:
    for name in ("buoy-one.png", "buoy-two.png", "newest.png"):
        await site.uploaded(name)
    page = await site.opened("/admin/posts/new")
    may_answer = asyncio.Event()

    async def late(route: Route) -> None:
        await may_answer.wait()
        await route.continue_()

    await page.route("**/admin/media/choose?q=buoy*", late)
    await page.locator("mh-picture").get_by_role("button", name="Choose…").click()
    tiles = page.locator("dialog [data-picture]")
    first, buoy_two, buoy_one = (
        tiles.filter(has_text=name) for name in ("newest", "buoy-two", "buoy-one")
    )
    await expect(first).to_be_visible()
    async with page.expect_request("**/choose?q=buoy"):
        await page.keyboard.type("buoy")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowRight")
    await expect(buoy_two).to_be_focused()
    may_answer.set()
    # The tiles are others now; the focus is at the same picture, and the keys go on from there.
    await expect(tiles).to_have_count(2)
    await expect(buoy_two).to_be_focused()
    await page.keyboard.press("ArrowRight")
    await expect(buoy_one).to_be_focused()
    # Enter waits for the answer to what is typed.
    await page.get_by_label("Search pictures").fill("buoy-two")
    await page.keyboard.press("Enter")
    await expect(page.locator("#featured_image")).to_have_value(re.compile("buoy_two"))


@pytest.mark.sweep
async def test_a_picture_is_uploaded_for_a_post_at_once(site: Site) -> None:
    post = await site.tenant.post(title="Fog", content_html="<div data-x>Only HTML</div>")
    page = await site.opened(f"/admin/posts/{post['id']}?as=html")
    new = {"name": "at-once.png", "mimeType": "image/png", "buffer": picture("PNG")}
    await page.locator("mh-picture input[type=file]").set_input_files(new)  # type: ignore[arg-type]
    await expect(page.locator("#featured_image")).not_to_have_value("")
    await page.get_by_role("button", name="Save draft").click()
    await expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    assert "/media/" in (await site.stored("posts", post["id"]))["featured_image"]
    # From the page's own host, whatever the address of the site is.
    shared = page.locator(".share-card img")
    await shared.scroll_into_view_if_needed()
    await expect(shared).to_have_js_property("complete", value=True)
    assert (await shared.get_attribute("src") or "").startswith("/media/")


@pytest.mark.sweep
async def test_a_picture_from_the_library_in_the_text(site: Site) -> None:
    await site.uploaded("in-the-text.png", alt="A boat", caption="In the mud")
    page = await site.opened("/admin/posts/new")
    await page.locator("#text").click()
    await page.keyboard.type("/media")
    await page.keyboard.press("Enter")
    await page.get_by_label("Search pictures").fill("in the text")
    await expect(page.locator("dialog [data-picture]")).to_have_count(1)
    await page.keyboard.press("Enter")
    figure = page.locator("#text figure")
    await expect(figure.get_by_label("Alternative text")).to_have_value("A boat")
    await expect(figure.locator("figcaption")).to_have_text("In the mud")
    # Where the text says nothing, the field shows what readers get.
    await figure.get_by_label("Alternative text").fill("")
    await page.keyboard.press("Control+s")
    await expect(page.locator("[data-save-status=clean]")).to_contain_text("Saved")
    await page.reload()
    field = page.get_by_label("Alternative text")
    await expect(field).to_have_attribute("placeholder", "From the library: A boat")


@pytest.mark.sweep
async def test_a_page_of_another_account_uploads_nothing(site: Site) -> None:
    page = await site.opened("/admin/media")
    other = await site.tenant.owner()
    cookie: Any = {"name": "pb_auth", "value": other.token, "url": site.origin}
    await page.context.add_cookies([cookie])
    await page.evaluate(DROP, [["stray.png", "image/png", list(picture("PNG"))]])
    row = page.locator("[data-uploads] .up-row")
    await expect(row).to_contain_text("Another account is signed in now.")
    found = await site.owner.api.get(
        records_of("media"), params={"filter": "filename = 'stray.png'"}
    )
    assert found.json()["totalItems"] == 0
