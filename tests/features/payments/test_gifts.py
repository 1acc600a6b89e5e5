"""Gift memberships: the code that a payment makes, its email, and refunds."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest
from tests.features.payments.processor import (
    JUNE,
    Event,
    Processor,
    gift_bought,
    new_processor,
    refunded,
)
from tests.features.privacy.requests import run_jobs
from tests.outside.mail.offices import Office, office, office_world, text_of
from tests.world import TenantWorld

__all__ = ["office", "office_world"]

TIER = {"name": "Harbour", "price": 400, "currency": "usd"}


@pytest.fixture
async def tier_id(processor: Processor) -> str:
    return str((await processor.tenant.create("tiers", TIER))["id"])


async def issued(tenant: TenantWorld) -> list[dict[str, Any]]:
    return [payload for name, payload in await tenant.events() if name == "gift_card.issued"]


class TestCode:
    async def test_a_paid_gift_makes_one_code(self, processor: Processor, tier_id: str) -> None:
        paid = gift_bought(tier_id, metadata={"gift_to": "Mira@Example.com"})
        again = gift_bought(tier_id) | {"type": "checkout.session.async_payment_succeeded"}
        await processor.send(paid, paid, again)
        card = await processor.one("gift_cards")
        assert (card["kind"], card["tier_id"], card["months"]) == ("membership", tier_id, 3)
        assert (card["amount"], card["currency"]) == (1900, "usd")
        assert (card["email"], card["buyer_email"]) == ("mira@example.com", "buyer@example.com")
        assert (card["redeemed"], card["voided_at"], card["payment_id"]) == (False, "", "pi_1")
        assert await processor.find("orders") == []

    async def test_issuing_one_is_an_event_without_the_code(
        self, processor: Processor, tier_id: str
    ) -> None:
        await processor.send(gift_bought(tier_id))
        card = await processor.one("gift_cards")
        (payload,) = await issued(processor.tenant)
        assert payload["gift_card_id"] == card["id"]
        assert (payload["kind"], payload["tier_id"], payload["months"]) == (
            "membership",
            tier_id,
            3,
        )
        assert card["code"] not in str(payload)

    async def test_two_codes_have_nothing_in_common(
        self, processor: Processor, tier_id: str
    ) -> None:
        await processor.send(gift_bought(tier_id), gift_bought(tier_id, payment_intent="pi_2"))
        first, second = [each["code"] for each in await processor.find("gift_cards")]
        assert len(first) == len(second) == 19
        assert not set(first.split("-")) & set(second.split("-"))

    async def test_a_payment_that_has_not_arrived_makes_none(
        self, processor: Processor, tier_id: str
    ) -> None:
        waiting = gift_bought(tier_id, payment_status="unpaid")
        await processor.send(waiting)
        assert await processor.find("gift_cards") == []
        paid = gift_bought(tier_id) | {"type": "checkout.session.async_payment_succeeded"}
        await processor.send(paid, waiting)
        await processor.one("gift_cards")

    async def test_a_tier_that_is_gone_still_makes_one(
        self, processor: Processor, tier_id: str
    ) -> None:
        await processor.send(gift_bought("t1i2e3r4g5o6n7e"), gift_bought("'", payment_intent="p"))
        cards = await processor.find("gift_cards")
        assert [each["tier_id"] for each in cards] == ["", ""]

    @pytest.mark.parametrize("months", ["0", "2", "-3", "3.0", "", "x", 3, None, [3]])
    async def test_months_that_are_not_sold_make_none(
        self, processor: Processor, tier_id: str, months: Any
    ) -> None:
        await processor.send(gift_bought(tier_id, metadata={"gift_months": months}))
        assert await processor.find("gift_cards") == []

    async def test_values_that_this_service_did_not_write_do_no_harm(
        self, processor: Processor, tier_id: str
    ) -> None:
        odd = {"gift_to": "no address", "gift_on": "2026-13-45"}
        await processor.send(gift_bought(tier_id, metadata=odd))
        card = await processor.one("gift_cards")
        assert (card["email"], card["send_on"]) == ("", card["created"])


class TestRefund:
    @pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
    async def test_a_whole_refund_makes_it_void_in_any_order(
        self, processor: Processor, tier_id: str, order: tuple[int, ...]
    ) -> None:
        events: list[Event] = [
            gift_bought(tier_id),
            refunded(500, JUNE + 1),
            refunded(1900, JUNE + 2),
        ]
        for number in order:
            await processor.send(events[number])
        await processor.send(*events)
        assert (await processor.one("gift_cards"))["voided_at"]
        assert len(await issued(processor.tenant)) == 1

    async def test_a_part_changes_nothing(self, processor: Processor, tier_id: str) -> None:
        part = refunded(500)
        await processor.send(gift_bought(tier_id))
        before = await processor.one("gift_cards")
        await processor.send(part)
        assert await processor.one("gift_cards") == before

    async def test_a_gift_that_was_redeemed_stays(self, processor: Processor, tier_id: str) -> None:
        await processor.send(gift_bought(tier_id))
        card = await processor.one("gift_cards")
        await processor.tenant.update("gift_cards", card["id"], {"redeemed": True})
        await processor.send(refunded(1900))
        assert (await processor.one("gift_cards"))["voided_at"] == ""


@pytest.fixture
async def mailed(office: Office) -> Processor:
    return await new_processor(office.world, site_name="Tideline")


async def buy(processor: Processor, **metadata: str) -> dict[str, Any]:
    tier = await processor.tenant.create("tiers", TIER)
    await processor.send(gift_bought(tier["id"], metadata=metadata))
    return await processor.one("gift_cards")


class TestEmail:
    async def test_the_buyer_gets_the_code(self, office: Office, mailed: Processor) -> None:
        card = await buy(mailed)
        (mail,) = await office.mails()
        assert mail["to"].addresses[0].addr_spec == "buyer@example.com"
        assert mail["subject"] == "Your gift at Tideline: the code"
        text = text_of(mail)
        assert card["code"] in text
        assert "3 months" in text
        assert f"http://{mailed.tenant.host}/member/redeem?code={card['code']}" in text
        assert (await mailed.one("gift_cards"))["sent_at"]

    async def test_the_person_that_it_is_for_gets_it_instead(
        self, office: Office, mailed: Processor
    ) -> None:
        card = await buy(mailed, gift_to="mira@example.com")
        (mail,) = await office.mails()
        assert mail["to"].addresses[0].addr_spec == "mira@example.com"
        text = text_of(mail)
        assert card["code"] in text
        assert "buyer@example.com gives you 3 months as a paid member of Tideline" in text

    async def test_it_waits_for_the_morning_of_the_day_in_the_sites_time_zone(
        self, office: Office, mailed: Processor
    ) -> None:
        await mailed.tenant.settings(time_zone="Pacific/Auckland")
        now = office.world.clock()
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        chosen = f"{day.year + 1}-01-10"
        await buy(mailed, gift_on=chosen)
        assert (await mailed.one("gift_cards"))["send_on"] == f"{day.year + 1}-01-09T19:00:00.000Z"
        morning = day.replace(year=day.year + 1, month=1, day=9, hour=19)
        office.world.clock.advance(seconds=int((morning - now).total_seconds()) - 60)
        assert await office.mails() == []
        office.world.clock.advance(minutes=2)
        assert len(await office.mails()) == 1

    async def test_it_waits_also_if_the_clock_is_put_back(
        self, office: Office, mailed: Processor
    ) -> None:
        day = office.world.clock().date().replace(month=12, day=31)
        await buy(mailed, gift_on=day.isoformat())
        await run_jobs(office.world, ahead=timedelta(days=365))
        assert await office.mails() == []
        office.world.clock.advance(days=365)
        assert len(await office.mails()) == 1

    async def test_a_refund_before_the_day_stops_it(
        self, office: Office, mailed: Processor
    ) -> None:
        day = office.world.clock().date().replace(month=12, day=31)
        await buy(mailed, gift_on=day.isoformat())
        await mailed.send(refunded(1900))
        office.world.clock.advance(days=365)
        assert await office.mails() == []

    async def test_a_job_that_runs_twice_sends_one(self, office: Office, mailed: Processor) -> None:
        card = await buy(mailed)
        assert len(await office.mails()) == 1
        # Another time has a job of its own; this one finds that the email was sent.
        at = office.world.clock().isoformat()
        await mailed.tenant.update("gift_cards", card["id"], {"send_on": at})
        office.world.clock.advance(days=1)
        assert len(await office.mails()) == 1

    async def test_a_gift_without_any_address_waits_for_the_owner(
        self, office: Office, mailed: Processor
    ) -> None:
        tier = await mailed.tenant.create("tiers", TIER)
        await mailed.send(gift_bought(tier["id"], customer_details=None))
        card = await mailed.one("gift_cards")
        assert (card["email"], card["buyer_email"], card["sent_at"]) == ("", "", "")
        assert await office.mails() == []

    async def test_an_amount_is_not_mailed(self, office: Office, mailed: Processor) -> None:
        values = {"code": "GIFT-1", "email": "mira@example.com", "amount": 500}
        await mailed.tenant.create("gift_cards", values)
        assert await office.mails() == []
