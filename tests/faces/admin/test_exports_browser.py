"""An export in Chromium: asked for, the page closed, the email read, the file downloaded. Skipped
where the machine has no browser."""

from __future__ import annotations

import asyncio
import contextlib
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, expect
from tests.browser import Browser, needs_chromium
from tests.databases import fresh_url
from tests.faces.admin.served import served
from tests.faces.site_export.filled import fill
from tests.outside.mail.offices import read_mail, text_of
from tests.outside.mail.test_mailed_links import links_in
from tests.world import PASSWORD, RunningClock, TenantWorld, World, open_world

from masthead.service.background import job_runner

pytestmark = needs_chromium


@dataclass(frozen=True)
class Site:
    origin: str
    browser: Browser
    world: World
    tenant: TenantWorld

    @contextlib.asynccontextmanager
    async def worker(self) -> AsyncIterator[None]:
        jobs = job_runner(self.world.parts)
        running = asyncio.create_task(jobs.run_forever())
        yield
        jobs.stop()
        await running

    async def signed_in(self, email: str) -> BrowserContext:
        context = await self.browser.new_context(viewport={"width": 1280, "height": 800})
        account = await self.tenant.owner(name="Nell Ashby", email=email)
        cookie = {"name": "pb_auth", "value": account.token, "url": self.origin}
        await context.add_cookies([cookie])  # type: ignore[list-item]
        return context

    async def mail(self) -> EmailMessage:
        folder = self.world.parts.settings.data_dir / "mail"
        async with asyncio.timeout(120):
            while not (found := list(folder.glob("*.eml"))):
                await asyncio.sleep(0.05)
        return read_mail(found[0])


@pytest.fixture(params=["sqlite", "postgresql"])
async def site(
    request: pytest.FixtureRequest, tmp_path: Path, browser: Browser
) -> AsyncIterator[Site]:
    url = fresh_url(request.param, tmp_path)
    world = await open_world(url, tmp_path, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo")
    async with served(world) as origin:
        yield Site(origin, browser, world, await world.new_tenant("Tideline", slug="demo"))


@pytest.mark.slow("a whole way through the pages in a browser")
async def test_a_person_asks_closes_the_page_and_comes_back_by_the_mail(
    site: Site, tmp_path: Path
) -> None:
    filled = await fill(site.tenant)
    context = await site.signed_in("nell@example.com")
    page = await context.new_page()
    await page.goto(f"{site.origin}/admin/tools/export")
    await page.get_by_role("radio", name="Ghost").check()
    await page.get_by_role("button", name="Make the export").click()
    await expect(page.get_by_text("It starts as soon as the worker is free")).to_be_visible()
    await page.close()
    async with site.worker():
        mail = await site.mail()
    assert mail["subject"] == "The export of Tideline is ready"
    assert "Sign in and download it" in text_of(mail)
    # Where nobody is signed in, the link of the email asks for that first.
    [link] = [each for each in links_in(mail) if each.endswith("/admin/tools/export")]
    page = await (await site.browser.new_context()).new_page()
    await page.goto(site.origin + link.removeprefix("http://localhost"))
    await page.get_by_label("Email address").fill("nell@example.com")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download the export for Ghost").click()
    file = await download.value
    assert file.suggested_filename.startswith("demo-ghost-")
    path = tmp_path / "export.zip"
    await file.save_as(path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert any(name.endswith(filled.picture["file"]) for name in archive.namelist())
    await page.get_by_role("button", name="Remove the export for Ghost").click()
    await expect(page.get_by_text("The export is removed.")).to_be_visible()
    await expect(page.get_by_text("No files yet")).to_be_visible()


@pytest.mark.sweep
async def test_an_open_page_follows_the_export(site: Site) -> None:
    await fill(site.tenant)
    page = await (await site.signed_in("ines@example.com")).new_page()
    await page.goto(f"{site.origin}/admin/tools/export")
    await page.get_by_role("button", name="Make the export").click()
    await expect(page.get_by_role("button", name="Cancel the export")).to_be_visible()
    async with site.worker():
        await expect(page.get_by_text("The export is ready.")).to_be_visible()
    await expect(page.get_by_role("link", name="Download the export for WordPress")).to_be_visible()
