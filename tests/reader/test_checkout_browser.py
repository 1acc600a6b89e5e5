"""The way to the payment and back in Chromium, with the policy that real pages have.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.async_api import BrowserContext, async_playwright
from tests.conftest import _QuietServer
from tests.databases import fresh_url
from tests.payments.processor import SECRET, Processor, joined
from tests.payments.processor_api import KEY, ProcessorApi
from tests.reader.test_browser import CHROMIUM
from tests.tls import Receiver
from tests.world import Account, RunningClock, TenantWorld, open_world

from masthead.identity.sessions import MEMBER_COOKIE

pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="install chromium: these tests need a browser, and .ci/run installs it",
    ),
    pytest.mark.xdist_group("chromium"),
]


@dataclass
class Shop:
    origin: str
    tenant: TenantWorld
    api: ProcessorApi
    member: Account


@pytest.fixture(params=["sqlite", "postgresql"])
async def shop(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Shop]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with Receiver(None) as receiver:
            api = ProcessorApi(receiver)
            world = await open_world(
                fresh_url(request.param, tmp_path),
                tmp_path,
                RunningClock(),
                MASTHEAD_DEFAULT_TENANT="demo",
                MASTHEAD_BASE_URL=origin,
                MASTHEAD_PAYMENT_API_URL=api.url,
            )
            config: Any = uvicorn.Config(world.http, log_config=None, lifespan="off", ws="none")
            server = _QuietServer(config)
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            while not server.started:
                await asyncio.sleep(0)
            tenant = await world.new_tenant("demo", slug="demo")
            await tenant.settings(
                member_payment_secret_key=KEY, member_payment_webhook_secret=SECRET
            )
            tier = {"name": "Supporter", "price": 400, "currency": "gbp"}
            await tenant.create("tiers", {**tier, "payment_price_id": "price_month"})
            yield Shop(origin, tenant, api, await tenant.member())
            server.should_exit = True
            await serving
            await world.parts.close()


@pytest.fixture(params=["with-script", "without-script"])
async def browser(request: pytest.FixtureRequest, shop: Shop) -> AsyncIterator[BrowserContext]:
    async with async_playwright() as playwright:
        # Containers run tests as root, for whom Chromium's own sandbox can't start.
        launched = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = await launched.new_context(java_script_enabled=request.param == "with-script")
        cookie: Any = {"name": MEMBER_COOKIE, "value": shop.member.token, "url": shop.origin}
        await context.add_cookies([cookie])
        yield context
        await launched.close()


async def test_a_button_leads_to_the_payment(shop: Shop, browser: BrowserContext) -> None:
    page = await browser.new_page()
    await page.goto(f"{shop.origin}/member/plans")
    await page.get_by_role("button", name="Choose Supporter").click()
    await page.wait_for_url(f"{shop.api.url}/c/pay/*")
    assert await page.locator("h1").inner_text() == "Pay here"
    # Going back leads to the plans, not to the page that led away.
    await page.go_back()
    await page.wait_for_url(f"{shop.origin}/member/plans")


async def test_the_account_follows_the_event_by_itself(shop: Shop, browser: BrowserContext) -> None:
    post = await shop.tenant.published(visibility="paid", content_html="<p>Behind it.</p>")
    page = await browser.new_page()
    await page.goto(f"{shop.origin}/posts/{post['slug']}")
    await page.get_by_role("link", name="See what you get").click()
    await page.get_by_role("button", name="Choose Supporter").click()
    await page.get_by_role("link", name="Pay").click()
    await page.get_by_text("Your payment is being confirmed").wait_for()
    named = {"member_id": shop.api.last_form["metadata[member_id]"]}
    await Processor(shop.tenant).send(joined(metadata=named))
    # Nothing is clicked.
    await page.get_by_text("Paid, active").wait_for()
    await page.goto(f"{shop.origin}/posts/{post['slug']}")
    assert await page.get_by_text("Behind it.").is_visible()
    await page.goto(f"{shop.origin}/member/account")
    await page.get_by_role("button", name="Manage").click()
    await page.wait_for_url(f"{shop.api.url}/p/pay/*")
