"""A member's level: by what they pay, and by access that they were given until a time."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.features.payments.processor import (
    JUNE,
    Event,
    Processor,
    ended,
    failed,
    joined,
    new_processor,
    subscription,
)
from tests.tiers import rounds
from tests.v1.keys import key_client
from tests.world import World, records_of

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.errors import Invalid
from masthead.engine.records.collection import Record
from masthead.features.payments.access import end_access, end_due, give_access, has_subscription

DAY = 86_400
READER = "reader@example.com"
TIER = {"currency": "eur", "interval": "month"}


class Shop:
    """A site with three levels, one reader and a payment processor."""

    def __init__(self, processor: Processor, levels: dict[str, str], member_id: str) -> None:
        self.processor = processor
        self.levels = levels
        self.member_id = member_id

    @property
    def world(self) -> World:
        return self.processor.world

    async def member(self) -> Record:
        return await self.processor.one("blog_members", id=self.member_id)

    async def state(self) -> str:
        """Such as `paid gold active`, with ` until` if access was given."""
        member = await self.member()
        names = {level_id: name for name, level_id in self.levels.items()}
        level = names.get(member["tier_id"], "none")
        given = " until" if member["access_until"] else ""
        return f"{member['tier']} {level} {member['status']}{given}"

    async def give(self, level: str = "", days: int = 30) -> None:
        until = clock.to_text(self.world.clock() + timedelta(days=days))
        async with self.world.parts.records.unit(system(self.processor.tenant.id)) as unit:
            tier_id = self.levels[level] if level else ""
            await give_access(unit, self.member_id, until=until, tier_id=tier_id)

    async def take(self) -> None:
        async with self.world.parts.records.unit(system(self.processor.tenant.id)) as unit:
            await end_access(unit, self.member_id)

    async def wait(self, days: int) -> None:
        self.world.clock.advance(days=days)
        await end_due(self.world.parts.records)


async def open_shop(world: World) -> Shop:
    processor = await new_processor(world)
    levels = {}
    for name, price in (("bronze", 300), ("silver", 500), ("gold", 900)):
        values = {**TIER, "name": name, "price": price, "payment_price_id": f"price_{name}"}
        levels[name] = (await processor.tenant.create("tiers", values))["id"]
    member = await processor.tenant.create("blog_members", {"email": READER})
    return Shop(processor, levels, member["id"])


@pytest.fixture
async def shop(app: World) -> Shop:
    return await open_shop(app)


def of(level: str) -> dict[str, Any]:
    return {"items": {"data": [{"price": {"id": f"price_{level}", "product": "prod"}}]}}


async def test_the_level_is_that_of_the_price_until_the_subscription_ends(shop: Shop) -> None:
    await shop.processor.send(joined(JUNE), subscription("active", JUNE, **of("silver")))
    assert await shop.state() == "paid silver active"
    await shop.processor.send(subscription("active", JUNE + DAY, **of("gold")))
    assert await shop.state() == "paid gold active"
    await shop.processor.send(subscription("active", JUNE + 2 * DAY, **of("unknown")))
    assert await shop.state() == "paid none active"
    await shop.processor.send(subscription("active", JUNE + 3 * DAY, **of("gold")))
    await shop.processor.send(ended(JUNE + 4 * DAY, **of("gold")))
    assert await shop.state() == "free none cancelled"


async def test_the_price_is_known_when_the_checkout_is_reported_first(shop: Shop) -> None:
    await shop.processor.send(joined(JUNE + 2), subscription("active", JUNE, **of("silver")))
    assert await shop.state() == "paid silver active"


async def test_a_level_that_gets_another_price_keeps_who_bought_it_before(shop: Shop) -> None:
    await shop.processor.send(joined(JUNE), subscription("active", JUNE, **of("silver")))
    change = {"payment_price_id": "price_raised"}
    await shop.processor.tenant.update("tiers", shop.levels["silver"], change)
    await shop.processor.send(subscription("active", JUNE + DAY, **of("silver")))
    assert await shop.state() == "paid silver active"


async def test_access_that_is_given_ends_by_a_job(shop: Shop) -> None:
    await shop.give("gold", days=10)
    assert await shop.state() == "paid gold active until"
    await shop.wait(days=9)
    assert await shop.state() == "paid gold active until"
    await shop.wait(days=2)
    assert await shop.state() == "free none active"
    names = await shop.processor.tenant.event_names()
    assert names.count("member.tier_changed") == 2


async def test_a_subscription_outlasts_what_is_given(shop: Shop) -> None:
    await shop.give("gold", days=10)
    await shop.processor.send(joined(JUNE), subscription("active", JUNE, **of("bronze")))
    assert await shop.state() == "paid gold active until"
    await shop.wait(days=11)
    assert await shop.state() == "paid bronze active"


async def test_what_is_given_outlasts_a_subscription(shop: Shop) -> None:
    await shop.processor.send(joined(JUNE), subscription("active", JUNE, **of("gold")))
    await shop.give("bronze", days=10)
    assert await shop.state() == "paid gold active until"
    await shop.processor.send(ended(JUNE + DAY, **of("gold")))
    assert await shop.state() == "paid bronze active until"
    await shop.take()
    assert await shop.state() == "free none cancelled"


async def test_access_without_a_level_makes_a_paid_member(shop: Shop) -> None:
    await shop.give(days=10)
    assert await shop.state() == "paid none active until"
    await shop.take()
    assert await shop.state() == "free none active"


async def test_access_can_only_be_given_until_a_time_to_come(shop: Shop) -> None:
    with pytest.raises(Invalid):
        await shop.give("gold", days=-1)
    assert await shop.state() == "free none active"


async def test_only_who_pays_has_a_subscription(shop: Shop) -> None:
    async def is_subscribed() -> bool:
        async with shop.world.parts.records.unit(system(shop.processor.tenant.id)) as unit:
            return await has_subscription(unit, shop.member_id)

    await shop.give("gold")
    assert not await is_subscribed()
    await shop.processor.send(joined(JUNE), subscription("active", JUNE, **of("bronze")))
    assert await is_subscribed()
    await shop.processor.send(ended(JUNE + DAY, **of("bronze")))
    assert not await is_subscribed()


async def test_a_free_member_has_no_level(shop: Shop) -> None:
    owner = await shop.processor.tenant.owner()
    one = records_of("blog_members", shop.member_id)
    refused = await owner.api.patch(one, json={"tier_id": shop.levels["gold"]})
    assert refused.status_code == 400
    assert set(refused.json()["data"]) == {"tier_id"}
    by_hand = {"tier": "paid", "tier_id": shop.levels["gold"]}
    assert (await owner.api.patch(one, json=by_hand)).json()["tier_id"] == shop.levels["gold"]
    freed = await owner.api.patch(one, json={"tier": "free"})
    assert (freed.status_code, freed.json()["tier_id"]) == (200, "")


async def test_a_level_that_is_in_use_cannot_be_deleted(shop: Shop) -> None:
    tenant = shop.processor.tenant
    owner = await tenant.owner()
    await shop.give("gold")
    await tenant.post(visibility="paid", tiers=[shop.levels["silver"]])
    for level in ("gold", "silver"):
        refused = await owner.api.delete(records_of("tiers", shop.levels[level]))
        assert refused.status_code == 409
        assert "`active` to false" in refused.json()["message"]
    api = await key_client(tenant, "tiers:write")
    refused = await api.delete(f"/api/v1/tiers/{shop.levels['gold']}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CONFLICT")
    assert (await owner.api.delete(records_of("tiers", shop.levels["bronze"]))).status_code == 204
    await shop.take()
    assert (await owner.api.delete(records_of("tiers", shop.levels["gold"]))).status_code == 204


def payments() -> list[Event]:
    """A subscription that goes up a level, fails and ends, and a second one of another customer."""
    second = {"customer": "cus_2", "id": "sub_2", **of("bronze")}
    return [
        subscription("active", JUNE, "created", **of("silver")),
        joined(JUNE + 1),
        subscription("active", JUNE + 30 * DAY, **of("gold")),
        failed(JUNE + 60 * DAY),
        subscription("active", JUNE + 61 * DAY, **of("gold")),
        joined(JUNE + 70 * DAY, customer="cus_2", subscription="sub_2", id="cs_3"),
        subscription("active", JUNE + 70 * DAY, "created", **second),
        ended(JUNE + 90 * DAY, **of("gold")),
    ]


PAYMENTS = payments()
ACTS = {
    "give gold": lambda shop: shop.give("gold", 20),
    "give silver": lambda shop: shop.give("silver", 40),
    "give no level": lambda shop: shop.give("", 15),
    "take": lambda shop: shop.take(),
    "wait": lambda shop: shop.wait(10),
}
"""The acts of staff and time between the events of the processor."""


async def run(world: World, steps: list[Event | str]) -> tuple[str, list[Any]]:
    shop = await open_shop(world)
    names = {level_id: name for name, level_id in shop.levels.items()}
    for step in steps:
        if isinstance(step, str):
            await ACTS[step](shop)
        else:
            await shop.processor.send(step)
    await end_due(world.parts.records)
    rows = await shop.processor.find("payment_subscriptions")
    kept = ("payment_subscription_id", "status", "tier", "payment_price_id")
    return await shop.state(), sorted(
        (*(each[name] for name in kept), names.get(each["tier_id"], "")) for each in rows
    )


@settings(
    max_examples=rounds(4, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.permutations(PAYMENTS),
    st.lists(st.sampled_from(PAYMENTS), max_size=3),
    st.lists(st.sampled_from(sorted(ACTS)), max_size=5),
    st.randoms(use_true_random=False),
)
async def test_any_order_of_payments_between_gifts_and_ends_ends_the_same(
    app: World, order: list[Event], repeats: list[Event], acts: list[str], chance: Any
) -> None:
    expected = await run(app, [*PAYMENTS, *acts])
    mixed: list[Event | str] = [
        each for pair in itertools.zip_longest(order, repeats) for each in pair if each
    ]
    places = sorted(chance.randint(0, len(mixed)) for _ in acts)
    for place, act in reversed(list(zip(places, acts, strict=True))):
        mixed.insert(place, act)
    assert await run(app, mixed) == expected
