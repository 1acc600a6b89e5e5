"""Payments, an offer, gifts, refunds and given access end in one state, whatever their order."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.features.payments.processor import (
    JUNE,
    Event,
    Processor,
    ended,
    failed,
    gift_bought,
    joined,
    new_processor,
    refunded,
    subscription,
)
from tests.tiers import rounds
from tests.world import START, World

from masthead.base import clock
from masthead.base.caller import system
from masthead.features.payments.access import give_access
from masthead.features.payments.redemption import redeem

OFFER, TIER_ID, HARBOUR = "winteroffer1234", "tiersupporter12", "tierharbourmast"
TIER = {"name": "Supporter", "price": 500, "currency": "usd"}
NAMED = {"metadata": {"offer_id": OFFER}}
KEPT, PARTLY, REFUNDED = "pi_kept", "pi_partly", "pi_refunded"


def a_gift(payment: str, months: int) -> Event:
    metadata = {"gift_months": str(months)}
    return gift_bought(HARBOUR, payment_intent=payment, metadata=metadata)


def lifecycle() -> list[Event]:
    return [
        subscription("trialing", JUNE, "created", **NAMED),
        joined(JUNE, **NAMED),
        subscription("active", JUNE + 60, **NAMED),
        failed(JUNE + 120),
        ended(JUNE + 180),
        a_gift(KEPT, 3),
        a_gift(PARTLY, 6),
        refunded(500, payment_intent=PARTLY),
        a_gift(REFUNDED, 12),
        refunded(500, payment_intent=REFUNDED),
        refunded(1900, payment_intent=REFUNDED),
    ]


EVENTS = lifecycle()


async def try_gift(processor: Processor, payment: str) -> None:
    """Redeems a gift, if that is possible by now."""
    member = await processor.one("blog_members")
    for card in await processor.find("gift_cards", payment_id=payment):
        async with processor.world.parts.records.unit(system(processor.tenant.id)) as unit:
            await redeem(unit, member["id"], card["code"])


async def run(world: World, steps: list[Event | str], given_days: int) -> dict[str, Any]:
    processor = await new_processor(world)
    tenant = processor.tenant
    for tier_id, price in ((TIER_ID, 500), (HARBOUR, 900)):
        await tenant.create("tiers", TIER | {"id": tier_id, "price": price})
    trial = {"id": OFFER, "code": "try", "tier": TIER_ID, "kind": "trial_days", "value": 30}
    await tenant.create("offers", trial)
    member = await tenant.create("blog_members", {"email": "reader@example.com"})
    if given_days:
        until = clock.to_text(world.clock() + timedelta(days=given_days))
        async with world.parts.records.unit(system(tenant.id)) as unit:
            await give_access(unit, member["id"], until=until, tier_id=TIER_ID)
    for step in steps:
        if isinstance(step, str):
            await try_gift(processor, step)
        else:
            await processor.send(step)
    for payment in (KEPT, PARTLY, REFUNDED):
        await try_gift(processor, payment)
    after = await processor.one("blog_members")
    cards = await processor.find("gift_cards")
    events = await tenant.event_names()
    return {
        "member": [after[name] for name in ("tier", "tier_id", "status")],
        # The clock moves on by a second with each record that is made.
        "until": after["access_until"][:10],
        "cards": {
            each["payment_id"]: (each["redeemed"], bool(each["voided_at"])) for each in cards
        },
        "uses": (await processor.one("offers"))["uses"],
        "told": [events.count(f"gift_card.{name}") for name in ("issued", "redeemed")],
    }


@settings(
    max_examples=rounds(4, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.permutations(EVENTS),
    st.lists(st.sampled_from(EVENTS), max_size=5),
    st.lists(st.sampled_from([KEPT, PARTLY]), max_size=4),
    st.sampled_from([0, 10]),
    st.randoms(use_true_random=False),
)
async def test_any_order_of_everything_that_makes_a_member_paid_ends_the_same(
    app: World,
    order: list[Event],
    repeats: list[Event],
    tries: list[str],
    given_days: int,
    chance: Any,
) -> None:
    app.clock.moment = START
    mixed: list[Event | str] = [
        each for pair in itertools.zip_longest(order, repeats) for each in pair if each
    ]
    for each in tries:
        mixed.insert(chance.randint(0, len(mixed)), each)
    assert await run(app, mixed, given_days) == {
        "member": ["paid", HARBOUR, "active"],
        "until": "2027-08-24" if given_days else "2027-08-14",
        "cards": {KEPT: (True, False), PARTLY: (True, False), REFUNDED: (False, True)},
        "uses": 1,
        "told": [3, 2],
    }
