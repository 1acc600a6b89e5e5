"""Applies subscription events to members: finds the member and derives their tier, level and
status."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import msgspec
from msgspec.structs import replace

from masthead.base import ids
from masthead.base.errors import NotFound
from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit
from masthead.features.members.collection import blog_members
from masthead.features.payments.collection import payment_customers, payment_subscriptions, tiers
from masthead.features.payments.offers import offers
from masthead.features.payments.subscription_state import (
    NOT_GIVEN,
    GivenAccess,
    SubscriptionState,
    member_outcome,
)

WELCOME = "payments.welcome"
"""The job that mails a member who has become paid."""
MAX_SUBSCRIPTIONS = 1_000
"""The most subscriptions that one member can ever have."""
MAX_OF_A_PRICE = 100
"""The most tiers with one price that are compared."""


class Terms(msgspec.Struct, frozen=True):
    """The price of a subscription and its end; empty if an event does not contain them."""

    price: str
    period_end: str
    ends_at: str


class SubscriptionUpdate(msgspec.Struct, frozen=True):
    """The content of one event about a subscription."""

    at: str
    state: SubscriptionState
    subscription: str
    """If the processor names none: the customer's id, else the checkout's."""
    customer: str = ""
    email: str = ""
    name: str = ""
    member_id: str = ""
    """The id of the member for whom this service has started the checkout."""
    offer_id: str = ""
    """The id of the offer with which it has started it."""
    terms: Terms | None = None
    creates_member: bool = False
    """Whether an unknown customer becomes a member."""


async def apply_update(unit: Unit, update: SubscriptionUpdate) -> None:
    known = await _one(unit, payment_subscriptions, payment_subscription_id=update.subscription)
    member = await _member_of(unit, update, known)
    is_changed = await _store_state(unit, update, known)
    if member is None:
        return
    is_newly_linked = await _link(unit, update, member)
    # A late or repeated event must not overwrite what an administrator has set since.
    if is_changed or is_newly_linked:
        await _update_member(unit, member["id"])


async def find_member(unit: Unit, customer: str, email: str, member_id: str = "") -> Record | None:
    """Finds a member by the processor's customer, else by the id that our checkout has, else by
    email."""
    if customer:
        if member := await _one(unit, blog_members, payment_customer_id=customer):
            return member
        link = await _one(unit, payment_customers, payment_customer_id=customer)
        if link and link["member_id"]:
            return await _one(unit, blog_members, id=link["member_id"])
    if ids.is_id(member_id) and (member := await _one(unit, blog_members, id=member_id)):
        return member
    return await _one(unit, blog_members, email=email) if email else None


async def _member_of(unit: Unit, update: SubscriptionUpdate, known: Record | None) -> Record | None:
    if known and known["member_id"]:
        return await _one(unit, blog_members, id=known["member_id"])
    member = await find_member(unit, update.customer, update.email, update.member_id)
    if member is None and update.creates_member and update.email:
        # Free at first, so that becoming paid is a change that sends an event.
        member = await unit.create(blog_members, {"email": update.email, "name": update.name})
    return member


async def _store_state(unit: Unit, update: SubscriptionUpdate, known: Record | None) -> bool:
    """False if the event changes nothing."""
    before = state_of(known) if known else SubscriptionState()
    after = before.merge(_priced(update))
    if after.price and (after.price, after.price_at) != (before.price, before.price_at):
        kept = before.level if before.price == after.price else ""
        after = replace(after, level=await level_of_price(unit, after.price) or kept)
    values: dict[str, Any] = {
        "status": after.status,
        "event_created": after.at,
        "tier": after.tier,
        "tier_event_created": after.tier_at,
        "payment_failed_at": after.failed_at,
        "payment_price_id": after.price,
        "price_event_created": after.price_at,
        "tier_id": after.level,
    }
    if update.customer:
        values["payment_customer_id"] = update.customer
    if update.terms and update.at >= after.at:
        values |= _terms(update.terms)
    if await _count_use(unit, update, known):
        values["offer_id"] = update.offer_id
    if known is None:
        values["payment_subscription_id"] = update.subscription
        await unit.create(payment_subscriptions, values)
    else:
        await unit.update(payment_subscriptions, known["id"], values)
    return after != before


async def _count_use(unit: Unit, update: SubscriptionUpdate, known: Record | None) -> bool:
    """Counts the use of an offer, once for each subscription; False if this event counts none.
    Whether it says that the subscription was bought depends on the event only, so that every order
    of events counts the same."""
    if update.state.tier != "paid" or (known and known["offer_id"]):
        return False
    if not ids.is_id(update.offer_id):
        return False
    offer = await _one(unit, offers, id=update.offer_id)
    if offer is None:
        return False
    await unit.update(offers, offer["id"], {}, stamped={"uses": offer["uses"] + 1})
    return True


def _terms(terms: Terms) -> dict[str, str]:
    period = {"current_period_end": terms.period_end} if terms.period_end else {}
    # A subscription that continues after all no longer has an end.
    return period | {"ends_at": terms.ends_at}


def _priced(update: SubscriptionUpdate) -> SubscriptionState:
    if update.terms is None or not update.terms.price:
        return update.state
    return replace(update.state, price=update.terms.price, price_at=update.at)


async def level_of_price(unit: Unit, price: str) -> str:
    """The id of the tier that a price belongs to; '' if to none."""
    found = await unit.find(tiers, {"payment_price_id": price}, limit=MAX_OF_A_PRICE)
    return min((str(each["id"]) for each in found), default="")


async def _link(unit: Unit, update: SubscriptionUpdate, member: Record) -> bool:
    """Links customer, subscriptions and member; False if they were all linked before."""
    rows = await unit.find(
        payment_subscriptions, {"payment_subscription_id": update.subscription}, limit=1
    )
    if update.customer:
        if member["payment_customer_id"]:
            await _link_customer(unit, member["payment_customer_id"], member, "")
        await _link_customer(unit, update.customer, member, update.at)
        await _store_newest_customer(unit, member)
        rows += await unit.find(
            payment_subscriptions, {"payment_customer_id": update.customer}, MAX_SUBSCRIPTIONS
        )
    unlinked = [row["id"] for row in rows if row["member_id"] != member["id"]]
    for row_id in unlinked:
        await unit.update(payment_subscriptions, row_id, {"member_id": member["id"]})
    return bool(unlinked)


async def _link_customer(unit: Unit, customer: str, member: Record, at: str) -> None:
    link = await _one(unit, payment_customers, payment_customer_id=customer)
    if link is None:
        values = {"payment_customer_id": customer, "member_id": member["id"], "event_created": at}
        await unit.create(payment_customers, values)
        return
    latest = max(link["event_created"], at)
    values = {"member_id": member["id"], "event_created": latest}
    await unit.update(payment_customers, link["id"], values)


async def _store_newest_customer(unit: Unit, member: Record) -> None:
    """Each checkout as a guest creates a customer; the member's record names the last one."""
    links = await unit.find(payment_customers, {"member_id": member["id"]}, MAX_SUBSCRIPTIONS)
    newest = max(links, key=lambda link: (link["event_created"], link["payment_customer_id"]))
    customer = newest["payment_customer_id"]
    await unit.update(blog_members, member["id"], {"payment_customer_id": customer})


async def _update_member(unit: Unit, member_id: str) -> None:
    before = await _one(unit, blog_members, id=member_id)
    after = await settle_member(unit, member_id)
    if before and before["tier"] != "paid" and after["tier"] == "paid":
        await unit.enqueue(WELCOME, {"member_id": member_id})


async def settle_member(unit: Unit, member_id: str, given: GivenAccess | None = None) -> Record:
    """Derives the member's tier, level and status from all that is known: their subscriptions, and
    the access that they were given. `given` replaces the access that is stored."""
    member = await _one(unit, blog_members, id=member_id)
    if member is None:
        raise NotFound
    given = given or given_to(member)
    rows = [state_row(each) for each in await subscriptions_of(unit, member_id)]
    worth = await _worth_of(unit, {given.level, *(state.level for _, _, state in rows)} - {""})
    outcome = member_outcome(rows, given, unit.now, worth)
    kept = given if given.is_running(unit.now) else NOT_GIVEN
    values = {
        "tier": outcome.tier,
        "tier_id": outcome.level,
        "status": outcome.status and str(outcome.status),
        "access_until": kept.until,
        "access_tier_id": kept.level,
    }
    stamped = {name: value for name, value in values.items() if value is not None}
    return await unit.update(blog_members, member_id, {}, stamped=stamped)


def given_to(member: Record) -> GivenAccess:
    return GivenAccess(member["access_until"], member["access_tier_id"])


async def subscriptions_of(unit: Unit, member_id: str) -> list[Record]:
    return await unit.find(payment_subscriptions, {"member_id": member_id}, MAX_SUBSCRIPTIONS)


async def _worth_of(unit: Unit, levels: Set[str]) -> dict[str, int]:
    if len(levels) < 2:
        return {}
    return {each["id"]: worth_of(each) for each in await unit.find_some(tiers, sorted(levels))}


def worth_of(tier: Record) -> int:
    """The price of a year: of two levels that a member has, the dearer one counts."""
    return int(tier["price"]) * (12 if tier["interval"] == "month" else 1)


def state_row(row: Record) -> tuple[str, str, SubscriptionState]:
    return row["payment_subscription_id"], row["payment_customer_id"], state_of(row)


def state_of(row: Record) -> SubscriptionState:
    return SubscriptionState(
        row["status"],
        row["event_created"],
        row["tier"],
        row["tier_event_created"],
        row["payment_failed_at"],
        row["payment_price_id"],
        row["price_event_created"],
        row["tier_id"],
    )


async def _one(unit: Unit, collection: Any, **equals: Any) -> Record | None:
    return await unit.find_one(collection, equals)
