"""An offer on the reader's site, and the way from it to the payment, against a processor over a
real socket."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from tests.faces.reader.shop import ACCOUNT, OWN, TIER, TIERS, Shop, api, shop
from tests.faces.reader.test_checkout import next_address
from tests.features.payments.processor import Processor, joined
from tests.features.payments.processor_api import CHECKOUT, COUPONS, refuses
from tests.tls import cut_mid_answer
from tests.world import Account, TenantWorld

from masthead.base.caller import system
from masthead.engine.records.collection import Record

__all__ = ["api", "shop"]

PATH = "/member/offer/spring"
YEARLY = {**TIER, "name": "Patron", "price": 4400, "interval": "year"}


async def offered(shop: Shop, tier: Record | None = None, **values: Any) -> Record:
    """Half the price, unless the values are others."""
    terms = {"code": "spring", "tier": (tier or shop.tier)["id"], "kind": "percent", "value": 50}
    return await shop.tenant.create("offers", terms | values)


async def page_of(shop: Shop, account: Account | None = None, path: str = PATH) -> httpx.Response:
    return await shop.reader(account).get(path)


def words(page: httpx.Response) -> str:
    """The text of the page's middle, in one line."""
    main = page.text.split("<main", 1)[1].split("</main>", 1)[0]
    return " ".join(re.sub("<[^>]+>", " ", main).split())


async def take(shop: Shop, account: Account, path: str = PATH) -> httpx.Response:
    return await shop.post(account, path)


async def stored(shop: Shop, **equals: Any) -> Record:
    return await Processor(shop.tenant).one("offers", **equals)


class TestPage:
    @pytest.mark.parametrize(
        ("tier", "terms", "expected"),
        [
            (TIER, {}, "50% off Supporter ~ Usually £4 £2 a month For as long as you are a paid"),
            (TIER, {"months": 1}, "£2 a month For 1 month, then £4 a month."),
            (TIER, {"months": 3}, "£2 a month For 3 months, then £4 a month."),
            (TIER, {"value": 33}, "Usually £4 £2.68 a month"),
            (TIER, {"value": 100}, "Usually £4 £0 a month"),
            (TIER, {"kind": "amount", "value": 150}, "£1.50 off Supporter ~ £2.50 a month"),
            (TIER, {"kind": "amount", "value": 900}, "£0 a month"),
            (YEARLY, {"months": 3}, "£22 a year For 1 year, then £44 a year."),
            (YEARLY, {"months": 13}, "£22 a year For 2 years, then £44 a year."),
            (
                TIER,
                {"kind": "trial_days", "value": 14},
                "Try Supporter for 14 days ~ Free for 14 days Then £4 a month, unless you cancel",
            ),
            (TIER, {"kind": "trial_days", "value": 1}, "Free for 1 day Then"),
            (TIER, {"ends_at": "2027-01-01T12:00:00Z"}, "until 1 January 2027. You can cancel"),
        ],
    )
    async def test_it_says_what_is_paid_and_how_long(
        self, shop: Shop, tier: dict[str, Any], terms: dict[str, Any], expected: str
    ) -> None:
        await offered(shop, await shop.tenant.create("tiers", tier), **terms)
        page = await page_of(shop)
        assert page.status_code == 200
        assert page.headers["cache-control"] == "private, no-store"
        text, position = words(page), 0
        for part in expected.split(" ~ "):
            position = text.index(part, position) + len(part)

    async def test_a_code_is_the_same_in_upper_and_lower_case(self, shop: Shop) -> None:
        await offered(shop, code="Spring")
        for path in ("/member/offer/SPRING", "/member/offer/sPring", PATH):
            assert (await page_of(shop, path=path)).status_code == 200

    async def test_a_guest_joins_first_and_comes_back(self, shop: Shop, member: Account) -> None:
        await offered(shop)
        page = await page_of(shop)
        assert f'name="back" value="{PATH}"' in page.text
        assert f'action="{PATH}"' not in page.text
        for path in ("/member/sign-in", "/member/sign-up"):
            asked = await page_of(shop, path=f"{path}?back={PATH}")
            assert f'name="back" value="{PATH}"' in asked.text
        moved = await shop.reader().post(PATH, data={"form_token": ""}, headers=OWN)
        assert (moved.status_code, moved.headers["location"]) == (
            303,
            f"/member/sign-in?back={PATH}",
        )
        assert f'action="{PATH}"' in (await page_of(shop, member)).text
        assert shop.api.calls == []

    @pytest.mark.parametrize(
        ("terms", "title"),
        [
            ({"ends_at": "2026-01-01T00:00:00Z"}, "This offer has ended"),
            ({"max_uses": 1}, "This offer is used up"),
        ],
    )
    async def test_one_that_is_over_says_so(
        self, shop: Shop, member: Account, terms: dict[str, Any], title: str
    ) -> None:
        offer = await offered(shop, **terms)
        await Processor(shop.tenant).send(joined(metadata={"offer_id": offer["id"]}))
        for account in (None, member):
            page = await page_of(shop, account)
            assert page.status_code == 410
            assert title in page.text
            assert f'href="{TIERS}"' in page.text
        assert (await take(shop, member)).status_code == 410
        assert shop.api.calls == []

    async def test_it_ends_at_its_time(self, shop: Shop) -> None:
        clock = shop.tenant.world.clock
        await offered(shop, ends_at="2099-01-01T00:00:00Z")
        assert (await page_of(shop)).status_code == 200
        clock.advance(days=40_000)
        assert (await page_of(shop)).status_code == 410

    async def test_what_is_not_offered_is_not_found(
        self, shop: Shop, member: Account, other_tenant: TenantWorld
    ) -> None:
        hidden = await shop.tenant.create("tiers", {**TIER, "active": False})
        await offered(shop, active=False)
        await offered(shop, hidden, code="hidden")
        theirs = await other_tenant.create("tiers", TIER)
        await other_tenant.create("offers", {"code": "theirs", "tier": theirs["id"], "value": 5})
        long = "x" * 300
        for code in (
            "spring",
            "hidden",
            "theirs",
            "unknown",
            "a%20b",
            "%00",
            "%C3%A9",
            "%27",
            long,
        ):
            path = f"/member/offer/{code}"
            assert (await page_of(shop, path=path)).status_code == 404
            assert (await take(shop, member, path)).status_code == 404
        assert shop.api.calls == []

    async def test_a_site_that_sells_nothing_offers_nothing(self, shop: Shop) -> None:
        await offered(shop)
        await shop.tenant.settings(members_enabled=False)
        assert (await page_of(shop)).status_code == 404
        await shop.tenant.settings(members_enabled=True, deleted_at="2026-11-14 00:00:00Z")
        assert (await page_of(shop)).status_code == 404

    async def test_a_payment_page_takes_no_offers(self, shop: Shop, member: Account) -> None:
        values = {**TIER, "payment_price_id": "", "payment_url": "https://pay.example.com/b"}
        await offered(shop, await shop.tenant.create("tiers", values))
        page = await page_of(shop, member)
        assert "Payments are not possible at the moment." in page.text
        assert (await take(shop, member)).status_code == 404

    async def test_a_paid_member_is_not_sold_a_second_subscription(self, shop: Shop) -> None:
        await offered(shop)
        member = await shop.tenant.member()
        form = {"form_token": await _token(shop, member)}
        await shop.tenant.update("blog_members", member.id, {"tier": "paid"})
        assert "already a paid member" in (await page_of(shop, member)).text
        moved = await shop.reader(member).post(PATH, data=form, headers=OWN)
        assert (moved.status_code, moved.headers["location"]) == (303, ACCOUNT)
        assert shop.api.calls == []


async def _token(shop: Shop, member: Account) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', (await page_of(shop, member)).text)
    assert found
    return found[1]


class TestDiscount:
    async def test_the_checkout_has_the_coupon_of_the_offer(
        self, shop: Shop, member: Account
    ) -> None:
        offer = await offered(shop, months=3, max_uses=20, ends_at="2027-01-01T00:00:00Z")
        page = await take(shop, member)
        (path,) = shop.api.sessions
        assert next_address(page) == shop.api.receiver.url(path)
        assert [call.path for call in shop.api.calls] == [COUPONS, CHECKOUT]
        ((made, coupon),) = shop.api.coupons.items()
        assert coupon == {
            "id": made,
            "name": "spring",
            "percent_off": "50",
            "duration": "repeating",
            "duration_in_months": "3",
            "redeem_by": "1798761600",
            "max_redemptions": "20",
            "metadata[tenant_id]": shop.tenant.id,
            "metadata[offer_id]": offer["id"],
        }
        form = shop.api.last_form
        assert form["discounts[0][coupon]"] == made
        assert form["line_items[0][price]"] == "price_month"
        assert form["cancel_url"] == f"http://{shop.tenant.host}{PATH}"
        for kind in ("metadata", "subscription_data[metadata]"):
            assert form[f"{kind}[offer_id]"] == offer["id"]

    @pytest.mark.parametrize(
        ("tier", "terms", "expected"),
        [
            (TIER, {}, {"percent_off": "50", "duration": "forever"}),
            (TIER, {"months": 1}, {"duration": "once"}),
            (YEARLY, {"months": 12}, {"duration": "once"}),
            (YEARLY, {"months": 13}, {"duration": "repeating", "duration_in_months": "13"}),
            (TIER, {"kind": "amount", "value": 150}, {"amount_off": "150", "currency": "gbp"}),
        ],
    )
    async def test_the_coupon_says_what_the_offer_says(
        self,
        shop: Shop,
        member: Account,
        tier: dict[str, Any],
        terms: dict[str, Any],
        expected: dict[str, str],
    ) -> None:
        await offered(shop, await shop.tenant.create("tiers", tier), **terms)
        next_address(await take(shop, member))
        (coupon,) = shop.api.coupons.values()
        assert expected.items() <= coupon.items()
        assert coupon.keys().isdisjoint({"redeem_by", "max_redemptions"})

    async def test_the_processor_takes_no_end_that_is_far_away(
        self, shop: Shop, member: Account
    ) -> None:
        await offered(shop, ends_at="2099-01-01T00:00:00Z")
        next_address(await take(shop, member))
        (coupon,) = shop.api.coupons.values()
        assert "redeem_by" not in coupon

    async def test_all_members_share_one_coupon(self, shop: Shop, member: Account) -> None:
        await offered(shop)
        next_address(await take(shop, member))
        next_address(await take(shop, await shop.tenant.member()))
        assert [call.path for call in shop.api.calls] == [COUPONS, CHECKOUT, CHECKOUT]

    async def test_a_coupon_whose_id_was_not_stored_is_found_again(
        self, shop: Shop, member: Account
    ) -> None:
        """As after a crash, or in a second process."""
        offer = await offered(shop)
        next_address(await take(shop, member))
        records, clock = shop.tenant.world.parts.records, shop.tenant.world.clock
        collection = shop.tenant.world.collection("offers")
        async with records.unit(system(shop.tenant.id)) as unit:
            await unit.stamp(collection, await stored(shop), {"coupon_id": ""})
        clock.advance(days=2)
        next_address(await take(shop, await shop.tenant.member()))
        assert len(shop.api.coupons) == 1
        assert (await stored(shop))["coupon_id"] in shop.api.coupons
        assert (await stored(shop))["version"] == offer["version"]

    async def test_an_answer_that_was_lost_makes_no_second_coupon(
        self, shop: Shop, member: Account
    ) -> None:
        await offered(shop)
        shop.api.receiver.next(cut_mid_answer)
        assert (await take(shop, member)).status_code == 502
        next_address(await take(shop, member))
        assert len(shop.api.coupons) == 1

    async def test_a_coupon_of_another_account_is_made_again(
        self, shop: Shop, member: Account
    ) -> None:
        await offered(shop)
        next_address(await take(shop, member))
        shop.api.coupons.clear()
        shop.tenant.world.clock.advance(minutes=6)
        next_address(await take(shop, await shop.tenant.member()))
        assert len(shop.api.coupons) == 1

    @pytest.mark.parametrize(
        "change",
        [
            {"value": 20},
            {"kind": "amount"},
            {"months": 2},
            {"max_uses": 9},
            {"ends_at": "2027-01-01"},
        ],
    )
    async def test_changed_terms_are_another_coupon(
        self, shop: Shop, member: Account, change: dict[str, Any]
    ) -> None:
        offer = await offered(shop)
        next_address(await take(shop, member))
        first = shop.api.last_form["discounts[0][coupon]"]
        await shop.tenant.update("offers", offer["id"], change)
        next_address(await take(shop, await shop.tenant.member()))
        assert shop.api.last_form["discounts[0][coupon]"] != first
        assert len(shop.api.coupons) == 2

    async def test_a_new_coupon_can_be_used_as_often_as_is_left(
        self, shop: Shop, member: Account
    ) -> None:
        offer = await offered(shop, max_uses=5)
        await Processor(shop.tenant).send(joined(metadata={"offer_id": offer["id"]}))
        next_address(await take(shop, member))
        (coupon,) = shop.api.coupons.values()
        assert coupon["max_redemptions"] == "4"

    async def test_a_coupon_that_the_processor_counts_as_used_up_is_over(
        self, shop: Shop, member: Account
    ) -> None:
        await offered(shop)
        next_address(await take(shop, member))
        shop.tenant.world.clock.advance(minutes=6)
        shop.api.receiver.next(refuses(400, code="coupon_expired"))
        page = await take(shop, member)
        assert page.status_code == 410
        assert "This offer is used up" in page.text

    async def test_a_processor_that_makes_no_coupon_is_a_clear_page(
        self, shop: Shop, member: Account
    ) -> None:
        await offered(shop)
        shop.api.receiver.next(refuses(400, code="parameter_invalid_integer"))
        page = await take(shop, member)
        assert page.status_code == 502
        assert "Nothing was charged" in page.text
        next_address(await take(shop, member))


class TestTrial:
    async def test_the_checkout_charges_after_the_days_of_the_offer(
        self, shop: Shop, member: Account
    ) -> None:
        offer = await offered(shop, kind="trial_days", value=14)
        next_address(await take(shop, member))
        assert [call.path for call in shop.api.calls] == [CHECKOUT]
        form = shop.api.last_form
        assert form["subscription_data[trial_period_days]"] == "14"
        end = "subscription_data[trial_settings][end_behavior][missing_payment_method]"
        assert form[end] == "cancel"
        assert form["metadata[offer_id]"] == offer["id"]
        assert "discounts[0][coupon]" not in form

    async def test_a_member_tries_a_tier_once(self, shop: Shop, member: Account) -> None:
        offer = await offered(shop, kind="trial_days", value=14)
        metadata = {"offer_id": offer["id"], "member_id": member.id}
        processor = Processor(shop.tenant)
        await processor.send(joined(metadata=metadata))
        await shop.tenant.update("blog_members", member.id, {"tier": "free"})
        assert "You have tried this tier before" in (await page_of(shop, member)).text
        moved = await take(shop, member)
        assert (moved.status_code, moved.headers["location"]) == (303, PATH)
        assert shop.api.calls == []
        assert (await page_of(shop, await shop.tenant.member())).text.count("Start the trial") == 1


async def test_from_the_offer_to_the_text_of_a_paid_post(shop: Shop, member: Account) -> None:
    post = await shop.tenant.published(visibility="paid", content_html="<p>Behind it.</p>")
    await offered(shop, max_uses=1)
    next_address(await take(shop, member))
    prefix, form = "metadata[", shop.api.last_form
    metadata = {
        name[len(prefix) : -1]: value for name, value in form.items() if name.startswith(prefix)
    }
    assert (await stored(shop))["uses"] == 0
    await Processor(shop.tenant).send(joined(metadata=metadata))
    assert "Behind it." in (await page_of(shop, member, f"/posts/{post['slug']}")).text
    assert (await stored(shop))["uses"] == 1
    assert (await page_of(shop)).status_code == 410
