"""What the processor's events, in whatever order they came, say about a member. Pure.

Of each subscription only the newest word of each kind is kept, by the processor's own time. The
newest of a set does not depend on the order in which the set was seen, nor on repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    ACTIVE = "active"
    PAST_DUE = "past_due"
    CANCELLED = "cancelled"


# The processor's words for a subscription; any other, `incomplete` above all, says nothing yet.
STANDINGS: Mapping[str, Standing] = {
    "active": Standing.ACTIVE,
    "trialing": Standing.ACTIVE,
    "past_due": Standing.PAST_DUE,
    "unpaid": Standing.PAST_DUE,
    "paused": Standing.PAST_DUE,
    "canceled": Standing.CANCELLED,
    "incomplete_expired": Standing.CANCELLED,
}
# Best first; it is the best of a member's subscriptions that counts.
_BY_MERIT = tuple(Standing)


@dataclass(frozen=True, slots=True)
class Told:
    """What was said of one subscription so far, each with the time of the event that said it."""

    status: str = ""
    at: str = ""
    tier: str = ""
    tier_at: str = ""
    """Of the last event that set the tier: a payment that is late leaves it alone."""
    failed_at: str = ""
    """Of the last payment that failed."""

    def and_also(self, other: Told) -> Told:
        word = max(self, other, key=_word_order)
        tier = max(self, other, key=lambda told: (told.tier_at, told.tier == "free"))
        failed_at = max(self.failed_at, other.failed_at)
        return Told(word.status, word.at, tier.tier, tier.tier_at, failed_at)

    @property
    def standing(self) -> Standing | None:
        standing = STANDINGS.get(self.status)
        # The last attempt to collect may be reported after the end that it has led to.
        if standing is not Standing.CANCELLED and self.failed_at and self.failed_at >= self.at:
            return Standing.PAST_DUE
        return standing


def _word_order(told: Told) -> tuple[str, int, str]:
    """The processor counts in seconds. Within one, the worse word comes later: a subscription
    that starts, fails and ends in the same second has ended."""
    standing = STANDINGS.get(told.status)
    return told.at, _BY_MERIT.index(standing) if standing else -1, told.status


def told_of_status(status: str, at: str) -> Told:
    standing = STANDINGS.get(status)
    if standing is Standing.ACTIVE:
        return Told(status, at, "paid", at)
    if standing is Standing.CANCELLED:
        return Told(status, at, "free", at)
    return Told(status, at) if standing else Told()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A member's tier and status; None leaves what is there."""

    tier: str | None = None
    status: str | None = None


def outcome_of(subscriptions: Iterable[tuple[str, str, Told]]) -> Outcome:
    """Of all of a member's subscriptions, as (subscription, customer, what was said).

    What was said of a customer alone (an invoice without a subscription) stands under the
    customer's own id and counts for each of the customer's subscriptions.
    """
    rows = list(subscriptions)
    of_customer = {customer: told for key, customer, told in rows if key == customer}
    told = [
        words.and_also(of_customer.get(customer, Told()))
        for key, customer, words in rows
        if key != customer
    ]
    with_own = {customer for key, customer, _ in rows if key != customer}
    told += [words for customer, words in of_customer.items() if customer not in with_own]
    tiers = {each.tier for each in told if each.tier}
    standings = [each.standing for each in told if each.standing]
    return Outcome(
        ("paid" if "paid" in tiers else "free") if tiers else None,
        min(standings, key=_BY_MERIT.index) if standings else None,
    )
