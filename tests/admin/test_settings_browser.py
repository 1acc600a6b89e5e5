"""The settings in Chromium. Skipped where the machine has none."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from PIL import Image
from playwright.async_api import Page, expect
from tests.admin.served import Browser, served
from tests.databases import fresh_url
from tests.outbound.names import NameServer
from tests.reader.test_browser import CHROMIUM
from tests.world import Account, RunningClock, TenantWorld, open_world

# A busy machine takes its time.
expect.set_options(timeout=30_000)

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
    names: NameServer

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
    names = NameServer()
    await names.start()
    world = await open_world(
        fresh_url("sqlite", folder),
        folder,
        RunningClock(),
        MASTHEAD_DEFAULT_TENANT="demo",
        MASTHEAD_DNS_SERVER=f"127.0.0.1:{names.port}",
    )
    async with served(world) as (origin, browser):
        tenant = await world.new_tenant("Tideline", slug="demo")
        owner = await tenant.owner(name="Nell Ashby")
        yield Site(origin, browser, tenant, owner, names)
    names.close()


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


async def test_a_domain_is_proven_while_the_page_is_open(site: Site) -> None:
    page = await site.opened("/admin/settings/domain")
    await page.get_by_label("Domain", exact=True).fill("blog.example.com")
    await page.get_by_role("button", name="Ask for it").click()
    await expect(page.get_by_role("button", name="Check now")).to_be_visible()
    name, value = (await page.locator("[data-copied]").all_text_contents())[:2]
    await page.get_by_role("button", name="Check now").click()
    await expect(page.get_by_text("There is no TXT record of this name yet")).to_be_visible()
    guest = site.tenant.world.client("blog.example.com")
    assert (await guest.get("/")).status_code == 404
    site.names.tell_text(name, value)
    # Nothing is pressed: the page looks by itself.
    await expect(page.get_by_text("The site is served there from now on")).to_be_visible()
    assert (await guest.get("/")).status_code == 200
    await page.goto(f"{site.origin}/admin/settings/domain")
    await page.get_by_role("link", name="Give it up…").click()
    await page.get_by_role("button", name="Give it up").click()
    await expect(page.get_by_text("alone.")).to_be_visible()
    assert (await guest.get("/")).status_code == 404


async def test_a_colour_is_checked_while_it_is_typed(site: Site) -> None:
    page = await site.opened("/admin/settings")
    await page.get_by_label("Colour of links", exact=True).fill("#ffee00")
    await expect(page.get_by_text("so the site darkens it")).to_be_visible()
    await expect(page.get_by_label("Choose the colour of links")).to_have_value("#ffee00")


async def test_a_logo_is_uploaded_and_seen_on_the_site(site: Site) -> None:
    page = await site.opened("/admin/settings")
    content = io.BytesIO()
    Image.new("RGB", (64, 16), "#8f1d2c").save(content, "PNG")
    logo = page.locator("form[action$='/picture/logo']")
    await logo.locator("input[type=file]").set_input_files(
        {"name": "mark.png", "mimeType": "image/png", "buffer": content.getvalue()}
    )
    await logo.get_by_role("button", name="Upload").click()
    await expect(page.get_by_text("The site has a new logo.")).to_be_visible()
    await page.goto(site.origin)
    shown = page.get_by_role("img", name="Tideline").first
    await expect(shown).to_be_visible()
    assert await shown.evaluate("image => image.naturalWidth") == 64
