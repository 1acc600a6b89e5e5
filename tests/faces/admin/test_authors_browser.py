"""The picker of a post's authors, in Chromium. Skipped where the machine has none."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect
from tests.browser import Browser, needs_chromium
from tests.databases import fresh_url
from tests.faces.admin.served import served
from tests.world import RunningClock, TenantWorld, open_world

pytestmark = needs_chromium


@pytest.mark.parametrize("form", ["", pytest.param("?as=html", marks=pytest.mark.sweep)])
async def test_authors_are_found_by_their_names(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser, form: str
) -> None:
    folder = tmp_path_factory.mktemp("authors")
    url = fresh_url("sqlite", folder)
    world = await open_world(url, folder, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo")
    async with served(world) as origin:
        tenant = await world.new_tenant("Tideline", slug="demo")
        owner = await tenant.owner(name="Nell Ashby")
        for number in range(12):
            await tenant.owner(role="author", name=f"Person {number}")
        zoe = await tenant.owner(role="author", name="Zoë Ünal")
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        cookie = {"name": "pb_auth", "value": owner.token, "url": origin}
        await context.add_cookies([cookie])  # type: ignore[list-item]
        page = await context.new_page()
        await page.goto(f"{origin}/admin/posts/new{form}")
        await _choose(page)
        await page.get_by_label("Title", exact=True).first.fill("Ours")
        await page.get_by_role("button", name="Publish…").first.click()
        await page.get_by_role("button", name="Publish", exact=True).click()
        await expect(page.get_by_text("The post is published.")).to_be_visible()
        [post] = await _posts(tenant)
        assert set(post["authors"]) == {owner.id, zoe.id}
        await context.close()


async def _choose(page: Page) -> None:
    rows = page.locator("mh-people .choice:visible")
    await expect(rows).to_have_text(["Nell Ashby"])
    search = page.get_by_label("Search authors")
    await search.fill("person")
    await expect(rows).to_have_count(9)
    await search.fill("zoe unal")
    await expect(rows).to_have_text(["Nell Ashby", "Zoë Ünal"])
    await search.press("Enter")
    await expect(page.get_by_label("Zoë Ünal")).to_be_checked()
    await page.get_by_label("Title", exact=True).first.focus()
    await expect(rows).to_have_text(["Nell Ashby", "Zoë Ünal"])


async def _posts(tenant: TenantWorld) -> list[dict[str, object]]:
    records = tenant.world.parts.records
    return await records.find(tenant.world.collection("posts"), {}, tenant_id=tenant.id, limit=5)
