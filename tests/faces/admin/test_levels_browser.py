"""The tiers of a post and of a member in Chromium. Skipped where the machine has none."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect
from tests.browser import Browser, needs_chromium
from tests.databases import fresh_url
from tests.faces.admin.served import served
from tests.faces.reader.test_levels import levels_of, publish
from tests.world import RunningClock, TenantWorld, open_world

from masthead.identity.sessions import ADMIN_COOKIE, MEMBER_COOKIE

pytestmark = needs_chromium

PICTURES = os.environ.get("LEVELS_PICTURES", "")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[tuple[str, TenantWorld]]:
    url = fresh_url("sqlite", tmp_path)
    world = await open_world(url, tmp_path, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo")
    async with served(world) as origin:
        yield origin, await world.new_tenant("Tideline", slug="demo")


async def opened(browser: Browser, origin: str, token: str, name: str = ADMIN_COOKIE) -> Page:
    context = await browser.new_context(viewport={"width": 375, "height": 900})
    cookie = {"name": name, "value": token, "url": origin}
    await context.add_cookies([cookie])  # type: ignore[list-item]
    return await context.new_page()


async def keep(page: Page, name: str) -> None:
    if PICTURES:
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            for width in (1280, 375):
                await page.set_viewport_size({"width": width, "height": 900})
                await page.wait_for_timeout(150)
                path = f"{PICTURES}/{name}-{width}-{scheme}.png"
                await page.screenshot(path=path, full_page=True)


async def test_tiers_are_chosen_by_keyboard_once_the_post_is_for_paid_members(
    site: tuple[str, TenantWorld], browser: Browser
) -> None:
    origin, tenant = site
    await levels_of(tenant)
    owner = await tenant.owner(name="Nell Ashby")
    post = await tenant.post()
    page = await opened(browser, origin, owner.token)
    await page.goto(f"{origin}/admin/posts/{post['id']}?as=html")
    gold = page.get_by_label("Gold", exact=True)
    await expect(gold).to_be_hidden()
    await page.get_by_label("Paid members", exact=True).check(force=True)
    await expect(gold).to_be_visible()
    await gold.focus()
    await page.keyboard.press("Space")
    await expect(gold).to_be_checked()
    width = await page.evaluate("document.documentElement.scrollWidth")
    assert width <= 375
    await keep(page, "post")
    await page.get_by_role("button", name="Save").first.click()
    await expect(page.get_by_text("Saved").first).to_be_visible()
    await expect(page.get_by_label("Gold", exact=True)).to_be_checked()
    await page.context.close()


@pytest.mark.sweep
async def test_an_owner_gives_access_and_takes_it_back(
    site: tuple[str, TenantWorld], browser: Browser
) -> None:
    origin, tenant = site
    levels = await levels_of(tenant)
    await publish(tenant, levels)
    owner = await tenant.owner(name="Nell Ashby")
    member = await tenant.member(name="Ada Reader")
    page = await opened(browser, origin, owner.token)
    await page.goto(f"{origin}/admin/members/{member.id}")
    await page.get_by_label("Last day").fill("2099-01-31")
    await page.get_by_label("Tier", exact=True).select_option(label="Gold")
    await page.get_by_role("button", name="Give access").click()
    await expect(page.get_by_text("Gold, until 31 January 2099")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= 375
    await keep(page, "member")
    reader = await opened(browser, origin, member.token, MEMBER_COOKIE)
    await reader.goto(f"{origin}/member/account")
    await expect(reader.get_by_text("You were given access until")).to_be_visible()
    await keep(reader, "account")
    await page.set_viewport_size({"width": 375, "height": 900})
    await page.get_by_role("button", name="End access now").click()
    await expect(page.get_by_text("The complimentary access has ended.")).to_be_visible()
    await reader.goto(f"{origin}/posts/gold")
    await expect(reader.get_by_text("is for members with Gold")).to_be_visible()
    await keep(reader, "paywall")
    await reader.context.close()
    await page.context.close()
