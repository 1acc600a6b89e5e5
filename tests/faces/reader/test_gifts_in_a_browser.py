"""A gift in Chromium: one reader buys it, another one gets the email, joins and redeems it.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, expect
from tests.browser import Browser, needs_chromium
from tests.faces.reader.live_site import LiveSite, live_site
from tests.features.payments.processor import bought

pytestmark = needs_chromium

MIRA = "mira@example.com"
PAID = "Where the money went"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[LiveSite]:
    async with live_site("sqlite", tmp_path) as site:
        text = "<p>The whole text.</p>"
        await site.tenant.published(title=PAID, visibility="paid", content_html=text, slug="money")
        yield site


@pytest.fixture(params=[True, pytest.param(False, marks=pytest.mark.sweep)], ids=["script", "none"])
async def context(
    request: pytest.FixtureRequest, browser: Browser
) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(java_script_enabled=request.param)
    yield context
    await context.close()


async def test_a_gift_is_bought_emailed_and_redeemed(
    site: LiveSite, context: BrowserContext
) -> None:
    page = await context.new_page()
    await buys(page, site)
    await gets_the_email_and_joins(page, site)
    await redeems(page, site)


async def buys(page: Page, site: LiveSite) -> None:
    await page.goto(f"{site.origin}/member/tiers")
    await page.get_by_role("link", name="Give a tier").click()
    await page.get_by_label("3 months", exact=True).check()
    await page.get_by_label("Email address of the person").fill(MIRA)
    await page.get_by_role("button", name="Continue to the payment").click()
    await page.wait_for_url(f"{site.api.url}/c/pay/*")
    await page.get_by_role("link", name="Pay").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you for your gift")
    assert await site.processor.find("gift_cards") == []
    form = site.api.last_form
    metadata = {
        name.removeprefix("metadata[").removesuffix("]"): value
        for name, value in form.items()
        if name.startswith("metadata[")
    }
    amount = int(form["line_items[0][price_data][unit_amount]"])
    assert amount == 1200
    paid = {"amount_subtotal": amount, "amount_total": amount, "currency": "gbp"}
    await site.processor.send(bought(metadata=metadata, **paid))


async def gets_the_email_and_joins(page: Page, site: LiveSite) -> None:
    await page.goto(await site.mailed_link(MIRA, "/member/redeem"))
    main = page.get_by_role("main")
    await main.get_by_label("Email address", exact=True).fill(MIRA)
    await main.get_by_role("button", name="Send me a link").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("The email is a file")
    await page.goto(await site.mailed_link(MIRA, "/member/link"))
    await page.get_by_role("button", name="Confirm and join").click()


async def redeems(page: Page, site: LiveSite) -> None:
    card = await site.processor.one("gift_cards")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Redeem a gift")
    await expect(page.get_by_label("Code", exact=True)).to_have_value(card["code"])
    await page.get_by_role("button", name="Redeem", exact=True).click()
    await expect(page.get_by_text("Your gift is redeemed")).to_be_visible()
    await page.goto(f"{site.origin}/posts/money")
    await expect(page.get_by_text("The whole text.")).to_be_visible()
    await page.goto(f"{site.origin}/member/redeem?code={card['code']}")
    await page.get_by_role("button", name="Redeem", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("You have redeemed this code.")
