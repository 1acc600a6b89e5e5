"""The whole way with a certified provider: over HTTP, and in Chromium."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from playwright.async_api import expect
from tests.browser import Browser, needs_chromium
from tests.faces.admin.served import world_at_its_address
from tests.faces.admin.visitor import Visitor
from tests.features.single_sign_on.real_provider import CLIENT, SECRET, real_provider, sign_in_there
from tests.tls import Authority
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.features.single_sign_on.collection import sign_in_providers
from masthead.identity.tenants import superusers

PATHS = ("/admin/sign-in/with/work", "/member/sign-in/with/work")


@dataclass(frozen=True)
class Newsroom:
    tenant: TenantWorld
    origin: str
    authority: Authority

    def browser(self) -> Visitor:
        return Visitor(self.tenant.world.client(f"{self.tenant.host}:{urlsplit(self.origin).port}"))

    async def role_of(self, email: str) -> str:
        records = self.tenant.world.parts.records
        found = await records.find(superusers, {"email": email}, tenant_id=self.tenant.id)
        return found[0]["role"] if found else ""


@pytest.fixture(scope="module")
async def newsroom(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Newsroom]:
    folder = tmp_path_factory.mktemp("newsroom")
    authority = Authority(folder)
    environ = {
        "MASTHEAD_OUTBOUND_ALLOW": "127.0.0.0/8",
        "MASTHEAD_OUTBOUND_CA_FILE": str(authority.ca_file),
    }
    async with world_at_its_address(folder, **environ) as (world, port):
        tenant = await world.new_tenant("newsroom")
        origin = f"http://{tenant.host}:{port}"
        callbacks = [f"{origin}{path}/callback" for path in PATHS]
        async with real_provider(authority, folder, callbacks) as issuer:
            given = {
                "name": "Work",
                "issuer": issuer,
                "client_id": CLIENT,
                "client_secret": SECRET,
                "extra_scopes": "groups",
                "used_by": "both",
                "creates_accounts": True,
                "role_claim": "groups",
                "roles": ["newsroom = editor", "everyone = author"],
            }
            await world.parts.records.create(system(tenant.id), sign_in_providers, given)
            yield Newsroom(tenant, origin, authority)


async def test_staff_sign_in_over_http(newsroom: Newsroom) -> None:
    browser = newsroom.browser()
    answer = await browser.get(PATHS[0])
    back = await sign_in_there(newsroom.authority, answer.headers["location"], "chief")
    answer = await browser.get(back)
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin"), answer.text
    assert (await browser.get("/admin/posts")).status_code == 200
    assert await newsroom.role_of("chief@example.com") == "editor"
    # The provider takes each code once, and so do we.
    assert (await browser.get(back)).status_code == 422


async def test_an_address_that_is_not_verified_finds_nobody(newsroom: Newsroom) -> None:
    browser = newsroom.browser()
    answer = await browser.get(PATHS[0])
    back = await sign_in_there(newsroom.authority, answer.headers["location"], "unverified")
    assert (await browser.get(back)).status_code == 422
    assert await newsroom.role_of("unverified@example.com") == ""


@needs_chromium
async def test_staff_sign_in_in_a_browser(newsroom: Newsroom, browser: Browser) -> None:
    context = await browser.new_context(ignore_https_errors=True)
    page = await context.new_page()
    await page.goto(f"{newsroom.origin}/admin/posts")
    await page.get_by_role("link", name="Sign in with Work").click()
    await page.locator("input[name=login]").fill("desk")
    await page.locator("input[name=password]").fill("any")
    await page.locator("button[type=submit]").click()
    await page.get_by_role("button", name="Continue").click()
    await expect(page).to_have_url(f"{newsroom.origin}/admin/posts")
    assert await newsroom.role_of("desk@example.com") == "author"
    await page.goto(f"{newsroom.origin}/admin/account")
    section = page.locator("#connections")
    await section.get_by_role("button", name="Remove Work").click()
    await expect(section.get_by_role("button", name="Remove Work")).to_have_count(0)
    # Connected again by the person, who confirms it.
    await section.get_by_role("link", name="Connect Work").click()
    await page.get_by_role("button", name="Connect", exact=True).click()
    await expect(section.get_by_role("button", name="Remove Work")).to_be_visible()


@pytest.mark.sweep
@needs_chromium
async def test_a_reader_signs_in_in_a_browser(newsroom: Newsroom, browser: Browser) -> None:
    context = await browser.new_context(ignore_https_errors=True)
    page = await context.new_page()
    await page.goto(f"{newsroom.origin}/member/sign-in?back=/member/account")
    await page.get_by_role("link", name="Sign in with Work").click()
    await page.locator("input[name=login]").fill("reader")
    await page.locator("input[name=password]").fill("any")
    await page.locator("button[type=submit]").click()
    await page.get_by_role("button", name="Continue").click()
    await expect(page).to_have_url(f"{newsroom.origin}/member/account")
    await expect(page.get_by_text("reader@example.com").first).to_be_visible()
    await page.get_by_role("button", name="Remove Work").click()
    await expect(page.locator("#connections")).to_have_count(0)
