"""The pages on which memberships are given and redeemed."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import httpx
import pytest
from tests.faces.reader.shop import ACCOUNT, OWN, TIER, TIERS, Shop, api, shop
from tests.features.payments.processor import (
    JUNE,
    Processor,
    ended,
    gift_bought,
    joined,
    refunded,
    subscription,
)
from tests.features.payments.processor_api import CHECKOUT, refuses
from tests.world import Account, TenantWorld

__all__ = ["api", "shop"]

GIFT, REDEEM = "/member/gift", "/member/redeem"
MONTH = {"months": "1"}


async def buy(
    shop: Shop,
    account: Account | None = None,
    *,
    by: httpx.AsyncClient | None = None,
    **form: str,
) -> httpx.Response:
    """Sends the form of the page, for three months unless it says otherwise."""
    reader = by or shop.reader(account)
    page = (await reader.get(GIFT)).text
    hidden = dict(re.findall(r'name="(form_token|order)" value="([^"]+)"', page))
    form = {"tier": shop.tier["id"], "months": "3", **hidden, **form}
    return await reader.post(GIFT, data=form, headers=OWN)


def next_address(page: httpx.Response) -> str:
    assert page.status_code == 200, page.text
    found = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', page.text)
    assert found
    return unescape(found[1])


class TestBuying:
    async def test_a_guest_pays_once_for_the_months(self, shop: Shop) -> None:
        day = (shop.tenant.world.clock() + timedelta(days=30)).date().isoformat()
        page = await buy(shop, email="Mira@Example.com", send_on=day)
        (path,) = shop.api.sessions
        assert next_address(page) == shop.api.receiver.url(path)
        (call,) = shop.api.calls
        assert call.path == CHECKOUT
        form = dict(shop.api.last_form)
        assert len(form.pop("metadata[gift_order]")) == 32
        site = f"http://{shop.tenant.host}"
        tenant = {"tenant_id": shop.tenant.id, "tenant_slug": shop.tenant.slug}
        named = {
            **tenant,
            "gift_tier": shop.tier["id"],
            "gift_months": "3",
            "gift_to": "mira@example.com",
            "gift_on": day,
        }
        assert form == {
            "mode": "payment",
            "line_items[0][price_data][currency]": "gbp",
            "line_items[0][price_data][unit_amount]": "1200",
            "line_items[0][price_data][product_data][name]": "Gift: Supporter, 3 months",
            "line_items[0][quantity]": "1",
            "success_url": f"{site}{GIFT}?bought=1",
            "cancel_url": f"{site}{GIFT}",
            **{f"metadata[{name}]": value for name, value in named.items()},
            **{f"payment_intent_data[metadata][{name}]": value for name, value in tenant.items()},
        }

    async def test_a_member_pays_with_the_address_of_the_account(
        self, shop: Shop, member: Account
    ) -> None:
        next_address(await buy(shop, member))
        assert shop.api.last_form["customer_email"] == member.email

    async def test_the_price_is_the_sites(self, shop: Shop) -> None:
        for months, amount in (("1", "400"), ("3", "1200"), ("6", "2400"), ("12", "4800")):
            next_address(await buy(shop, months=months, price="1", amount="1", unit_amount="1"))
            assert shop.api.last_form["line_items[0][price_data][unit_amount]"] == amount

    async def test_a_yearly_tier_is_given_for_a_year(self, shop: Shop) -> None:
        yearly = await shop.tenant.create("tiers", {**TIER, "interval": "year", "price": 4000})
        for months in ("1", "3", "6"):
            refused = await buy(shop, tier=yearly["id"], months=months)
            assert refused.status_code == 422
            assert "Supporter is given for 12 months." in refused.text
        next_address(await buy(shop, tier=yearly["id"], months="12"))
        assert shop.api.last_form["line_items[0][price_data][unit_amount]"] == "4000"

    async def test_a_tier_without_a_price_at_the_processor_can_be_given(self, shop: Shop) -> None:
        tier = await shop.tenant.create("tiers", {**TIER, "payment_price_id": ""})
        next_address(await buy(shop, tier=tier["id"]))

    @pytest.mark.parametrize(
        "form",
        [
            {"tier": ""},
            {"tier": "no id"},
            {"months": ""},
            {"months": "0"},
            {"months": "2"},
            {"months": "-1"},
            {"months": "3.0"},
            {"months": "\u0663"},
            {"months": "9" * 5_000},
            {"email": "mira"},
            {"email": "mira@example.com, eve@example.com"},
            {"email": "mira@example.com\nBcc: eve@example.com"},
            {"email": f"{'m' * 300}@example.com"},
            {"send_on": "2026-02-30"},
            {"send_on": "20271224"},
            {"send_on": "2027-W01-1"},
            {"send_on": "tomorrow"},
            {"send_on": "1999-12-31"},
            {"send_on": "9999-12-31"},
        ],
        ids=repr,
    )
    async def test_a_wrong_form_is_shown_again(self, shop: Shop, form: dict[str, str]) -> None:
        page = await buy(shop, **form)
        assert page.status_code == 422
        assert "That did not work" in page.text
        (name,) = form
        assert f'<a class="link" href="#{name}">' in page.text
        assert shop.api.calls == []

    async def test_the_days_are_those_of_the_sites_time_zone(self, shop: Shop) -> None:
        await shop.tenant.settings(time_zone="Pacific/Kiritimati")
        today = (shop.tenant.world.clock() + timedelta(hours=14)).date()
        for days, status in ((-1, 422), (0, 200), (1, 200), (365, 200), (366, 422)):
            day = today + timedelta(days=days)
            assert (await buy(shop, send_on=day.isoformat())).status_code == status, days

    async def test_today_is_at_once(self, shop: Shop) -> None:
        today = shop.tenant.world.clock().date().isoformat()
        next_address(await buy(shop, send_on=today))
        assert "metadata[gift_on]" not in shop.api.last_form

    async def test_what_is_not_on_sale_is_not_found(
        self, shop: Shop, other_tenant: TenantWorld
    ) -> None:
        others = await other_tenant.create("tiers", TIER)
        hidden = await shop.tenant.create("tiers", {**TIER, "active": False})
        for tier in (others["id"], hidden["id"], "abcdefghij01234"):
            assert (await buy(shop, tier=tier)).status_code == 404
        assert shop.api.calls == []

    async def test_without_a_payment_key_or_tiers_there_are_no_gifts(self, shop: Shop) -> None:
        async def statuses() -> set[int]:
            reader = shop.reader()
            sent = await reader.post(GIFT, data=MONTH, headers=OWN)
            return {(await reader.get(GIFT)).status_code, sent.status_code}

        assert await statuses() == {200, 422}
        await shop.tenant.update("tiers", shop.tier["id"], {"active": False})
        assert await statuses() == {404}
        await shop.tenant.update("tiers", shop.tier["id"], {"active": True})
        await shop.tenant.settings(member_payment_secret_key="")
        assert await statuses() == {404}
        assert (await shop.reader().get(REDEEM)).status_code == 404
        assert GIFT not in (await shop.reader().get(TIERS)).text

    async def test_a_double_click_opens_one_checkout_and_a_new_form_another(
        self, shop: Shop
    ) -> None:
        guest = shop.reader()
        first, again = [await buy(shop, by=guest, order="one") for _ in range(2)]
        assert next_address(first) == next_address(again)
        first, other = [await buy(shop, by=guest) for _ in range(2)]
        assert next_address(first) != next_address(other)

    async def test_two_buyers_never_share_a_checkout(self, shop: Shop, member: Account) -> None:
        first, second = await buy(shop, order="one"), await buy(shop, member, order="one")
        assert next_address(first) != next_address(second)

    async def test_a_guest_can_not_make_the_service_call_without_end(
        self, shop: Shop, member: Account
    ) -> None:
        guest = shop.reader()
        statuses = [(await buy(shop, by=guest)).status_code for _ in range(11)]
        assert statuses == [200] * 10 + [429]
        next_address(await buy(shop, member))

    async def test_the_form_of_another_site_is_refused(self, shop: Shop, member: Account) -> None:
        form = {"tier": shop.tier["id"], "months": "1"}
        foreign = {"sec-fetch-site": "cross-site"}
        sent = await shop.reader().post(GIFT, data=form, headers=foreign)
        bare = await shop.reader(member).post(GIFT, data=form, headers=OWN)
        assert (sent.status_code, bare.status_code) == (403, 403)

    async def test_a_processor_that_refuses_is_a_clear_page(self, shop: Shop) -> None:
        shop.api.receiver.next(refuses(400, code="amount_too_large"))
        page = await buy(shop)
        assert page.status_code == 502
        assert "Nothing was charged" in page.text

    async def test_coming_back_from_the_payment_shows_no_code(self, shop: Shop) -> None:
        page = await shop.reader().get(f"{GIFT}?bought=1")
        assert page.status_code == 200
        assert "We email the code" in page.text


async def gift(shop: Shop, months: int = 1, **values: Any) -> str:
    """A code that was paid."""
    metadata = {"gift_months": str(months)}
    payment = f"pi_{len(await Processor(shop.tenant).find('gift_cards'))}"
    event = gift_bought(shop.tier["id"], payment_intent=payment, metadata=metadata)
    await Processor(shop.tenant).send(event)
    card = await Processor(shop.tenant).one("gift_cards", payment_id=payment)
    if values:
        await shop.tenant.update("gift_cards", card["id"], values)
    return str(card["code"])


async def redeem(shop: Shop, account: Account, code: str) -> httpx.Response:
    form = {"form_token": await _token(shop, account), "code": code}
    return await shop.reader(account).post(REDEEM, data=form, headers=OWN)


async def stored(shop: Shop, account: Account) -> dict[str, Any]:
    return await Processor(shop.tenant).one("blog_members", id=account.id)


async def at(shop: Shop, member: Account, moment: str) -> Account:
    """The member at a later time, who has signed in again."""
    world = shop.tenant.world
    world.clock.moment = datetime.fromisoformat(moment)
    record = await stored(shop, member)
    return await world.signed_in(world.collection("blog_members"), record, shop.tenant.host)


@pytest.fixture
def processor(shop: Shop) -> Processor:
    return Processor(shop.tenant)


class TestRedeeming:
    async def test_a_code_makes_a_member_paid_until_a_month_later(
        self, shop: Shop, member: Account, processor: Processor
    ) -> None:
        post = await shop.tenant.published(visibility="paid", content_html="<p>Behind it.</p>")
        code = await gift(shop)
        member = await at(shop, member, "2027-01-31T10:00:00Z")
        moved = await redeem(shop, member, code)
        assert (moved.status_code, moved.headers["location"]) == (303, f"{ACCOUNT}?done=gift")
        after = await stored(shop, member)
        assert (after["tier"], after["status"], after["tier_id"]) == (
            "paid",
            "active",
            shop.tier["id"],
        )
        assert after["access_until"] == "2027-02-28T10:00:00.000Z"
        card = await processor.one("gift_cards")
        assert (card["redeemed"], card["redeemed_by"]) == (True, member.id)
        assert card["redeemed_at"] == "2027-01-31T10:00:00.000Z"
        reader = shop.reader(member)
        assert "Behind it." in (await reader.get(f"/posts/{post['slug']}")).text
        page = (await reader.get(f"{ACCOUNT}?done=gift")).text
        assert "Your gift is redeemed" in page
        assert "You were given access until 28 February 2027." in page

    async def test_redeeming_is_an_event_without_the_code(
        self, shop: Shop, member: Account
    ) -> None:
        code = await gift(shop)
        await redeem(shop, member, code)
        events = dict(await shop.tenant.events())
        payload = events["gift_card.redeemed"]
        assert payload["redeemed_by"] == member.id
        assert (payload["tier_id"], payload["months"]) == (shop.tier["id"], 1)
        assert code not in str(payload)
        assert "member.tier_changed" in events

    @pytest.mark.parametrize(
        ("moment", "months", "until"),
        [
            ("2027-01-31T10:00:00Z", 1, "2027-02-28T10:00:00.000Z"),
            ("2028-01-31T10:00:00Z", 1, "2028-02-29T10:00:00.000Z"),
            ("2027-08-31T23:59:59Z", 6, "2028-02-29T23:59:59.000Z"),
            ("2028-02-29T00:00:00Z", 12, "2029-02-28T00:00:00.000Z"),
            ("2027-12-31T10:00:00Z", 12, "2028-12-31T10:00:00.000Z"),
            ("2027-10-31T10:00:00Z", 1, "2027-11-30T10:00:00.000Z"),
            ("2027-11-30T10:00:00Z", 3, "2028-02-29T10:00:00.000Z"),
        ],
    )
    async def test_months_end_on_the_same_day_or_the_months_last(
        self, shop: Shop, member: Account, moment: str, months: int, until: str
    ) -> None:
        code = await gift(shop, months)
        member = await at(shop, member, moment)
        await redeem(shop, member, code)
        assert (await stored(shop, member))["access_until"] == until

    async def test_gifted_time_that_is_left_is_kept(self, shop: Shop, member: Account) -> None:
        first, second = await gift(shop), await gift(shop, 3)
        member = await at(shop, member, "2027-03-15T10:00:00Z")
        await redeem(shop, member, first)
        await redeem(shop, member, second)
        assert (await stored(shop, member))["access_until"] == "2027-07-15T10:00:00.000Z"

    async def test_gifted_time_that_is_over_is_not(self, shop: Shop, member: Account) -> None:
        first, second = await gift(shop), await gift(shop)
        member = await at(shop, member, "2027-03-15T10:00:00Z")
        await redeem(shop, member, first)
        # Whether or not a worker has ended it since.
        member = await at(shop, member, "2027-05-01T10:00:00Z")
        await redeem(shop, member, second)
        assert (await stored(shop, member))["access_until"] == "2027-06-01T10:00:00.000Z"

    async def test_a_code_works_once(self, shop: Shop, member: Account) -> None:
        code, other = await gift(shop), await shop.tenant.member()
        await redeem(shop, member, code)
        before = await stored(shop, member)
        used = await redeem(shop, other, code)
        assert used.status_code == 410
        assert "This code was redeemed before." in used.text
        again = await redeem(shop, member, code)
        assert again.status_code == 410
        assert "You have redeemed this code." in again.text
        assert await stored(shop, member) == before
        assert (await stored(shop, other))["tier"] == "free"

    async def test_of_two_at_the_same_instant_one_wins(self, shop: Shop) -> None:
        code = await gift(shop)
        members = [await shop.tenant.member() for _ in range(4)]
        answers = await asyncio.gather(*(redeem(shop, each, code) for each in members))
        assert sorted(each.status_code for each in answers) == [303, 410, 410, 410]
        tiers = [(await stored(shop, each))["tier"] for each in members]
        assert sorted(tiers) == ["free", "free", "free", "paid"]

    async def test_a_code_is_found_however_it_is_typed(self, shop: Shop) -> None:
        for typed in (str.lower, lambda code: f" {code.replace('-', ' ')} "):
            code, member = await gift(shop), await shop.tenant.member()
            assert (await redeem(shop, member, typed(code))).status_code == 303

    async def test_an_owners_own_code_works_too(self, shop: Shop, member: Account) -> None:
        values = {"code": "Harbour-2027", "kind": "membership", "months": 2}
        await shop.tenant.create("gift_cards", values)
        assert (await redeem(shop, member, "Harbour-2027")).status_code == 303
        after = await stored(shop, member)
        assert (after["tier"], after["tier_id"]) == ("paid", "")

    async def test_unknown_codes_are_not_found(
        self, shop: Shop, member: Account, other_tenant: TenantWorld
    ) -> None:
        await shop.tenant.create("gift_cards", {"code": "GIFT-1", "amount": 500})
        await other_tenant.create(
            "gift_cards", {"code": "GIFT-2", "kind": "membership", "months": 1}
        )
        for code in ("GIFT-1", "GIFT-2", "'", "x" * 5_000):
            page = await redeem(shop, member, code)
            assert page.status_code == 404, code
            assert "There is no such code." in page.text
            shop.tenant.world.clock.advance(minutes=5)
        assert (await redeem(shop, member, " ")).status_code == 422

    async def test_a_refunded_gift_is_void(
        self, shop: Shop, member: Account, processor: Processor
    ) -> None:
        code = await gift(shop)
        await processor.send(refunded(payment_intent="pi_0"))
        page = await redeem(shop, member, code)
        assert page.status_code == 410
        assert "was refunded" in page.text
        assert (await stored(shop, member))["tier"] == "free"

    async def test_a_partly_refunded_one_is_not(
        self, shop: Shop, member: Account, processor: Processor
    ) -> None:
        code = await gift(shop)
        await processor.send(refunded(500, payment_intent="pi_0"))
        assert (await redeem(shop, member, code)).status_code == 303

    @pytest.mark.parametrize("status", ["active", "trialing", "past_due"])
    async def test_who_has_a_subscription_keeps_the_code(
        self, shop: Shop, member: Account, processor: Processor, status: str
    ) -> None:
        code, ours = await gift(shop), {"metadata": {"member_id": member.id}}
        form = {"form_token": await _token(shop, member), "code": code}
        await processor.send(joined(**ours), subscription(status, JUNE + 1, **ours))
        page = await shop.reader(member).post(REDEEM, data=form, headers=OWN)
        assert page.status_code == 409
        assert "Keep the code" in page.text
        assert not (await processor.one("gift_cards"))["redeemed"]
        assert (await stored(shop, member))["access_until"] == ""
        await processor.send(ended(JUNE + 2, **ours))
        assert (await redeem(shop, member, code)).status_code == 303
        after = await stored(shop, member)
        assert (after["tier"], after["status"]) == ("paid", "active")

    async def test_who_is_paid_without_an_end_keeps_the_code(
        self, shop: Shop, member: Account
    ) -> None:
        code = await gift(shop)
        form = {"form_token": await _token(shop, member), "code": code}
        await shop.tenant.update("blog_members", member.id, {"tier": "paid"})
        page = await shop.reader(member).post(REDEEM, data=form, headers=OWN)
        assert page.status_code == 409
        assert (await stored(shop, member))["access_until"] == ""

    async def test_a_guest_signs_in_first_and_comes_back_with_the_code(self, shop: Shop) -> None:
        code = await gift(shop)
        reader = shop.reader()
        moved = await reader.post(REDEEM, data={"code": code}, headers=OWN)
        assert moved.status_code == 303
        back = f"/member/sign-in?back=/member/redeem%3Fcode%3D{code}"
        assert moved.headers["location"] == back
        page = (await reader.get(f"{REDEEM}?code={code}")).text
        assert f'name="back" value="/member/redeem?code={code}"' in page
        assert not (await Processor(shop.tenant).one("gift_cards"))["redeemed"]

    async def test_opening_the_mailed_link_redeems_nothing(
        self, shop: Shop, member: Account
    ) -> None:
        code = await gift(shop)
        page = await shop.reader(member).get(f"{REDEEM}?code={code}")
        assert f'value="{code}"' in page.text
        assert (await stored(shop, member))["tier"] == "free"

    async def test_codes_can_not_be_guessed_without_end(self, shop: Shop, member: Account) -> None:
        code = await gift(shop)
        statuses = [(await redeem(shop, member, "WRONG")).status_code for _ in range(6)]
        assert statuses == [404] * 5 + [429]
        assert (await redeem(shop, member, code)).status_code == 429
        await shop.tenant.settings(language="fr")
        refused = await redeem(shop, member, code)
        assert "Vous avez essayé trop souvent." in refused.text
        shop.tenant.world.clock.advance(minutes=2)
        assert (await redeem(shop, member, code)).status_code == 303

    async def test_nor_by_many_accounts_of_one_network(self, shop: Shop) -> None:
        statuses = []
        for _ in range(6):
            member = await shop.tenant.member()
            form = {"form_token": await _token(shop, member), "code": "WRONG"}
            reader = shop.tenant.world.client(
                shop.tenant.host, token=member.token, address="203.0.113.9", app=shop.app
            )
            statuses.append((await reader.post(REDEEM, data=form, headers=OWN)).status_code)
        assert statuses == [404] * 5 + [429]

    async def test_a_tier_that_is_no_longer_sold_is_still_given(
        self, shop: Shop, member: Account
    ) -> None:
        code, token = await gift(shop), await _token(shop, member)
        await shop.tenant.update("tiers", shop.tier["id"], {"active": False})
        form = {"form_token": token, "code": code}
        moved = await shop.reader(member).post(REDEEM, data=form, headers=OWN)
        assert moved.status_code == 303
        assert (await stored(shop, member))["tier_id"] == shop.tier["id"]


async def _token(shop: Shop, member: Account) -> str:
    page = (await shop.reader(member).get(REDEEM)).text
    found = re.search(r'name="form_token" value="(\w+)"', page)
    assert found
    return found[1]


class TestLinks:
    async def test_account_and_tiers_lead_to_both(self, shop: Shop, member: Account) -> None:
        for path in (ACCOUNT, TIERS):
            page = (await shop.reader(member).get(path)).text
            assert f'href="{GIFT}"' in page
            assert f'href="{REDEEM}"' in page
        await shop.tenant.settings(member_payment_secret_key="")
        for path in (ACCOUNT, TIERS):
            page = (await shop.reader(member).get(path)).text
            assert f'href="{GIFT}"' not in page
            assert f'href="{REDEEM}"' not in page
