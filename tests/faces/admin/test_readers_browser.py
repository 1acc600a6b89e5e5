"""Comments and members in Chromium: decided, added and erased as a person does it.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.browser import Browser, needs_chromium
from tests.databases import fresh_url
from tests.faces.admin.served import served
from tests.faces.admin.test_browser import watched
from tests.world import Account, RunningClock, TenantWorld, open_world

from masthead.base.caller import system
from masthead.engine.records.collection import Record

pytestmark = needs_chromium


@dataclass(frozen=True)
class Admin:
    origin: str
    browser: Browser
    tenant: TenantWorld
    owner: Account

    async def opened(self, **more: Any) -> Page:
        context = await self.browser.new_context(viewport={"width": 1280, "height": 800}, **more)
        cookie: Any = {"name": "pb_auth", "value": self.owner.token, "url": self.origin}
        await context.add_cookies([cookie])
        return await context.new_page()

    async def status(self, comment: Record) -> str:
        records = self.tenant.world.parts.records
        comments = self.tenant.world.collection("comments")
        found = await records.find(comments, {"id": comment["id"]}, tenant_id=self.tenant.id)
        return found[0]["status"] if found else "gone"


@pytest.fixture(scope="module")
async def admin(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> AsyncIterator[Admin]:
    folder = tmp_path_factory.mktemp("readers")
    world = await open_world(
        fresh_url("sqlite", folder), folder, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo"
    )
    async with served(world) as origin:
        tenant = await world.new_tenant("Tideline", slug="demo")
        yield Admin(origin, browser, tenant, await tenant.owner(name="Nell Ashby"))


async def test_moderation_by_keys_alone(admin: Admin) -> None:
    post = await admin.tenant.published(title="The last ferry")
    given = {"post_id": post["id"], "author_email": "ana@example.com", "status": "pending"}
    rows = [
        await admin.tenant.create("comments", given | {"author_name": name, "body": f"By {name}"})
        for name in ("Fay", "Eli", "Dan", "Cat", "Bob", "Ann")
    ]
    fay, eli, dan, cat, bob, ann = rows
    page = await admin.opened()
    refused = watched(page)
    await page.goto(f"{admin.origin}/admin/comments")
    here = page.locator(".queue > [data-current]")
    about = page.locator("#about h2")
    await expect(here).to_contain_text("By Ann")
    # Down: the author beside the queue follows.
    await page.keyboard.press("j")
    await expect(here).to_contain_text("By Bob")
    await expect(about).to_have_text("Bob")
    await page.keyboard.press("a")
    await expect(page.locator(".toast")).to_contain_text("1 comment is approved.")
    # The next one has the focus.
    await expect(here).to_contain_text("By Cat")
    await page.keyboard.press("s")
    await expect(page.locator(".toast")).to_contain_text("1 comment is marked as spam.")
    await expect(here).to_contain_text("By Dan")
    # Several at once: select two, then one key for both.
    for key in ("x", "j", "x"):
        await page.keyboard.press(key)
    await expect(page.locator("[data-selected-count]")).to_have_text("2")
    await page.keyboard.press("a")
    await expect(page.locator(".toast")).to_contain_text("2 comments are approved.")
    # While one types, the same keys are letters.
    await page.keyboard.press("/")
    await page.keyboard.type("asd")
    await expect(page.locator("#q")).to_have_value("asd")
    await page.goto(f"{admin.origin}/admin/comments")
    await expect(page.locator(".queue > li")).to_have_count(2)
    # A deletion asks first; the button has the focus.
    await page.keyboard.press("d")
    await expect(page.get_by_role("button", name="Delete 1 comment")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator(".toast")).to_contain_text("1 comment is deleted.")
    # An answer: typed at once, sent by keys.
    await page.keyboard.press("r")
    await expect(page.locator("#body")).to_be_focused()
    await page.keyboard.type("There is a bench.")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator(".toast")).to_contain_text("Your reply is published.")
    await expect(page.locator("h2", has_text="Nothing waits")).to_be_visible()
    found = [await admin.status(each) for each in (ann, bob, cat, dan, eli, fay)]
    assert found == ["gone", "approved", "spam", "approved", "approved", "approved"]
    await page.context.close()
    assert refused == []


@pytest.mark.sweep
async def test_moderation_keys_can_be_switched_off(admin: Admin) -> None:
    post = await admin.tenant.published(title="A quiet one")
    given = {"post_id": post["id"], "author_name": "Ann", "body": "Hm", "status": "pending"}
    comment = await admin.tenant.create("comments", given)
    page = await admin.opened()
    cookie: Any = {"name": "mh_keys", "value": "off", "url": f"{admin.origin}/admin"}
    await page.context.add_cookies([cookie])
    await page.goto(f"{admin.origin}/admin/comments")
    for key in ("a", "s", "d", "r"):
        await page.keyboard.press(key)
    await expect(page.locator("h1")).to_have_text("Comments")
    assert await admin.status(comment) == "pending"
    # The buttons work by Tab and Enter.
    await page.get_by_role("button", name="Approve").press("Enter")
    await expect(page.locator(".toast")).to_contain_text("1 comment is approved.")
    await page.context.close()


@pytest.mark.sweep
async def test_moderation_without_script(admin: Admin) -> None:
    post = await admin.tenant.published(title="Plain")
    given = {"post_id": post["id"], "author_name": "Ann", "body": "Plain", "status": "pending"}
    comment = await admin.tenant.create("comments", given)
    page = await admin.opened(java_script_enabled=False)
    await page.goto(f"{admin.origin}/admin/comments")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Spam").first.click()
    assert await admin.status(comment) == "spam"
    await page.context.close()


@pytest.mark.sweep
async def test_a_member_is_exported_erased_and_kept(admin: Admin, tmp_path: Path) -> None:
    """The export is downloaded; the erasure asks for the address, is shown and taken back."""
    tenant = admin.tenant
    given = {"email": "ana@example.com", "name": "Ana Lind"}
    ana = await tenant.world.parts.records.create(
        system(tenant.id),
        tenant.world.collection("blog_members"),
        given,
        stamped={"token_key": "k" * 30},
    )
    page = await admin.opened()
    refused = watched(page)
    await page.goto(f"{admin.origin}/admin/members")
    # The list is asked for while one types, and a link of the old one may be gone at the click.
    await page.locator("tbody tr").first.evaluate("(row) => (row.dataset.isOld = true)")
    await page.fill("#q", "ana")
    await expect(page.locator("[data-is-old]")).to_have_count(0)
    await page.get_by_role("link", name="Ana Lind").click()
    await expect(page.locator("h1")).to_have_text("Ana Lind")
    await page.get_by_role("button", name="Export data").click()
    await expect(page.locator(".requests")).to_contain_text("Ready until")
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download").click()
    file = tmp_path / "member.json"
    await (await download.value).save_as(file)
    assert json.loads(file.read_text())["member"]["email"] == "ana@example.com"
    await page.get_by_role("link", name="Erase…").click()
    await page.fill("#email", "someone@else.example")
    await page.get_by_role("button", name="Erase this member").click()
    await expect(page.locator("#email-note")).to_contain_text("exactly as it is shown")
    await page.fill("#email", "ana@example.com")
    await page.get_by_role("button", name="Erase this member").click()
    await expect(page.locator(".requests")).to_contain_text("Planned for")
    await page.get_by_role("button", name="Cancel the erasure").click()
    await expect(page.locator(".requests")).to_contain_text("Cancelled")
    await page.goto(f"{admin.origin}/admin/members/{ana['id']}")
    await page.get_by_text("Paid", exact=True).click()
    await page.keyboard.press("Control+s")
    await expect(page.locator(".history")).to_contain_text("Changed from free to paid")
    await page.context.close()
    assert [each for each in refused if "422" not in each] == []
