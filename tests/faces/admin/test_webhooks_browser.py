"""Webhooks in Chromium against a real receiver: one dies, is retried and arrives; one is turned off
and on again; a test shows the answer; dead letters by keys alone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.browser import Browser, needs_chromium
from tests.databases import fresh_url
from tests.faces.admin.served import served
from tests.features.webhooks.hooks import Hooks, open_hooks_world
from tests.tls import Authority, Receiver, answer
from tests.world import Account, RunningClock

from masthead.base.config.values import RetryPolicy
from masthead.features.webhooks.deliver import DeliveryWorker
from masthead.service.background import job_runner

pytestmark = needs_chromium

ONCE = RetryPolicy((), disable_after=2)
"""One attempt; two dead ones in a row disable the subscription."""
DOWN = answer(503, b"<h1>Down for <script>repairs</script></h1>")


@dataclass
class Panel:
    origin: str
    browser: Browser
    hooks: Hooks
    owner: Account

    async def opened(self, **more: Any) -> Page:
        context = await self.browser.new_context(
            viewport={"width": 1280, "height": 800},
            permissions=["clipboard-read", "clipboard-write"],
            **more,
        )
        await context.add_cookies(
            [{"name": "pb_auth", "value": self.owner.token, "url": self.origin}]
        )
        return await context.new_page()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
async def panel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, browser: Browser
) -> AsyncIterator[Panel]:
    """With the workers of a service that runs."""
    folder = tmp_path_factory.mktemp("panel")
    authority = Authority(folder)
    world = await open_hooks_world(
        fresh_url(request.param, folder),
        folder,
        authority,
        RunningClock(),
        MASTHEAD_DEFAULT_TENANT="demo",
    )
    tenant = await world.new_tenant("Tideline", slug="demo")
    parts = world.parts
    worker = DeliveryWorker(
        parts.webhooks.deliveries, parts.outbound, parts.keyring, ONCE, now=world.clock
    )
    jobs = job_runner(parts)
    async with Receiver(authority.certificate()) as receiver:
        hooks = Hooks(world, tenant, tenant.guest, receiver, authority)
        async with served(world) as origin:
            running = [asyncio.create_task(each.run_forever()) for each in (worker, jobs)]
            yield Panel(origin, browser, hooks, await tenant.owner(name="Nell Ashby"))
            worker.stop()
            jobs.stop()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*running)


async def made(page: Page, panel: Panel, name: str, path: str) -> None:
    """A webhook for published posts, set up by hand."""
    await page.goto(f"{panel.origin}/admin/webhooks/new")
    await page.get_by_role("textbox", name="Name").fill(name)
    await page.get_by_role("textbox", name="Address").fill(panel.hooks.receiver.url(path))
    box = page.get_by_role("checkbox", name="post.published")
    await box.check()
    await expect(page.locator("[id='example-post.published']")).to_have_attribute("open", "")
    await page.get_by_role("button", name="Create webhook").click()
    await expect(page.locator(".once")).to_contain_text("The signing secret")


@pytest.mark.slow("a whole way through the pages in a browser")
async def test_one_that_dies_is_shown_retried_and_delivered(panel: Panel) -> None:
    page = await panel.opened()
    receiver = panel.hooks.receiver
    await made(page, panel, "Notice board", "/board")
    secret = await page.locator(".once [data-copied]").inner_text()
    await page.locator(".once mh-copy button").click()
    await expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == secret
    receiver.at("/board", DOWN)
    await panel.hooks.tenant.published(title="The winter issue is at the printer")
    await receiver.wait_for(1)
    row = page.locator("#list tbody tr")
    await _until_shown(page, f"{panel.origin}/admin/webhooks?state=dead", "#list tbody tr")
    await expect(row).to_contain_text("503")
    await row.get_by_role("link").click()
    await expect(page.locator("h1")).to_contain_text("post.published to Notice board")
    await expect(page.get_by_label("Body of the answer")).to_contain_text("<script>repairs")
    await page.get_by_role("button", name="Copy as curl").click()
    await expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert receiver.requests[0].headers["x-service-signature"] in copied
    assert secret not in copied
    receiver.at("/board", answer(200, b"Thank you"))
    async with page.expect_navigation():
        await page.get_by_role("button", name="Retry").click()
    await receiver.wait_for(2)
    await _until_shown(page, page.url, "text=Thank you")
    await expect(page.locator(".head-line .badge")).to_have_text("Delivered")
    assert receiver.requests[0].body == receiver.requests[1].body
    await page.goto(f"{panel.origin}/admin/webhooks")
    await page.evaluate("window.isSamePage = true")
    # A list that is open shows what is sent meanwhile.
    await expect(row).to_have_count(1)
    await panel.hooks.tenant.published(title="The spring issue")
    await expect(row).to_have_count(2)
    await expect(row.filter(has_text="Delivered")).to_have_count(2)
    assert await page.evaluate("window.isSamePage === true")
    await page.context.close()


@pytest.mark.sweep
async def test_a_disabled_one_has_a_notice_and_is_turned_on_again(panel: Panel) -> None:
    page = await panel.opened()
    receiver, tenant = panel.hooks.receiver, panel.hooks.tenant
    receiver.at("/board", answer())
    await made(page, panel, "Print shop", "/print")
    receiver.at("/print", DOWN)
    for number in range(2):
        await tenant.published(title=f"Story {number}")
    notice = "text=“Print shop” has been off since"
    await _until_shown(page, f"{panel.origin}/admin/webhooks", notice)
    off = page.get_by_role("alert").filter(has_text="Print shop")
    await expect(off).to_contain_text("The last answer was 503")
    # The answer of a test is shown.
    receiver.at("/print", answer(202, b"Welcome back"))
    await page.get_by_role("button", name="Test Print shop").first.click()
    await expect(page.locator("h1")).to_contain_text("test.ping to Print shop")
    await expect(page.get_by_label("Body of the answer")).to_have_text("Welcome back")
    await page.goto(f"{panel.origin}/admin/webhooks")
    await page.get_by_role("button", name="Turn on Print shop").click()
    await expect(page.locator("[role=status] .toast")).to_contain_text("Print shop is on")
    await expect(off).to_have_count(0)
    await page.context.close()


@pytest.mark.sweep
async def test_dead_letters_by_keys_alone(panel: Panel) -> None:
    page = await panel.opened()
    receiver, tenant = panel.hooks.receiver, panel.hooks.tenant
    await made(page, panel, "Archive", "/archive")
    receiver.at("/archive", DOWN)
    await tenant.published(title="One")
    dead = f"{panel.origin}/admin/webhooks?state=dead"
    await _until_shown(page, dead, "#list tbody td:has-text('Archive')")
    receiver.at("/archive", answer())
    before = len(receiver.requests)
    await page.keyboard.press("j")
    await page.keyboard.press("x")
    await expect(page.locator("[data-selected-count]")).to_have_text("1")
    retry = page.get_by_role("region", name="Selected: deliveries").get_by_role("button")
    await retry.first.focus()
    async with page.expect_navigation():
        await page.keyboard.press("Enter")
    await receiver.wait_for(before + 1)
    # All of them, in the background: asked first, then watched until it is done.
    receiver.at("/archive", DOWN)
    await tenant.published(title="Two")
    await _until_shown(page, dead, "#list tbody td:has-text('Archive')")
    await page.get_by_role("button", name="Retry").first.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("h1")).to_have_text("Retry dead deliveries?")
    await page.get_by_role("button", name="Retry them").focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("#retry [role=status]")).to_contain_text("sent again")
    await expect(page.locator("#retry")).not_to_have_attribute("hx-trigger", "every 1s")
    await page.context.close()


async def _until_shown(page: Page, address: str, selector: str) -> None:
    """Opens the page again until the worker has come so far."""
    async with asyncio.timeout(120):
        while True:
            await page.goto(address)
            if await page.locator(selector).count():
                return
