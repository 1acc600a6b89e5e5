"""Pages of the admin that follow what happens, in Chromium. Skipped where the machine has none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Page, expect
from tests.browser import Browser, needs_chromium
from tests.databases import fresh_url
from tests.faces.admin.served import served
from tests.features.statistics.site import reader
from tests.world import Account, RunningClock, TenantWorld, World, open_world

from masthead.base.caller import system
from masthead.content.texts.presence import Presence
from masthead.engine.records.collection import Collection, Record
from masthead.faces.importers.collection import DONE, FAILED, RUNNING, import_runs
from masthead.faces.importers.write.run_record import NewRun, create_run
from masthead.features.mailings.collection import mailings

pytestmark = needs_chromium
STREAM = "**/admin/live?*"
HIDE = """
Object.defineProperty(document, "hidden", { value: true, configurable: true });
document.dispatchEvent(new Event("visibilitychange"));
"""
SHOW = "delete document.hidden; document.dispatchEvent(new Event('visibilitychange'));"


@dataclass(frozen=True)
class Desk:
    origin: str
    world: World
    tenant: TenantWorld
    owner: Account
    context: BrowserContext
    post: Record

    async def open(self, path: str, *, has_clock: bool = False) -> Page:
        """With a clock, the test can move the page's time on."""
        page = await self.context.new_page()
        if has_clock:
            await page.clock.install()
        await page.goto(f"{self.origin}{path}")
        await page.evaluate("window.isSamePage = true")
        return page

    async def comment(self, body: str) -> Record:
        given = {"post_id": self.post["id"], "author_name": "Ana", "body": body}
        return await self.tenant.create("comments", given | {"status": "pending"})

    async def stamp(self, collection: Collection, record_id: str, **values: Any) -> Record:
        async with self.world.parts.records.unit(system(self.tenant.id)) as unit:
            return await unit.update(collection, record_id, {}, stamped=values)

    async def streams(self, count: int) -> None:
        """Waits until so many pages listen."""
        async with asyncio.timeout(60):
            while len(self.world.parts.realtime) != count:
                await asyncio.sleep(0.02)


@pytest.fixture(scope="module")
async def service(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[str, TenantWorld]]:
    folder = tmp_path_factory.mktemp("live")
    url = fresh_url("sqlite", folder)
    world = await open_world(url, folder, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo")
    async with served(world) as origin:
        yield origin, await world.new_tenant("Tideline", slug="demo")


@pytest.fixture
async def desk(service: tuple[str, TenantWorld], browser: Browser) -> AsyncIterator[Desk]:
    origin, tenant = service
    owner = await tenant.owner(name="Nell Ashby")
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    cookie = {"name": "pb_auth", "value": owner.token, "url": origin}
    await context.add_cookies([cookie])  # type: ignore[list-item]
    post = await tenant.published(title="The last ferry")
    desk = Desk(origin, tenant.world, tenant, owner, context, post)
    yield desk
    await context.close()
    await desk.streams(0)


async def is_same(page: Page) -> bool:
    return bool(await page.evaluate("window.isSamePage === true"))


async def test_a_comment_appears_without_reloading(desk: Desk) -> None:
    first = await desk.comment("Is there a later one?")
    page = await desk.open(f"/admin/comments?post={desk.post['id']}")
    await desk.streams(1)
    texts = page.locator(".queue .cm-body")
    link = page.locator(".queue li a").first
    await link.focus()
    where = await link.get_attribute("href")
    await desk.comment("No, that was the last.")
    await expect(texts).to_have_text(["No, that was the last.", "Is there a later one?"])
    assert await is_same(page)
    # The focus and the current comment are where they were.
    assert await page.evaluate("document.activeElement.getAttribute('href')") == where
    current = page.locator(".queue > li[data-current]")
    await expect(current).to_have_attribute("data-id", first["id"])


@pytest.mark.sweep
async def test_nothing_moves_while_comments_are_ticked(desk: Desk) -> None:
    await desk.comment("One")
    page = await desk.open(f"/admin/comments?post={desk.post['id']}")
    await desk.streams(1)
    texts = page.locator(".queue .cm-body")
    box = page.locator(".queue input[type=checkbox]")
    # The page asks once when it is connected.
    await page.wait_for_timeout(800)
    await box.check()
    await desk.comment("Two")
    await page.wait_for_timeout(1_500)
    await expect(texts).to_have_text(["One"])
    await expect(box).to_be_checked()
    await box.uncheck()
    await page.mouse.move(5, 5)
    await expect(texts).to_have_text(["Two", "One"])


@pytest.mark.sweep
async def test_a_hidden_page_has_no_connection_and_is_up_to_date_when_it_is_seen(
    desk: Desk,
) -> None:
    page = await desk.open(f"/admin/comments?post={desk.post['id']}")
    await desk.streams(1)
    await page.evaluate(HIDE)
    await desk.streams(0)
    await desk.comment("While nobody looked")
    await page.evaluate(SHOW)
    await expect(page.locator(".queue .cm-body")).to_have_text(["While nobody looked"])
    assert await is_same(page)


async def new_run(desk: Desk, name: str) -> Record:
    async with desk.world.parts.records.unit(system(desk.tenant.id)) as unit:
        return await create_run(unit, NewRun("ghost", name))


@pytest.mark.sweep
async def test_imports_and_mailings_move(desk: Desk) -> None:
    run = await new_run(desk, "moves.json")
    listed = await desk.open("/admin/tools/import")
    opened = await desk.open(f"/admin/tools/import/{run['id']}")
    mails = await desk.open("/admin/mailings")
    await desk.streams(3)
    await desk.stamp(import_runs, run["id"], state=RUNNING)
    row = listed.get_by_role("row").filter(has_text="moves.json")
    await expect(row).to_contain_text("Being imported")
    await expect(opened.locator("#run")).to_contain_text("Importing posts")
    await desk.stamp(import_runs, run["id"], state=FAILED, error="The file ends early.")
    await expect(row).to_contain_text("The file ends early.")
    await expect(opened.locator("#run")).to_contain_text("The file ends early.")
    # What has ended is not listened to.
    await desk.streams(2)
    values = {"subject": "Tides", "status": "sending", "recipients": 10, "newsletter": "main"}
    async with desk.world.parts.records.unit(system(desk.tenant.id)) as unit:
        mailing = await unit.create(mailings, {}, stamped=values)
    row = mails.get_by_role("row").filter(has_text="Tides")
    await expect(row).to_contain_text("0 of 10")
    one = await desk.open(f"/admin/mailings/{mailing['id']}")
    await desk.streams(3)
    await desk.stamp(mailings, mailing["id"], sent=7)
    await expect(row).to_contain_text("7 of 10")
    await expect(one.locator("#mailing dl div", has_text="Sent").first).to_contain_text("7")
    for each in (listed, opened, mails, one):
        assert await is_same(each)


@pytest.mark.sweep
async def test_numbers_follow_but_not_while_a_table_is_read(desk: Desk) -> None:
    page = await desk.open("/admin/statistics")
    # Asking every ten seconds, without the wait.
    await page.clock.install()
    await page.reload()
    views = page.locator("#counted .stat strong").first
    before = int(await views.inner_text())

    async def view() -> None:
        path = f"/posts/{desk.post['slug']}"
        await reader(desk.tenant).get(path, headers={"user-agent": "Firefox"})
        await desk.world.parts.views.flush()
        await page.clock.fast_forward(10_000)

    await view()
    await expect(views).to_have_text(str(before + 1))
    table = page.locator("#counted .data").first
    await table.locator("summary").click()
    await view()
    await page.clock.fast_forward(10_000)
    await expect(table).to_have_attribute("open", "")
    await expect(views).to_have_text(str(before + 1))
    await table.locator("summary").click()
    await page.locator("h1").click()
    await page.evaluate("document.activeElement.blur()")
    await page.clock.fast_forward(10_000)
    await expect(views).to_have_text(str(before + 2))


@pytest.mark.sweep
async def test_without_the_stream_a_page_asks_as_before(desk: Desk) -> None:
    await desk.context.route(STREAM, lambda route: route.abort())
    run = await new_run(desk, "asks.json")
    page = await desk.open(f"/admin/tools/import/{run['id']}")
    await desk.stamp(import_runs, run["id"], state=DONE, task="preview", report={})
    await expect(page.locator("#run[data-live]")).to_have_count(0)
    assert await is_same(page)


@pytest.mark.sweep
async def test_two_editors_of_a_post_see_each_other(desk: Desk, browser: Browser) -> None:
    address = f"/admin/posts/{desk.post['id']}"
    mine = await desk.open(address, has_clock=True)
    here = mine.locator("[data-presence]")
    await expect(here).to_have_attribute("role", "status")
    other = await desk.tenant.owner(role="editor", name="Bo Ek")
    context = await browser.new_context(viewport={"width": 375, "height": 800})
    cookie = {"name": "pb_auth", "value": other.token, "url": desk.origin}
    await context.add_cookies([cookie])  # type: ignore[list-item]
    theirs = await context.new_page()
    await theirs.goto(f"{desk.origin}{address}")
    await expect(theirs.locator("[data-presence]")).to_have_text("Also here: Nell Ashby")
    await mine.clock.run_for(8_000)
    await expect(here).to_have_text("Also here: Bo Ek")
    await context.close()
    parts, usual = desk.world.parts, desk.world.parts.presence
    parts.presence = Presence(parts.limit_store, desk.world.clock, gone_after=timedelta(0))
    try:
        await mine.clock.run_for(8_000)
        await expect(here).to_have_text("")
    finally:
        parts.presence = usual
    assert await is_same(mine)
