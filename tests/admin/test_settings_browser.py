"""The settings in Chromium. Skipped where the machine has none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from playwright.async_api import Page, expect
from tests.admin.served import Browser, served
from tests.databases import fresh_url
from tests.reader.test_browser import CHROMIUM
from tests.world import Account, RunningClock, TenantWorld, open_world

pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="install chromium: these tests need a browser, and .ci/run installs it",
    ),
    pytest.mark.xdist_group("chromium"),
]


@dataclass(frozen=True)
class Site:
    origin: str
    browser: Browser
    tenant: TenantWorld
    owner: Account

    async def opened(self, path: str) -> Page:
        context = await self.browser.new_context(viewport={"width": 1280, "height": 800})
        cookie = {"name": "pb_auth", "value": self.owner.token, "url": self.origin}
        await context.add_cookies([cookie])  # type: ignore[list-item]
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await context.new_page()
        await page.goto(self.origin + path)
        return page


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    folder = tmp_path_factory.mktemp("settings")
    world = await open_world(
        fresh_url("sqlite", folder), folder, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo"
    )
    async with served(world) as (origin, browser):
        tenant = await world.new_tenant("Tideline", slug="demo")
        owner = await tenant.owner(name="Nell Ashby")
        yield Site(origin, browser, tenant, owner)


async def test_a_key_is_made_copied_and_calls_the_api(site: Site) -> None:
    await site.tenant.published(title="Fog")
    page = await site.opened("/admin/settings/keys")
    await page.get_by_label("Name").fill("Static site build")
    await page.get_by_label("posts:read").check()
    await page.get_by_role("button", name="Create key").click()
    await expect(page.get_by_text("“Static site build” is ready")).to_be_visible()
    await page.locator("mh-copy button").click()
    await expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    key = await page.evaluate("navigator.clipboard.readText()")
    headers = {"authorization": f"Bearer {key}"}
    answer = await page.request.get(f"{site.origin}/api/v1/posts", headers=headers)
    assert [each["title"] for each in (await answer.json())["items"]] == ["Fog"]
    await page.goto(f"{site.origin}/admin/settings/keys")
    await expect(page.get_by_text(key)).to_have_count(0)
    await page.get_by_role("link", name="Revoke… Static site build").click()
    await page.get_by_role("button", name="Revoke it").click()
    await expect(page.get_by_text("Static site build is revoked")).to_be_visible()
    answer = await page.request.get(f"{site.origin}/api/v1/posts", headers=headers)
    assert answer.status == 401
