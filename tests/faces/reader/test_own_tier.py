"""The tier in a member's account: what they have, and what happens after a payment."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.faces.reader.shop import ACCOUNT, TIER, TIERS, Shop, api, shop
from tests.features.payments.processor import JUNE, Processor, ended, failed, joined, subscription
from tests.world import Account, TenantWorld

__all__ = ["api", "shop"]

MANAGE = 'action="/member/billing"'


async def own_tier(shop: Shop, member: Account, query: str = "") -> str:
    """The row of the account, without the blanks between its words."""
    page = await shop.reader(member).get(ACCOUNT + query)
    assert page.status_code == 200, page.text
    found = re.search(r'<div id="tier">.*?</div>', page.text, re.S)
    assert found
    return re.sub(r"\s+", " ", found[0])


def ours(member: Account) -> dict[str, Any]:
    return {"metadata": {"member_id": member.id}}


@pytest.fixture
def processor(shop: Shop) -> Processor:
    return Processor(shop.tenant)


class TestWhatTheMemberHas:
    async def test_a_free_member_may_upgrade(self, shop: Shop, member: Account) -> None:
        row = await own_tier(shop, member)
        assert "<p>Free</p>" in row
        assert f'href="{TIERS}"' in row
        assert MANAGE not in row

    async def test_where_nothing_is_sold_there_is_nothing_to_upgrade_to(
        self, shop: Shop, member: Account
    ) -> None:
        await shop.tenant.update("tiers", shop.tier["id"], {"active": False})
        assert TIERS not in await own_tier(shop, member)

    async def test_a_member_on_trial_sees_until_when_it_is_free(
        self, shop: Shop, member: Account, processor: Processor
    ) -> None:
        await processor.send(subscription("trialing", kind="created", **ours(member)))
        row = await own_tier(shop, member)
        assert "Paid, active" in row
        assert "Free until 10 July 2024." in row
        await processor.send(subscription("active", JUNE + 1, **ours(member)))
        assert "Paid again on 10 July 2024." in await own_tier(shop, member)

    async def test_a_paid_member_sees_the_tier_and_the_next_payment(
        self, shop: Shop, member: Account, processor: Processor
    ) -> None:
        await processor.send(joined(**ours(member)), subscription("active", **ours(member)))
        row = await own_tier(shop, member)
        assert "Paid, active" in row
        assert "Supporter, £4 a month. Paid again on 10 July 2024." in row
        assert MANAGE in row
        assert TIERS not in row

    async def test_the_day_is_that_of_the_sites_time_zone(
        self, shop: Shop, member: Account, processor: Processor
    ) -> None:
        await shop.tenant.settings(time_zone="Pacific/Kiritimati")
        late = JUNE - JUNE % 86_400 + 86_399
        await processor.send(subscription("active", current_period_end=late, **ours(member)))
        assert "Paid again on 11 June 2024." in await own_tier(shop, member)

    async def test_a_cancelled_one_says_how_long_it_lasts(
        self, shop: Shop, member: Account, processor: Processor
    ) -> None:
        cancelled = subscription("active", cancel_at_period_end=True, **ours(member))
        await processor.send(cancelled)
        row = await own_tier(shop, member)
        assert "Paid, cancelled" in row
        assert "You read everything until 10 July 2024." in row
        assert "Paid again" not in row

    async def test_a_failed_payment_is_said_and_can_be_mended(
        self, shop: Shop, member: Account, processor: Processor
    ) -> None:
        await processor.send(joined(**ours(member)), failed(JUNE + 60))
        row = await own_tier(shop, member)
        assert "Paid, payment failed" in row
        assert "Renew" in row
        assert MANAGE in row

    async def test_one_that_has_ended_says_so_and_may_come_back(
        self, shop: Shop, member: Account, processor: Processor
    ) -> None:
        await processor.send(joined(**ours(member)), ended(JUNE + 60))
        row = await own_tier(shop, member)
        assert "Free" in row
        assert "Your paid tier has ended." in row
        assert f'href="{TIERS}"' in row

    async def test_who_an_owner_made_paid_has_nothing_to_manage(self, shop: Shop) -> None:
        row = await own_tier(shop, await shop.tenant.member(tier="paid"))
        assert "Paid, active" in row
        assert MANAGE not in row
        assert "payment service" not in row

    async def test_without_a_payment_key_the_receipts_lead_there(
        self, shop: Shop, member: Account, processor: Processor
    ) -> None:
        await processor.send(joined(**ours(member)))
        await shop.tenant.settings(member_payment_secret_key="")
        row = await own_tier(shop, member)
        assert "The emails of the payment service have a link" in row
        assert MANAGE not in row

    async def test_a_tier_of_another_site_is_not_shown(
        self, shop: Shop, member: Account, processor: Processor, other_tenant: TenantWorld
    ) -> None:
        await other_tenant.create("tiers", {**TIER, "name": "Theirs", "payment_price_id": "p_2"})
        items = {"data": [{"price": {"id": "p_2"}}]}
        await processor.send(subscription("active", items=items, **ours(member)))
        row = await own_tier(shop, member)
        assert "Paid, active" in row
        assert "Theirs" not in row


async def test_who_still_pays_is_told_so_before_leaving(
    shop: Shop, member: Account, processor: Processor
) -> None:
    warning = "does not cancel your payment"
    reader = shop.reader(member)
    assert warning not in (await reader.get("/member/delete")).text
    await processor.send(joined(**ours(member)), subscription("active", **ours(member)))
    assert warning in (await reader.get("/member/delete")).text
    await processor.send(subscription("active", JUNE + 60, cancel_at_period_end=True))
    assert warning not in (await reader.get("/member/delete")).text


def refresh_of(page: str) -> str:
    found = re.search(r'<meta http-equiv="refresh" content="([^"]+)">', page)
    return found[1] if found else ""


class TestComingBack:
    """From the processor, to an address that says how often the page has looked."""

    async def test_the_page_waits_for_the_event_and_then_shows_it(
        self, shop: Shop, member: Account, processor: Processor
    ) -> None:
        reader = shop.reader(member)
        first = (await reader.get(f"{ACCOUNT}?checkout=1")).text
        assert "Your payment is being confirmed" in first
        assert refresh_of(first) == f"1;url={ACCOUNT}?checkout=2"
        await processor.send(joined(**ours(member)))
        second = (await reader.get(f"{ACCOUNT}?checkout=2")).text
        assert "Paid, active" in second
        assert "being confirmed" not in second
        assert refresh_of(second) == ""

    async def test_an_event_that_was_quicker_is_shown_at_once(
        self, shop: Shop, member: Account, processor: Processor
    ) -> None:
        await processor.send(subscription("active", **ours(member)))
        page = (await shop.reader(member).get(f"{ACCOUNT}?checkout=1")).text
        assert "Paid, active" in page
        assert refresh_of(page) == ""

    @pytest.mark.parametrize(
        ("looked", "refresh"),
        [("30", "1"), ("31", "5"), ("60", "5"), ("61", ""), ("9999999999", "")],
    )
    async def test_it_looks_less_often_and_then_stops(
        self, shop: Shop, member: Account, looked: str, refresh: str
    ) -> None:
        page = (await shop.reader(member).get(f"{ACCOUNT}?checkout={looked}")).text
        assert "Your payment is being confirmed" in page
        expected = f"{refresh};url={ACCOUNT}?checkout={int(looked) + 1}" if refresh else ""
        assert refresh_of(page) == expected
        assert ("takes longer than usual" in page) is (not refresh)

    @pytest.mark.parametrize("query", ["", "?checkout=", "?checkout=-1", "?checkout=paid", "?a=1"])
    async def test_nothing_else_makes_it_wait(
        self, shop: Shop, member: Account, query: str
    ) -> None:
        page = (await shop.reader(member).get(ACCOUNT + query)).text
        assert "being confirmed" not in page
        assert refresh_of(page) == ""

    async def test_the_address_makes_nobody_paid(self, shop: Shop, member: Account) -> None:
        post = await shop.tenant.published(visibility="paid", content_html="<p>Behind it.</p>")
        reader = shop.reader(member)
        await reader.get(f"{ACCOUNT}?checkout=1")
        assert "Behind it." not in (await reader.get(f"/posts/{post['slug']}")).text
