"""Paid tiers on the site: their page and the paywall."""

from __future__ import annotations

import re

import pytest
from tests.world import Account, TenantWorld

from masthead.engine.records.collection import Record

TIERS = "/member/tiers"
MONTHLY = {
    "name": "Supporter",
    "price": 400,
    "currency": "gbp",
    "benefits": ["Every long read", "The <b>printed</b> quarterly"],
    "payment_url": "https://pay.example.com/supporter",
}
YEARLY = {**MONTHLY, "name": "Patron & Co", "price": 4400, "interval": "year", "position": 1}


@pytest.fixture
async def sold(tenant: TenantWorld) -> list[Record]:
    return [await tenant.create("tiers", each) for each in (YEARLY, MONTHLY)]


async def test_guests_see_what_a_tier_costs_and_join_first(
    tenant: TenantWorld, sold: list[Record]
) -> None:
    page = await tenant.guest.get(TIERS)
    assert page.status_code == 200
    text = page.text
    assert text.index("Supporter") < text.index("Patron &amp; Co")
    assert "<b>£4</b> a month" in text
    assert "<b>£44</b> a year" in text
    assert "The &lt;b&gt;printed&lt;/b&gt; quarterly" in text
    assert 'action="/member/sign-up"' in text
    assert f'name="back" value="{TIERS}"' in text
    assert "/member/upgrade" not in text
    assert "pay.example.com" not in text


async def test_an_old_address_leads_to_the_tiers(tenant: TenantWorld) -> None:
    moved = await tenant.guest.get("/member/plans")
    assert (moved.status_code, moved.headers["location"]) == (301, TIERS)


async def test_signing_in_leads_back_to_the_tiers(
    tenant: TenantWorld, member: Account, sold: list[Record]
) -> None:
    for path in ("/member/sign-in", "/member/sign-up"):
        asked = await tenant.guest.get(f"{path}?back={TIERS}")
        assert f'name="back" value="{TIERS}"' in asked.text
        moved = await member.api.get(f"{path}?back={TIERS}")
        assert (moved.status_code, moved.headers["location"]) == (303, TIERS)


async def test_members_choose_one(tenant: TenantWorld, member: Account, sold: list[Record]) -> None:
    text = (await member.api.get(TIERS)).text
    assert text.count('action="/member/upgrade"') == 2
    for tier in sold:
        assert f'name="tier" value="{tier["id"]}"' in text
    assert len(set(re.findall(r'name="form_token" value="(\w+)"', text))) == 1
    assert text.count("btn-primary") == 1
    assert 'action="/member/sign-up"' not in text


async def test_who_has_paid_and_who_works_there_is_asked_for_nothing(
    tenant: TenantWorld, owner: Account, sold: list[Record]
) -> None:
    paid = await tenant.member(tier="paid")
    for account, words in ((paid, "You are already a paid member"), (owner, "what readers see")):
        text = (await account.api.get(TIERS)).text
        assert words in text
        assert "<form" not in text.replace('<form class="search"', "")


async def test_a_tier_without_a_way_to_pay_says_so(tenant: TenantWorld, member: Account) -> None:
    await tenant.create("tiers", {**MONTHLY, "payment_url": "", "payment_price_id": "price_1"})
    text = (await member.api.get(TIERS)).text
    assert "Payments are not possible at the moment" in text
    assert "/member/upgrade" not in text
    await tenant.settings(member_payment_secret_key="sk_test_1")
    assert "/member/upgrade" in (await member.api.get(TIERS)).text


async def test_where_nothing_is_sold_there_is_no_such_page(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    await other_tenant.create("tiers", MONTHLY)
    await tenant.create("tiers", {**MONTHLY, "active": False})
    assert (await tenant.guest.get(TIERS)).status_code == 404
    await tenant.create("tiers", MONTHLY)
    assert (await tenant.guest.get(TIERS)).status_code == 200
    for closed in ({"members_enabled": False}, {"deleted_at": "2026-11-14 00:00:00Z"}):
        await tenant.settings(**closed)
        assert (await tenant.guest.get(TIERS)).status_code == 404
        await tenant.settings(members_enabled=True, deleted_at="")


async def test_a_changed_price_is_seen_by_the_next_request(
    tenant: TenantWorld, sold: list[Record]
) -> None:
    assert "£4<" in (await tenant.guest.get(TIERS)).text
    await tenant.update("tiers", sold[1]["id"], {"price": 550})
    text = (await tenant.guest.get(TIERS)).text
    assert "£5.50" in text
    assert "£4<" not in text


class TestPaywall:
    async def test_a_guest_reads_the_lowest_price_before_joining(
        self, tenant: TenantWorld, sold: list[Record]
    ) -> None:
        paid = await tenant.published(visibility="paid")
        text = (await tenant.guest.get(f"/posts/{paid['slug']}")).text
        assert "Paid members read everything on demo, from £4 a month." in text
        assert f'href="{TIERS}?back=/posts/' in text
        members = await tenant.published(visibility="members")
        text = (await tenant.guest.get(f"/posts/{members['slug']}")).text
        assert "Everything, from £4 a month" in text

    async def test_a_member_reads_the_lowest_price_and_where_to_pay(
        self, tenant: TenantWorld, member: Account, sold: list[Record]
    ) -> None:
        post = await tenant.published(visibility="paid", content_html="<p>Secret.</p>")
        text = (await member.api.get(f"/posts/{post['slug']}")).text
        assert "Paid members read everything on demo, from £4 a month." in text
        assert f'href="{TIERS}?back=/posts/' in text

    async def test_a_single_price_is_the_price(self, tenant: TenantWorld, member: Account) -> None:
        await tenant.create("tiers", YEARLY)
        await tenant.create("tiers", {**MONTHLY, "price": 1, "active": False})
        post = await tenant.published(visibility="paid")
        text = (await member.api.get(f"/posts/{post['slug']}")).text
        assert "Paid members read everything on demo, for £44 a year." in text

    async def test_prices_of_another_currency_are_not_compared(
        self, tenant: TenantWorld, member: Account
    ) -> None:
        await tenant.create("tiers", MONTHLY)
        await tenant.create("tiers", {**MONTHLY, "currency": "jpy", "price": 300, "position": 1})
        post = await tenant.published(visibility="paid")
        text = (await member.api.get(f"/posts/{post['slug']}")).text
        assert "from £4 a month" in text

    async def test_where_nothing_is_sold_no_price_is_named(
        self, tenant: TenantWorld, member: Account
    ) -> None:
        post = await tenant.published(visibility="paid")
        text = (await member.api.get(f"/posts/{post['slug']}")).text
        assert "Paid members read everything on demo." in text
        assert TIERS not in text
