"""Derives a member's tier, level and status from the processor's events, in any order, and from the
access that they were given. Pure functions.

For each subscription, only the newest value of each kind is stored, by the processor's own time. So
the result depends neither on the order of the events nor on repeats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec


class MemberStatus(StrEnum):
    ACTIVE = "active"
    PAST_DUE = "past_due"
    CANCELLED = "cancelled"


# By the processor's status of a subscription. Others, such as `incomplete`, change nothing.
MEMBER_STATUS: Mapping[str, MemberStatus] = {
    "active": MemberStatus.ACTIVE,
    "trialing": MemberStatus.ACTIVE,
    "past_due": MemberStatus.PAST_DUE,
    "unpaid": MemberStatus.PAST_DUE,
    "paused": MemberStatus.PAST_DUE,
    "canceled": MemberStatus.CANCELLED,
    "incomplete_expired": MemberStatus.CANCELLED,
}
# Best first: the best of a member's subscriptions counts.
_BEST_FIRST = tuple(MemberStatus)


class SubscriptionState(msgspec.Struct, frozen=True):
    """The known values of one subscription, each with the time of its event."""

    status: str = ""
    at: str = ""
    tier: str = ""
    tier_at: str = ""
    """The time of the last event that set the tier; a late payment does not set it."""
    failed_at: str = ""
    """The time of the last payment that failed."""
    price: str = ""
    price_at: str = ""
    """The time of the last event that named a price."""
    level: str = ""
    """The tier that the price belonged to when it was first reported; '' if to none."""

    def merge(self, other: SubscriptionState) -> SubscriptionState:
        newest = max(self, other, key=_status_order)
        tier = max(self, other, key=lambda state: (state.tier_at, state.tier == "free"))
        failed_at = max(self.failed_at, other.failed_at)
        priced = max(self, other, key=lambda state: (state.price_at, state.price, state.level))
        return SubscriptionState(
            newest.status,
            newest.at,
            tier.tier,
            tier.tier_at,
            failed_at,
            priced.price,
            priced.price_at,
            priced.level,
        )

    @property
    def member_status(self) -> MemberStatus | None:
        member_status = MEMBER_STATUS.get(self.status)
        # The last failed payment may be reported after the end that it led to.
        if (
            member_status is not MemberStatus.CANCELLED
            and self.failed_at
            and self.failed_at >= self.at
        ):
            return MemberStatus.PAST_DUE
        return member_status


def _status_order(state: SubscriptionState) -> tuple[str, int, str]:
    """The processor's times are in seconds. Within one second the worse status is the later one: a
    subscription that starts, fails and ends in the same second has ended."""
    member_status = MEMBER_STATUS.get(state.status)
    return state.at, _BEST_FIRST.index(member_status) if member_status else -1, state.status


def state_from_status(status: str, at: str) -> SubscriptionState:
    member_status = MEMBER_STATUS.get(status)
    if member_status is MemberStatus.ACTIVE:
        return SubscriptionState(status, at, "paid", at)
    if member_status is MemberStatus.CANCELLED:
        return SubscriptionState(status, at, "free", at)
    return SubscriptionState(status, at) if member_status else SubscriptionState()


class GivenAccess(msgspec.Struct, frozen=True):
    """Access that a member was given, whether they pay or not."""

    until: str = ""
    """'' if they were given none."""
    level: str = ""

    def is_running(self, now: str) -> bool:
        return now < self.until


NOT_GIVEN = GivenAccess()


class MemberOutcome(msgspec.Struct, frozen=True):
    """A member's tier, level and status; None leaves the stored value."""

    tier: str | None = None
    level: str | None = None
    status: str | None = None


def member_outcome(
    subscriptions: Iterable[tuple[str, str, SubscriptionState]],
    given: GivenAccess = NOT_GIVEN,
    now: str = "",
    worth: Mapping[str, int] | None = None,
) -> MemberOutcome:
    """From all of a member's subscriptions, as (subscription, customer, state), and from the access
    that they were given. `worth` has a number for each of these levels: the highest counts.

    What is given ends no subscription, and no subscription ends what is given."""
    states = states_of(subscriptions)
    is_given = given.is_running(now)
    tiers = {each.tier for each in states if each.tier}
    if not tiers and not given.until:
        return MemberOutcome(status=_status_of(states))
    if "paid" not in tiers and not is_given:
        return MemberOutcome("free", "", _status_of(states))
    levels = {each.level for each in states if each.tier == "paid"}
    if is_given:
        levels.add(given.level)
    level = max(levels, key=lambda each: (bool(each), (worth or {}).get(each, 0), each))
    status = _status_of(states)
    if is_given and status != MemberStatus.PAST_DUE:
        status = MemberStatus.ACTIVE
    return MemberOutcome("paid", level, status)


def states_of(
    subscriptions: Iterable[tuple[str, str, SubscriptionState]],
) -> list[SubscriptionState]:
    """The states of the subscriptions themselves.

    A state that names only the customer (an invoice without a subscription) is stored under the
    customer's own id and counts for each of the customer's subscriptions."""
    rows = list(subscriptions)
    of_customer = {customer: state for key, customer, state in rows if key == customer}
    states = [
        state.merge(of_customer.get(customer, SubscriptionState()))
        for key, customer, state in rows
        if key != customer
    ]
    with_own = {customer for key, customer, _ in rows if key != customer}
    return states + [state for customer, state in of_customer.items() if customer not in with_own]


def _status_of(states: Iterable[SubscriptionState]) -> MemberStatus | None:
    statuses = [each.member_status for each in states if each.member_status]
    return min(statuses, key=_BEST_FIRST.index) if statuses else None
