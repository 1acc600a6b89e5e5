"""The admin in Chromium, as people use it.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Page, Route, expect
from tests.browser import Browser, needs_chromium
from tests.databases import fresh_url
from tests.faces.admin.served import served
from tests.world import PASSWORD, Account, RunningClock, TenantWorld, World, open_world

from masthead.service.background import job_runner

pytestmark = needs_chromium

LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnung, in voller Länge"


@dataclass(frozen=True)
class Admin:
    origin: str
    browser: Browser
    tenant: TenantWorld
    owner: Account
    operator: Account
    post_id: str

    async def opened(
        self, account: Account | None, width: int = 1280, scheme: Any = "light", **more: Any
    ) -> Page:
        context = await self.browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, **more
        )
        if account is not None:
            cookie: Any = {"name": "pb_auth", "value": account.token, "url": self.origin}
            await context.add_cookies([cookie])
        return await context.new_page()


@pytest.fixture(scope="module")
async def admin(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> AsyncIterator[Admin]:
    folder = tmp_path_factory.mktemp("admin")
    world = await open_world(
        fresh_url("sqlite", folder), folder, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo"
    )
    async with served(world) as origin:
        yield await _filled(world, origin, browser)


async def _filled(world: World, origin: str, browser: Browser) -> Admin:
    tenant = await world.new_tenant("Tideline", slug="demo")
    owner = await tenant.owner(name="Nell Ashby")
    author = await tenant.owner(name="Marguerite Oyelaran-Whitcombe", role="author")
    for number in range(22):
        await tenant.post(title=f"Story {number:02}", tags=["harbour"], authors=[author.id])
    await tenant.published(title="Tomorrow's tides", published_at="2100-01-01T07:00:00Z")
    live = await tenant.published(title=LONG, visibility="members", content_html="<p>Fog</p>" * 9)
    comment = {"post_id": live["id"], "author_name": "Ana", "body": "Hm", "status": "pending"}
    await tenant.create("comments", comment)
    return Admin(origin, browser, tenant, owner, await world.operator(), live["id"])


def watched(page: Page) -> list[str]:
    """Collects what the policy refuses and what fails, while the page is used."""
    refused: list[str] = []
    page.on("console", lambda line: refused.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: refused.append(str(error)))
    return refused


@pytest.mark.slow("a whole way through the pages in a browser")
async def test_a_morning_by_keys_alone(admin: Admin) -> None:
    page = await admin.opened(None)
    await page.goto(f"{admin.origin}/admin/posts")
    await expect(page).to_have_title("Sign in to Tideline · Tideline")
    # The first field has the focus; after a wrong password that is the password.
    await page.keyboard.type(admin.owner.email)
    await page.keyboard.press("Tab")
    await page.keyboard.type("not it")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(page.locator("#password")).to_be_focused()
    refused = watched(page)
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.locator("h1")).to_contain_text("Posts")
    # The first Tab shows the way past the navigation.
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.className") == "skip"
    for _ in range(12):
        shown = await page.evaluate(
            "(() => { const style = getComputedStyle(document.activeElement);"
            " return style.outlineStyle })()"
        )
        assert shown == "solid", await page.evaluate("document.activeElement.outerHTML")
        await page.keyboard.press("Tab")
    await page.evaluate("document.activeElement.blur()")
    # Rows: down, down, select, up, select.
    for key in ("j", "j", "x", "k", "x"):
        await page.keyboard.press(key)
    await expect(page.locator("[data-selected-count]")).to_have_text("2")
    await expect(page.locator("tbody tr[data-selected]")).to_have_count(2)
    # Search, as one types; the address follows.
    await page.keyboard.press("/")
    await page.keyboard.type("kapitänsmützen")
    await expect(page.locator("tbody tr")).to_have_count(0)
    await page.fill("#q", "Donaudampf*")
    await expect(page.locator("tbody tr")).to_have_count(1)
    assert "q=Donaudampf" in page.url
    await page.reload()
    await expect(page.locator("tbody tr")).to_have_count(1)
    # The palette: a post by its words, then away.
    await page.keyboard.press("Control+k")
    await page.keyboard.type("Story 07")
    await expect(page.locator("#palette [aria-selected=true]")).to_contain_text("Story 07")
    await page.keyboard.press("Enter")
    await expect(page.locator("#title")).to_have_value("Story 07")
    # Saved by the key; the page says so.
    await page.focus("#text")
    await page.keyboard.type("n / ? j k x")
    await page.keyboard.press("Control+s")
    await expect(page.locator("[data-save-status=clean]")).to_contain_text("Saved")
    await page.reload()
    await expect(page.locator("#text")).to_have_text("n / ? j k x")
    await page.goto(f"{admin.origin}/admin/posts")
    await page.keyboard.press("?")
    await expect(page.locator("#keys")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.keyboard.press("n")
    await expect(page.locator("#title")).to_have_value("")
    # Single keys off: the same key does nothing.
    await page.goto(f"{admin.origin}/admin/account")
    await page.focus("#single_keys")
    await page.keyboard.press("Space")
    await page.get_by_role("button", name="Save this choice").press("Enter")
    await expect(page.locator("body")).to_have_attribute("data-single-keys", "off")
    await page.keyboard.press("n")
    await page.keyboard.press("?")
    await expect(page.locator("#keys")).to_be_hidden()
    await page.context.close()
    assert refused == []


@pytest.mark.sweep
async def test_a_late_answer_moves_nobody(admin: Admin) -> None:
    page = await admin.opened(admin.owner)
    may_answer = asyncio.Event()

    async def late(route: Route) -> None:
        await may_answer.wait()
        await route.continue_()

    await page.route(re.compile(r"/admin/(posts|palette)\?q=Story"), late)
    await page.goto(f"{admin.origin}/admin/posts")
    rows = page.locator("tbody tr")
    story = rows.filter(has_text="Story 10")
    async with page.expect_request(re.compile("q=Story")):
        await page.locator("#q").press_sequentially("Story")
    await story.locator("input").check()
    await story.locator("a").first.focus()
    may_answer.set()
    await expect(rows.filter(has_text=LONG)).to_have_count(0)
    await expect(story.locator("a").first).to_be_focused()
    await expect(story.locator("input")).to_be_checked()
    await expect(page.locator("[data-selected-count]")).to_have_text("1")
    await page.keyboard.press("j")
    await expect(rows.filter(has_text="Story 09").locator("a").first).to_be_focused()
    # The head of a column that was pressed keeps the focus in the list that it has ordered anew.
    await page.goto(f"{admin.origin}/admin/posts")
    head = page.get_by_role("columnheader", name="Title").get_by_role("link")
    await head.press("Enter")
    await expect(page).to_have_url(re.compile("sort=title"))
    await expect(head).to_be_focused()
    # The palette opens what is typed, not what was listed before.
    may_answer.clear()
    await page.keyboard.press("Control+k")
    await expect(page.locator("#palette [role=option]").first).to_be_visible()
    await page.keyboard.type("Story 07")
    await page.keyboard.press("Enter")
    may_answer.set()
    await expect(page.locator("#title")).to_have_value("Story 07")


@pytest.mark.sweep
async def test_a_focus_that_moves_while_an_answer_is_put_in_stays(admin: Admin) -> None:
    page = await admin.opened(admin.owner)
    await page.goto(f"{admin.origin}/admin/posts")
    rows = page.locator("tbody tr")
    link = rows.filter(has_text="Story 09").locator("a").first
    await rows.filter(has_text="Story 10").locator("a").first.focus()
    await link.evaluate(
        "(link) => document.addEventListener('htmx:before:swap', () => link.focus(), {once: true})"
    )
    await page.locator("#q").evaluate(
        "(q) => { q.value = 'Story'; q.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    await expect(rows.filter(has_text=LONG)).to_have_count(0)
    await expect(link).to_be_focused()


@pytest.mark.sweep
async def test_every_link_of_the_frame_is_reached_in_a_low_window(admin: Admin) -> None:
    await admin.tenant.create("products", {"name": "Clock", "price": 900, "currency": "eur"})
    page = await admin.opened(admin.operator)
    await page.set_viewport_size({"width": 1280, "height": 480})
    await page.goto(f"{admin.origin}/admin/activity")
    links = page.locator(".side nav")
    assert await links.evaluate("(each) => each.scrollHeight > each.clientHeight")
    # The current one is in sight, and nothing is under what stays below the links.
    await expect(links.locator("[aria-current]")).to_be_in_viewport(ratio=1)
    box, below = await links.bounding_box(), await page.locator(".side-me").bounding_box()
    assert (box or {})["y"] + (box or {})["height"] <= (below or {})["y"] <= 480
    last = links.get_by_role("link").last
    await last.focus()
    await expect(last).to_be_in_viewport(ratio=1)
    await last.click(trial=True)


@pytest.mark.sweep
async def test_the_switch_of_light_and_dark_shows_at_once_and_stays(admin: Admin) -> None:
    page = await admin.opened(admin.owner, scheme="dark")
    refused = watched(page)
    await page.goto(f"{admin.origin}/admin")
    for chosen in ("light", "dark"):
        await page.get_by_role("button", name="Light or dark").click()
        await expect(page.locator("html")).to_have_attribute("data-theme", chosen)
        scheme = await page.evaluate("getComputedStyle(document.documentElement).colorScheme")
        assert scheme == chosen
    await page.context.close()
    assert refused == []


@pytest.mark.slow("a whole way through the pages in a browser")
async def test_everything_works_without_script(admin: Admin) -> None:
    page = await admin.opened(admin.owner, java_script_enabled=False)
    await page.goto(f"{admin.origin}/admin/posts")
    await page.select_option("[name=status]", "draft")
    await page.get_by_role("button", name="Filter", exact=True).click()
    await expect(page).to_have_url(re.compile("status=draft"))
    async with page.expect_navigation():
        await page.get_by_role("link", name="Older").click()
    row = page.locator("tbody tr").last
    title = await row.locator("a").inner_text()
    await row.locator("input").check()
    await page.get_by_role("button", name="Publish", exact=True).click()
    await expect(page.locator(".toast")).to_contain_text("1 post is published.")
    await page.goto(f"{admin.origin}/admin/posts?status=published")
    await page.get_by_role("link", name=title).click()
    await page.fill("#excerpt", "By hand")
    await page.get_by_role("button", name="Update…").click()
    await page.get_by_role("button", name="Update", exact=True).click()
    await expect(page.locator(".toast")).to_have_text("The change is live.")
    await page.get_by_role("button", name="Update…").click()
    await page.get_by_label("Take it off the site").check()
    # Without script the sentence follows with the first press.
    await page.get_by_role("button", name="Show what happens").click()
    await page.get_by_role("button", name="Unpublish").click()
    await expect(page.locator(".toast")).to_have_text("The post is a draft now.")
    await page.context.close()


async def transferred(context: BrowserContext, url: str) -> float:
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Network.enable")
    sizes: dict[str, float] = {}
    session.on(
        "Network.loadingFinished",
        lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}),
    )
    await page.goto(url, wait_until="networkidle")
    await page.close()
    return sum(sizes.values())


@pytest.mark.sweep
async def test_a_rename_of_a_tag_shows_how_far_it_is_until_it_is_done(admin: Admin) -> None:
    await admin.tenant.post(title="One more", tags=["fog"])
    page = await admin.opened(admin.owner)
    refused = watched(page)
    await page.goto(f"{admin.origin}/admin/tags")
    await page.get_by_role("link", name="fog", exact=True).click()
    await page.get_by_label("Name", exact=True).fill("mist")
    await page.get_by_role("button", name="Rename").click()
    await expect(page.get_by_text("0 of 1")).to_be_visible()
    await job_runner(admin.tenant.world.parts).run_due()
    # The list asks by itself, and stops when there is nothing to wait for.
    await expect(page.get_by_role("link", name="mist", exact=True)).to_be_visible()
    await expect(page.get_by_text("0 of 1")).to_have_count(0)
    await expect(page.locator("#list[hx-get]")).to_have_count(0)
    assert refused == []


@pytest.mark.sweep
async def test_a_list_weighs_at_most_120_kb_and_20_the_second_time(admin: Admin) -> None:
    page = await admin.opened(admin.owner)
    address = f"{admin.origin}/admin/posts"
    first = await transferred(page.context, address)
    second = await transferred(page.context, address)
    await page.context.close()
    assert (first <= 120_000, second <= 20_000) == (True, True), (first, second)
