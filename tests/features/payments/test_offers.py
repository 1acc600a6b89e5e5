"""Offers and the processor's events: a use counts once for each subscription that was bought."""

from __future__ import annotations

import pytest
from tests.features.payments.processor import (
    JUNE,
    Event,
    Processor,
    ended,
    failed,
    joined,
    subscription,
)
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.engine.records.collection import Record
from masthead.features.payments.reconcile import Reconciliation
from masthead.service.schema import tables

DAY = 86_400


@pytest.fixture
async def offer(processor: Processor) -> Record:
    tier = {"name": "Supporter", "price": 500, "currency": "usd"}
    sold = await processor.tenant.create("tiers", tier)
    terms = {"code": "try", "tier": sold["id"], "kind": "trial_days", "value": 14}
    return await processor.tenant.create("offers", terms)


async def uses(processor: Processor) -> int:
    return int((await processor.one("offers"))["uses"])


def with_offer(offer_id: str) -> dict[str, dict[str, str]]:
    return {"metadata": {"offer_id": offer_id}}


def bought_with(offer: Record) -> list[Event]:
    named = with_offer(offer["id"])
    return [
        joined(**named),
        subscription("incomplete", kind="created", **named),
        subscription("active", **named),
        subscription("active", JUNE + DAY, **named),
    ]


@pytest.mark.parametrize("is_reversed", [False, True])
async def test_a_use_counts_once_whatever_events_are_repeated(
    processor: Processor, offer: Record, is_reversed: bool
) -> None:
    events = bought_with(offer)
    if is_reversed:
        events.reverse()
    await processor.send(*events, *events, *bought_with(offer))
    assert await uses(processor) == 1
    assert (await processor.one("payment_subscriptions"))["offer_id"] == offer["id"]
    second = {"customer": "cus_2", "subscription": "sub_2", "id": "cs_2"}
    await processor.send(joined(**second, **with_offer(offer["id"])))
    assert await uses(processor) == 2


async def test_what_was_not_bought_does_not_count(processor: Processor, offer: Record) -> None:
    named = with_offer(offer["id"])
    await processor.send(
        joined(payment_status="unpaid", **named),
        subscription("incomplete", kind="created", **named),
        subscription("incomplete_expired", JUNE + DAY, **named),
        subscription("past_due", id="sub_2", **named),
    )
    assert await uses(processor) == 0


async def test_one_that_ended_before_its_first_event_arrives_counts_as_well(
    processor: Processor, offer: Record
) -> None:
    named = with_offer(offer["id"])
    await processor.send(ended(JUNE + DAY, **named))
    assert await uses(processor) == 0
    await processor.send(subscription("trialing", JUNE, "created", **named))
    assert await uses(processor) == 1


@pytest.mark.parametrize("named", ["", "abcdefghij12345", "'; --", "x" * 300])
async def test_an_offer_that_is_not_there_changes_nothing(
    processor: Processor, offer: Record, named: str
) -> None:
    await processor.send(joined(**with_offer(named)))
    assert await uses(processor) == 0
    assert (await processor.one("payment_subscriptions"))["offer_id"] == ""
    assert await processor.state() == "paid/active"


async def test_the_offer_of_another_site_is_not_counted(
    processor: Processor, offer: Record, other_tenant: TenantWorld
) -> None:
    tier = {"name": "Supporter", "price": 500, "currency": "usd"}
    sold = await other_tenant.create("tiers", tier)
    theirs = await other_tenant.create("offers", {"code": "try", "tier": sold["id"], "value": 5})
    await processor.send(joined(**with_offer(theirs["id"])))
    world = processor.world
    (kept,) = await world.parts.records.find(
        world.collection("offers"), {}, tenant_id=other_tenant.id, limit=10
    )
    assert (kept["uses"], await uses(processor)) == (0, 0)


async def test_a_deleted_offer_does_not_come_back_with_a_late_event(
    processor: Processor, offer: Record
) -> None:
    await processor.send(joined(**with_offer(offer["id"])))
    records = processor.world.parts.records
    caller = system(processor.tenant.id)
    await records.delete(caller, processor.world.collection("offers"), offer["id"])
    await processor.send(subscription("active", JUNE + DAY, **with_offer(offer["id"])))
    assert await processor.find("offers") == []
    assert await processor.state() == "paid/active"


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([], "paid/active"),
        ([subscription("active", JUNE + 14 * DAY)], "paid/active"),
        ([failed(JUNE + 14 * DAY)], "paid/past_due"),
        ([subscription("paused", JUNE + 14 * DAY)], "paid/past_due"),
        ([failed(JUNE + 14 * DAY), ended(JUNE + 20 * DAY)], "free/cancelled"),
        # Without a card, the checkout asks for the end with the trial.
        ([ended(JUNE + 14 * DAY)], "free/cancelled"),
    ],
)
async def test_a_trial_is_paid_access_until_it_ends_without_a_payment(
    processor: Processor, offer: Record, events: list[Event], state: str
) -> None:
    named = with_offer(offer["id"])
    begun = [
        joined(payment_status="no_payment_required", amount_total=0, **named),
        subscription("trialing", kind="created", **named),
    ]
    await processor.send(*begun)
    assert await processor.state() == "paid/active"
    await processor.send(*events, *begun)
    assert await processor.state() == state
    records = processor.world.parts.records
    report = await Reconciliation(records, tables).report_on(
        processor.tenant.id, processor.world.clock()
    )
    assert (report.members.count, await uses(processor)) == (0, 1)
