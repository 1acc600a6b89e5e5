"""A member CSV with a bad row in Chromium: upload, columns, preview, run with progress, report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from playwright.async_api import Page, expect
from tests.browser import Browser, needs_chromium
from tests.databases import fresh_url
from tests.faces.admin.served import served
from tests.world import Account, RunningClock, TenantWorld, open_world

from masthead.service.background import job_runner

pytestmark = needs_chromium

LIST = (
    "E-Mail-Adresse;Name;Labels;Newsletter\n"
    "ana@example.com;Ana Lind;founders;yes\n"
    "nobody at example;Bo Lind;founders;no\n"
    "cy@example.com;Cy Marsh;;yes\n"
)


@dataclass
class Site:
    origin: str
    browser: Browser
    tenant: TenantWorld
    owner: Account

    async def opened(self) -> Page:
        context = await self.browser.new_context(viewport={"width": 1280, "height": 800})
        await context.add_cookies(
            [{"name": "pb_auth", "value": self.owner.token, "url": self.origin}]
        )
        return await context.new_page()


@pytest.fixture(params=["sqlite", "postgresql"])
async def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, browser: Browser
) -> AsyncIterator[Site]:
    folder = tmp_path_factory.mktemp("lists")
    world = await open_world(
        fresh_url(request.param, folder), folder, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo"
    )
    tenant = await world.new_tenant("Tideline", slug="demo")
    async with served(world) as origin:
        yield Site(origin, browser, tenant, await tenant.owner(name="Nell Ashby"))


@pytest.mark.slow("a whole way through the pages in a browser")
async def test_a_member_csv_with_a_bad_row(site: Site) -> None:
    page = await site.opened()
    await page.goto(f"{site.origin}/admin/members")
    await page.get_by_role("link", name="Import a CSV").click()
    await page.locator("#file").set_input_files(
        {"name": "readers.csv", "mimeType": "text/csv", "buffer": LIST.encode("utf-16")}
    )
    await page.get_by_role("button", name="Upload").click()

    await expect(page.get_by_text("3 rows, separated by semicolons, in UTF-16.")).to_be_visible()
    addresses = page.get_by_label("E-Mail-Adresse becomes")
    await expect(addresses).to_have_value("")
    await expect(page.get_by_text("Choose the column that has the email")).to_be_visible()
    await addresses.select_option("Email address")
    await page.get_by_label("Labels becomes").select_option("Leave out")
    await page.get_by_role("button", name="Check again").click()

    errors = page.get_by_role("table", name="Rows with errors")
    await expect(errors.get_by_role("row")).to_have_count(2)
    await expect(errors).to_contain_text("This is not an email address. Correct it.")
    preview = page.get_by_role("table", name="What the first rows become")
    await expect(preview).to_contain_text("Ana Lind")
    await expect(preview).not_to_contain_text("founders")
    await page.get_by_label("How did they agree").fill("a list at the counter")
    await page.get_by_role("button", name="Import 3 rows").click()

    # No worker runs yet. The page is closed, and opened again while it runs.
    await expect(page.get_by_role("progressbar", name="Rows read")).to_be_visible()
    await expect(page.get_by_text("0 of 3")).to_be_visible()
    address = page.url
    await page.close()
    page = await site.opened()
    await page.goto(address)
    await expect(page.get_by_text("0 of 3")).to_be_visible()
    jobs = job_runner(site.tenant.world.parts)
    working = asyncio.create_task(jobs.run_forever())
    try:
        # By itself: nothing is clicked.
        await expect(page.get_by_role("link", name="See the members")).to_be_visible()
    finally:
        jobs.stop()
        await working

    tally = page.locator(".tally")
    await expect(tally).to_contain_text("Added2")
    await expect(tally).to_contain_text("With errors1")
    report = page.get_by_role("table", name="Rows with errors")
    await expect(report.get_by_role("row")).to_have_count(2)
    await expect(report).to_contain_text("3This is not an email address.")
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download as CSV").click()
    path = await (await download.value).path()
    assert path.read_text().splitlines() == [
        "row,problem",
        "3,This is not an email address. Correct it.",
    ]
    await page.get_by_role("link", name="See the members").click()
    members = page.get_by_role("table", name="Members")
    await expect(members).to_contain_text("Ana Lind")
    await expect(members).to_contain_text("Cy Marsh")
    await expect(members).not_to_contain_text("Bo Lind")
    await page.context.close()
