"""People in Chromium: signing in, a new password by email, an invited author, many posts at once.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Page, expect
from tests.browser import Browser, needs_chromium
from tests.faces.admin.served import world_at_its_address
from tests.faces.admin.visitor import token_in
from tests.outside.mail.offices import Office, text_of
from tests.world import PASSWORD, Account, TenantWorld

from masthead.base.caller import system

pytestmark = needs_chromium

NEW = "another long password"


@dataclass(frozen=True)
class Site:
    tenant: TenantWorld
    origin: str
    browser: Browser
    office: Office
    owner: Account

    async def guest(self) -> Page:
        """A browser of its own."""
        return await (await self.browser.new_context()).new_page()

    async def signed_in(self) -> Page:
        page = await self.guest()
        cookie = {"name": "pb_auth", "value": self.owner.token, "url": self.origin}
        await page.context.add_cookies([cookie])  # type: ignore[list-item]
        return page

    async def sign_in(self, page: Page, email: str, password: str) -> None:
        await page.goto(f"{self.origin}/admin/sign-in")
        await page.get_by_label("Email address").fill(email)
        await page.get_by_label("Password", exact=True).fill(password)
        await page.get_by_role("button", name="Sign in", exact=True).click()

    async def mailed_link(self, address: str) -> str:
        mail = [each for each in await self.office.mails() if address in each["to"]][-1]
        [link] = re.findall(r"http://\S+token=\S+", text_of(mail))
        return str(link)


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> AsyncIterator[Site]:
    folder: Path = tmp_path_factory.mktemp("people")
    async with world_at_its_address(folder) as (world, port):
        tenant = await world.new_tenant("Tideline", slug="tideline")
        owner = await tenant.owner(name="Nell Ashby")
        office = Office(world, world.parts.settings.data_dir / "mail")
        yield Site(tenant, f"http://tideline.localhost:{port}", browser, office, owner)


@pytest.mark.sweep
async def test_a_wrong_password_is_said_and_the_right_one_opens_the_page(site: Site) -> None:
    page = await site.guest()
    await site.sign_in(page, site.owner.email, "not it")
    await expect(page.get_by_role("alert")).to_contain_text("is wrong")
    await expect(page.get_by_label("Email address")).to_have_value(site.owner.email)
    await site.sign_in(page, site.owner.email, PASSWORD)
    await expect(page.locator(".side-who")).to_contain_text("Nell Ashby")
    await page.context.close()


@pytest.mark.sweep
async def test_a_forgotten_password_is_replaced_through_the_mail(site: Site) -> None:
    person = await site.tenant.owner(name="Ines Ferro", role="editor")
    page = await site.guest()
    await page.goto(f"{site.origin}/admin/sign-in")
    await page.get_by_role("link", name="Forgotten your password?").click()
    await page.get_by_label("Email address").fill(person.email)
    await page.get_by_role("button", name="Send me a link").click()
    await expect(page.locator("h1")).to_have_text("The email is a file")
    await page.goto(await site.mailed_link(person.email))
    await page.get_by_label("New password").fill(NEW)
    await page.get_by_label("Repeat the password").fill(NEW)
    await page.get_by_role("button", name="Set the password").click()
    await expect(page.locator("h1")).to_have_text("Your password is set")
    await site.sign_in(page, person.email, PASSWORD)
    await expect(page.get_by_role("alert")).to_contain_text("is wrong")
    await site.sign_in(page, person.email, NEW)
    await expect(page.locator(".side-who")).to_contain_text("Ines Ferro")
    await page.context.close()


async def test_an_invited_author_signs_in_and_edits_own_posts_alone(site: Site) -> None:
    foreign = await site.tenant.post(title="Not theirs")
    owner = await site.signed_in()
    await owner.goto(f"{site.origin}/admin/staff")
    await owner.get_by_label("Email address").fill("tobias@example.com")
    await owner.get_by_label("Name").fill("Tobias Wren")
    await owner.get_by_label("Role").select_option("author")
    await owner.get_by_role("button", name="Send the invitation").click()
    await expect(owner.locator(".toast")).to_contain_text(
        "An invitation for tobias@example.com was written"
    )
    page = await site.guest()
    await page.goto(await site.mailed_link("tobias@example.com"))
    await expect(page.locator("h1")).to_have_text("Choose a password")
    await page.get_by_label("New password").fill(NEW)
    await page.get_by_label("Repeat the password").fill(NEW)
    await page.get_by_role("button", name="Set the password").click()
    await page.get_by_role("link", name="Sign in").first.click()
    await site.sign_in(page, "tobias@example.com", NEW)
    # One of their own.
    await page.goto(f"{site.origin}/admin/posts/new")
    await page.fill("#title", "Mine")
    await page.get_by_role("button", name="Publish…").click()
    await page.get_by_role("button", name="Publish", exact=True).click()
    await expect(page.get_by_role("button", name="Update…")).to_be_visible()
    await page.goto(f"{site.origin}/admin/posts")
    await expect(page.locator("tbody tr")).to_have_count(1)
    await expect(page.locator("tbody tr")).to_contain_text("Mine")
    # Another's: neither by its page, nor by a request that a page of theirs could send.
    path = f"{site.origin}/admin/posts/{foreign['id']}"
    answer = await page.goto(path)
    assert answer is not None
    assert answer.status == 404
    await page.goto(f"{site.origin}/admin/more")
    forged = {"form_token": token_in(await page.content()), "title": "Taken over"}
    forged |= {"action": "publish", "version": "1"}
    status = await page.evaluate(
        "async ([path, form]) => (await fetch(path,"
        " {method: 'POST', body: new URLSearchParams(form), redirect: 'manual'})).status",
        [path, forged],
    )
    assert status == 404
    records, posts = site.tenant.world.parts.records, site.tenant.world.collection("posts")
    [stored] = await records.find(posts, {"id": foreign["id"]}, tenant_id=site.tenant.id)
    assert (stored["title"], stored["status"]) == ("Not theirs", "draft")
    await page.context.close()
    await owner.context.close()


@pytest.mark.sweep
async def test_a_thousand_selected_posts_are_published_tagged_and_deleted(site: Site) -> None:
    records, posts = site.tenant.world.parts.records, site.tenant.world.collection("posts")
    async with records.unit(system(site.tenant.id)) as unit, unit.batched_inserts():
        for number in range(1_001):
            tags = {"tags": ["harvest"], "slug": f"harvest-{number}"}
            await unit.create(posts, {"title": f"Harvest {number:04}", **tags})
    page = await site.signed_in()

    async def selected(tag: str, button: str) -> None:
        await page.goto(f"{site.origin}/admin/posts?tag={tag}")
        await page.get_by_label("Select all on this page").check()
        await page.get_by_label("All 1,001 that match").check()
        await page.locator(".bulk").get_by_role("button", name=button).first.click()
        await expect(page.locator(".head-sub")).to_contain_text("All 1,001 that match")

    await selected("harvest", "Publish")
    await page.get_by_role("button", name="Publish 1,001").click()
    await expect(page.locator(".toast")).to_contain_text("1,001 posts are published.")
    await expect(page.locator("tbody .badge").first).to_contain_text("Published")
    await selected("harvest", "Tag…")
    await page.get_by_label("Tag", exact=True).fill("autumn")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Add the tag").click()
    await page.goto(f"{site.origin}/admin/posts?tag=autumn")
    await expect(page.locator(".pager")).to_contain_text("of 1,001")
    await selected("autumn", "Delete…")
    await page.get_by_role("button", name="Delete 1,001 posts").click()
    await expect(page.locator(".toast")).to_contain_text("1,001 posts are in the trash")
    await page.goto(f"{site.origin}/admin/posts?tag=autumn")
    await expect(page.locator("tbody tr")).to_have_count(0)
    await page.context.close()
