"""An import in Chromium with a worker that runs: upload with its progress, preview, run while the
page is closed, report, undo. With an export of our own, and with one of the corpus."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import FilePayload, Page, expect
from tests import corpus
from tests.browser import Browser, needs_chromium
from tests.databases import fresh_url
from tests.faces.admin.served import served
from tests.faces.admin.test_imports import ghost
from tests.faces.importers.samples import wordpress
from tests.faces.importers.samples.wordpress_bodies import SHORTCODES
from tests.faces.importers.write.exports import rows, without_network
from tests.world import Account, RunningClock, TenantWorld, open_world

from masthead.service.background import job_runner

pytestmark = needs_chromium

POSTS = 120
"""More than one batch."""


@dataclass
class Tools:
    origin: str
    browser: Browser
    tenant: TenantWorld
    owner: Account

    async def opened(self, url: str) -> Page:
        context = await self.browser.new_context(viewport={"width": 1280, "height": 800})
        await context.add_cookies(
            [{"name": "pb_auth", "value": self.owner.token, "url": self.origin}]
        )
        page = await context.new_page()
        await page.goto(url if url.startswith("http") else self.origin + url)
        return page


@pytest.fixture(params=["sqlite", "postgresql"])
async def tools(
    request: pytest.FixtureRequest, tmp_path: Path, browser: Browser
) -> AsyncIterator[Tools]:
    world = await open_world(
        fresh_url(request.param, tmp_path),
        tmp_path,
        RunningClock(),
        MASTHEAD_DEFAULT_TENANT="demo",
    )
    tenant = await world.new_tenant("Tideline", slug="demo")
    offline = without_network(world.parts)
    jobs = job_runner(offline)
    async with served(world) as origin:
        running = asyncio.create_task(jobs.run_forever())
        yield Tools(origin, browser, tenant, await tenant.owner(name="Nell Ashby"))
        jobs.stop()
        with contextlib.suppress(asyncio.CancelledError):
            await running
    await offline.outbound.close()


def exports() -> list[object]:
    large = corpus.found("wordpress/real/theme-unit-test-data.xml")
    return [
        pytest.param("tideline.ghost.json", ghost(POSTS), POSTS, id="ghost"),
        pytest.param(
            "tideline.xml",
            wordpress.BLOG.encode(),
            len(SHORTCODES),
            id="wordpress",
            marks=pytest.mark.sweep,
        ),
        *(pytest.param(path.name, path.read_bytes(), None, id="corpus") for path in large),
    ]


@pytest.mark.parametrize(("name", "content", "number"), exports())
async def test_from_the_file_to_the_report_and_back(
    tools: Tools, name: str, content: bytes, number: int | None
) -> None:
    before = await rows(tools.tenant, "posts")
    page = await tools.opened("/admin/tools/import")
    await page.get_by_role("link", name="Import a file").first.click()
    file: FilePayload = {
        "name": name,
        "mimeType": "application/json",
        "buffer": content,
    }
    await page.locator("#file").set_input_files(file)
    await page.get_by_role("button", name="Upload and preview").click()

    run = page.get_by_role("button", name="Run import")
    await expect(run).to_be_visible()
    await expect(page.get_by_role("row", name="Posts").first).to_be_visible()
    assert await rows(tools.tenant, "posts") == before
    sample = page.frame_locator("iframe[sandbox]")
    await expect(sample.locator("h1").first).to_be_visible()
    second = page.locator(".sample ol a").nth(1)
    title = (await second.inner_text()).splitlines()[0]
    await second.click()
    await expect(sample.locator("h1").first).to_contain_text(title)
    await expect(page.locator(".sample [aria-current]")).to_contain_text(title)

    await run.click()
    url = page.url.partition("?")[0]
    # The import goes on without its page.
    await page.context.close()

    page = await tools.opened(url)
    undo = page.get_by_role("link", name="Undo the import…")
    await expect(undo).to_be_visible()
    await expect(page.locator(".head-sub .badge")).to_have_text("Imported")
    imported = await rows(tools.tenant, "posts")
    assert len(imported) > len(before)
    if number:
        assert len(imported) == number
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Redirects").click()
    assert (await download.value).suggested_filename == "redirects.csv"

    await undo.click()
    await page.get_by_role("button", name="Undo the import").click()
    await expect(page.get_by_text("The import is undone.")).to_be_visible()
    assert await rows(tools.tenant, "posts") == before
    await page.get_by_role("link", name="Imports").click()
    await expect(page.locator("#list tbody tr")).to_contain_text("Undone")


@pytest.mark.sweep
async def test_a_file_that_is_no_export_is_refused_on_the_page(tools: Tools) -> None:
    page = await tools.opened("/admin/tools/import/new")
    words: FilePayload = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"Just words."}
    await page.locator("#file").set_input_files(words)
    await page.get_by_label("Comments").check()
    await page.get_by_role("button", name="Upload and preview").press("Enter")
    said = page.get_by_role("alert")
    await expect(said).to_contain_text("This is not an export of WordPress, Ghost or Substack.")
    await expect(page.locator("#file")).to_be_focused()
    # Nothing that was chosen is lost.
    await expect(page.get_by_label("Comments")).to_be_checked()
    right: FilePayload = {"name": "a.json", "mimeType": "text/plain", "buffer": ghost(1)}
    await page.locator("#file").set_input_files(right)
    await page.get_by_role("button", name="Upload and preview").click()
    await expect(page.get_by_role("button", name="Discard")).to_be_visible()
    await page.get_by_role("button", name="Discard").click()
    await expect(page.get_by_text("The file was discarded.")).to_be_visible()


@pytest.mark.sweep
async def test_without_script_the_same_forms_work(tools: Tools) -> None:
    context = await tools.browser.new_context(java_script_enabled=False)
    await context.add_cookies(
        [{"name": "pb_auth", "value": tools.owner.token, "url": tools.origin}]
    )
    page = await context.new_page()
    await page.goto(f"{tools.origin}/admin/tools/import/new")
    file: FilePayload = {"name": "a.json", "mimeType": "text/plain", "buffer": ghost(2)}
    await page.locator("#file").set_input_files(file)
    await page.get_by_role("button", name="Upload and preview").click()
    while not await page.get_by_role("button", name="Run import").is_visible():
        await page.reload()
    await page.get_by_role("button", name="Run import").click()
    while not await page.get_by_role("link", name="Undo the import…").is_visible():
        await page.reload()
    assert len(await rows(tools.tenant, "posts")) == 2
