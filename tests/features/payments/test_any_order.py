"""Shuffled and repeated events end in the same state."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.features.payments.processor import (
    JUNE,
    Event,
    Processor,
    bought,
    ended,
    failed,
    joined,
    new_processor,
    refunded,
    subscription,
)
from tests.tiers import rounds
from tests.world import World

from masthead.features.payments.subscription_state import (
    MEMBER_STATUS,
    MemberOutcome,
    SubscriptionState,
    member_outcome,
    state_from_status,
)

MONTH = 2_592_000
OFFER = "springoffer1234"
TIER = {"name": "Supporter", "price": 500, "currency": "usd"}


def lifecycle() -> list[Event]:
    """A year with a failed payment, an end, and a new subscription of a new customer, with an offer
    and a trial; much of it within the same second, which is as fine as the processor counts."""
    named = {"metadata": {"offer_id": OFFER}}
    second = {"customer": "cus_2", "id": "sub_2", **named}
    return [
        subscription("incomplete", JUNE, "created"),
        subscription("active", JUNE),
        joined(JUNE),
        failed(JUNE + MONTH),
        subscription("past_due", JUNE + MONTH),
        subscription("active", JUNE + MONTH + 60),
        failed(JUNE + 2 * MONTH, subscription=None),
        subscription("active", JUNE + 2 * MONTH),
        ended(JUNE + 2 * MONTH),
        failed(JUNE + 2 * MONTH + 1),
        joined(JUNE + 3 * MONTH, customer="cus_2", subscription="sub_2", id="cs_3", **named),
        subscription("incomplete", JUNE + 3 * MONTH, "created", **second),
        subscription("trialing", JUNE + 3 * MONTH, **second),
        subscription("past_due", JUNE + 4 * MONTH, **second),
        bought(JUNE),
        refunded(500, JUNE + 1),
        refunded(1900, JUNE + 2),
    ]


YEAR = lifecycle()


async def process(world: World, order: list[Event]) -> dict[str, Any]:
    processor = await new_processor(world)
    tier = await processor.tenant.create("tiers", TIER)
    trial = {"id": OFFER, "code": "try", "tier": tier["id"], "kind": "trial_days", "value": 30}
    await processor.tenant.create("offers", trial)
    await processor.send(*order)
    member = await processor.one("blog_members")
    bill = await processor.one("orders")
    kept = await processor.find("payment_subscriptions")
    return {
        "member": {name: member[name] for name in ("tier", "status", "payment_customer_id")},
        "uses": (await processor.one("offers"))["uses"],
        "order": {name: bill[name] for name in ("status", "refunded_amount", "total")},
        "subscriptions": {
            each["payment_subscription_id"]: (
                each["status"],
                each["event_created"],
                each["tier"],
                bool(each["member_id"]),
                each["offer_id"],
            )
            for each in kept
        },
        "customers": {each["payment_customer_id"] for each in await _customers(processor)},
    }


async def _customers(processor: Processor) -> list[Any]:
    return await processor.find("payment_customers")


@pytest.fixture
async def end(app: World) -> dict[str, Any]:
    return await process(app, YEAR)


async def test_events_in_order_end_in_the_expected_state(end: dict[str, Any]) -> None:
    assert end["member"] == {
        "tier": "paid",
        "status": "past_due",
        "payment_customer_id": "cus_2",
    }
    assert end["order"]["status"] == "refunded"
    assert end["uses"] == 1


@settings(
    max_examples=rounds(5, 90),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.permutations(YEAR), st.lists(st.sampled_from(YEAR), max_size=6))
async def test_any_order_with_repeats_ends_the_same(
    app: World, end: dict[str, Any], order: list[Event], repeats: list[Event]
) -> None:
    # Repeats are put between the others too, not just after them.
    mixed = [each for pair in itertools.zip_longest(order, repeats) for each in pair if each]
    assert await process(app, mixed) == end


moments = st.integers(0, 1).map(lambda second: f"2026-01-01T00:00:0{second}.000Z")
drawn_state = st.builds(
    state_from_status, st.sampled_from([*MEMBER_STATUS, "incomplete", "new"]), moments
)
failures = st.builds(SubscriptionState, failed_at=moments)
subscription_updates = st.tuples(
    st.sampled_from([("sub_1", "cus_1"), ("sub_2", "cus_1"), ("cus_1", "cus_1")]),
    drawn_state | failures,
)


@settings(max_examples=rounds(200, 1500))
@given(st.lists(subscription_updates, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_merging_states_does_not_depend_on_the_order(updates: list[Any], chance: Random) -> None:
    mixed = updates + updates[: len(updates) // 2]
    chance.shuffle(mixed)
    assert _end(mixed) == _end(updates)


def _end(
    updates: list[tuple[tuple[str, str], SubscriptionState]],
) -> tuple[MemberOutcome, dict[Any, SubscriptionState]]:
    states: dict[tuple[str, str], SubscriptionState] = {}
    for key, state in updates:
        states[key] = states.get(key, SubscriptionState()).merge(state)
    return member_outcome((*key, state) for key, state in states.items()), states
