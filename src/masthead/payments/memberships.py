"""Members and what they pay for: who an event is about, and what all events so far make of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from masthead.members.collection import blog_members
from masthead.payments.collection import payment_customers, payment_subscriptions
from masthead.payments.standing import Told, outcome_of
from masthead.records.collection import Record
from masthead.records.write.unit import Unit

MOST_SUBSCRIPTIONS = 1_000
"""Of one member, ever."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What one event says of a subscription."""

    at: str
    told: Told
    subscription: str
    """Where the processor names none: the customer's id, else the checkout's."""
    customer: str = ""
    email: str = ""
    name: str = ""
    period_end: str = ""
    may_join: bool = False
    """Whoever is not a member yet becomes one."""


async def learn(unit: Unit, fact: Fact) -> None:
    known = await _one(unit, payment_subscriptions, payment_subscription_id=fact.subscription)
    member = await _member_of(unit, fact, known)
    is_news = await _keep(unit, fact, known)
    if member is None:
        return
    is_new_tie = await _tie(unit, fact, member)
    # A late or repeated event that adds nothing leaves alone what an administrator set since.
    if is_news or is_new_tie:
        await _settle(unit, member["id"])


async def find_member(unit: Unit, customer: str, email: str) -> Record | None:
    """By the processor's customer, else by e-mail (the decided order)."""
    if customer:
        if member := await _one(unit, blog_members, payment_customer_id=customer):
            return member
        tie = await _one(unit, payment_customers, payment_customer_id=customer)
        if tie and tie["member_id"]:
            return await _one(unit, blog_members, id=tie["member_id"])
    return await _one(unit, blog_members, email=email) if email else None


async def _member_of(unit: Unit, fact: Fact, known: Record | None) -> Record | None:
    if known and known["member_id"]:
        return await _one(unit, blog_members, id=known["member_id"])
    member = await find_member(unit, fact.customer, fact.email)
    if member is None and fact.may_join and fact.email:
        # Free at first, so that becoming paid is a change that subscribers hear of.
        member = await unit.create(blog_members, {"email": fact.email, "name": fact.name})
    return member


async def _keep(unit: Unit, fact: Fact, known: Record | None) -> bool:
    """False when nothing is known now that was not known before."""
    before = told_of(known) if known else Told()
    after = before.and_also(fact.told)
    values: dict[str, Any] = {
        "status": after.status,
        "event_created": after.at,
        "tier": after.tier,
        "tier_event_created": after.tier_at,
        "payment_failed_at": after.failed_at,
    }
    if fact.customer:
        values["payment_customer_id"] = fact.customer
    if fact.period_end and fact.at >= after.at:
        values["current_period_end"] = fact.period_end
    if known is None:
        values["payment_subscription_id"] = fact.subscription
        await unit.create(payment_subscriptions, values)
    else:
        await unit.update(payment_subscriptions, known["id"], values)
    return after != before


async def _tie(unit: Unit, fact: Fact, member: Record) -> bool:
    """Ties customer, subscriptions and member together; False when they all were."""
    rows = await unit.find(
        payment_subscriptions, {"payment_subscription_id": fact.subscription}, limit=1
    )
    if fact.customer:
        if member["payment_customer_id"]:
            await _tie_customer(unit, member["payment_customer_id"], member, "")
        await _tie_customer(unit, fact.customer, member, fact.at)
        await _name_newest_customer(unit, member)
        rows += await unit.find(
            payment_subscriptions, {"payment_customer_id": fact.customer}, MOST_SUBSCRIPTIONS
        )
    loose = [row["id"] for row in rows if row["member_id"] != member["id"]]
    for row_id in loose:
        await unit.update(payment_subscriptions, row_id, {"member_id": member["id"]})
    return bool(loose)


async def _tie_customer(unit: Unit, customer: str, member: Record, at: str) -> None:
    tie = await _one(unit, payment_customers, payment_customer_id=customer)
    if tie is None:
        values = {"payment_customer_id": customer, "member_id": member["id"], "event_created": at}
        await unit.create(payment_customers, values)
        return
    latest = max(tie["event_created"], at)
    values = {"member_id": member["id"], "event_created": latest}
    await unit.update(payment_customers, tie["id"], values)


async def _name_newest_customer(unit: Unit, member: Record) -> None:
    """A checkout as a guest makes a customer each time; the member's record names the last one."""
    ties = await unit.find(payment_customers, {"member_id": member["id"]}, MOST_SUBSCRIPTIONS)
    newest = max(ties, key=lambda tie: (tie["event_created"], tie["payment_customer_id"]))
    customer = newest["payment_customer_id"]
    await unit.update(blog_members, member["id"], {"payment_customer_id": customer})


async def _settle(unit: Unit, member_id: str) -> None:
    rows = await unit.find(payment_subscriptions, {"member_id": member_id}, MOST_SUBSCRIPTIONS)
    outcome = outcome_of(map(as_told, rows))
    changes = {"tier": outcome.tier, "status": outcome.status}
    changes = {name: value for name, value in changes.items() if value is not None}
    await unit.update(blog_members, member_id, changes)


def as_told(row: Record) -> tuple[str, str, Told]:
    return row["payment_subscription_id"], row["payment_customer_id"], told_of(row)


def told_of(row: Record) -> Told:
    return Told(
        row["status"],
        row["event_created"],
        row["tier"],
        row["tier_event_created"],
        row["payment_failed_at"],
    )


async def _one(unit: Unit, collection: Any, **equals: Any) -> Record | None:
    found = await unit.find(collection, equals, limit=1)
    return found[0] if found else None
