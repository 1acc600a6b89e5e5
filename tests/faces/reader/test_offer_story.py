"""A reader's way from an offer that was sent to them to a paid tier, in Chromium, with script and
without. Skipped where the machine has no Chromium."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import expect
from tests.browser import Browser, needs_chromium
from tests.faces.reader.live_site import LiveSite, live_site
from tests.faces.reader.test_story import EMAIL, open_mailed_link
from tests.features.payments.processor import joined

pytestmark = needs_chromium

PATH = "/member/offer/spring"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[LiveSite]:
    async with live_site("sqlite", tmp_path) as site:
        tier = await site.processor.one("tiers")
        terms = {"code": "spring", "tier": tier["id"], "kind": "percent", "value": 50}
        await site.tenant.create("offers", {**terms, "months": 3, "max_uses": 1})
        yield site


@pytest.mark.parametrize(
    "way",
    ["with-script", pytest.param("without-script", marks=pytest.mark.sweep)],
)
async def test_a_reader_joins_takes_an_offer_and_is_the_last_who_can(
    site: LiveSite, browser: Browser, way: str
) -> None:
    context = await browser.new_context(java_script_enabled=way == "with-script")
    page = await context.new_page()
    await page.goto(f"{site.origin}{PATH}")
    await expect(page.get_by_role("heading", level=1)).to_have_text("50% off Supporter")
    await expect(page.get_by_text("For 3 months, then £4 a month.")).to_be_visible()
    await page.get_by_label("Email address", exact=True).fill(EMAIL)
    await page.get_by_role("button", name="Send me a link").click()
    await open_mailed_link(page, site, "Confirm and join")
    await page.wait_for_url(f"{site.origin}{PATH}")
    await page.get_by_role("button", name="Take the offer").click()
    await page.wait_for_url(f"{site.api.url}/c/pay/*")
    assert site.api.last_form["discounts[0][coupon]"] in site.api.coupons
    await page.get_by_role("link", name="Pay").click()
    await expect(page.get_by_text("Your payment is being confirmed")).to_be_visible()
    named = {name: site.api.last_form[f"metadata[{name}]"] for name in ("member_id", "offer_id")}
    await site.processor.send(joined(metadata=named))
    await page.goto(f"{site.origin}/member/account")
    await expect(page.get_by_text("Paid, active")).to_be_visible()
    await page.goto(f"{site.origin}{PATH}")
    await expect(page.get_by_role("heading", level=1)).to_have_text("This offer is used up")
    await page.get_by_role("link", name="See what the tiers cost").click()
    await page.wait_for_url(f"{site.origin}/member/tiers")
    await context.close()
