"""The state of a member by their subscriptions and by what they were given, as tables."""

from __future__ import annotations

import itertools

import pytest

from masthead.features.payments.subscription_state import (
    GivenAccess,
    MemberOutcome,
    MemberStatus,
    SubscriptionState,
    member_outcome,
    state_from_status,
    states_of,
)

EARLY, LATE, NOW, AFTER = (f"2026-06-0{day}T00:00:00.000Z" for day in (1, 2, 3, 4))
ACTIVE, PAST_DUE, CANCELLED = MemberStatus.ACTIVE, MemberStatus.PAST_DUE, MemberStatus.CANCELLED


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("active", SubscriptionState("active", EARLY, "paid", EARLY)),
        ("trialing", SubscriptionState("trialing", EARLY, "paid", EARLY)),
        ("past_due", SubscriptionState("past_due", EARLY)),
        ("unpaid", SubscriptionState("unpaid", EARLY)),
        ("paused", SubscriptionState("paused", EARLY)),
        ("canceled", SubscriptionState("canceled", EARLY, "free", EARLY)),
        ("incomplete_expired", SubscriptionState("incomplete_expired", EARLY, "free", EARLY)),
        ("incomplete", SubscriptionState()),
        ("", SubscriptionState()),
        ("new", SubscriptionState()),
    ],
)
def test_a_reported_status_sets_the_tier_or_leaves_it(
    status: str, expected: SubscriptionState
) -> None:
    assert state_from_status(status, EARLY) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (SubscriptionState(), None),
        (SubscriptionState("incomplete", EARLY), None),
        (SubscriptionState("active", EARLY), ACTIVE),
        (SubscriptionState("trialing", EARLY), ACTIVE),
        (SubscriptionState("past_due", EARLY), PAST_DUE),
        (SubscriptionState("unpaid", EARLY), PAST_DUE),
        (SubscriptionState("paused", EARLY), PAST_DUE),
        (SubscriptionState("canceled", EARLY), CANCELLED),
        (SubscriptionState("incomplete_expired", EARLY), CANCELLED),
        (SubscriptionState("active", EARLY, failed_at=LATE), PAST_DUE),
        (SubscriptionState("active", EARLY, failed_at=EARLY), PAST_DUE),
        (SubscriptionState("active", LATE, failed_at=EARLY), ACTIVE),
        (SubscriptionState(failed_at=EARLY), PAST_DUE),
        (SubscriptionState("canceled", EARLY, failed_at=LATE), CANCELLED),
    ],
)
def test_a_failed_payment_counts_until_the_next_status_but_after_no_end(
    state: SubscriptionState, expected: MemberStatus | None
) -> None:
    assert state.member_status == expected


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        # The newer status counts.
        (("active", EARLY), ("canceled", LATE), ("canceled", LATE)),
        (("canceled", EARLY), ("active", LATE), ("active", LATE)),
        # Within a second the worse one is the later one.
        (("active", EARLY), ("past_due", EARLY), ("past_due", EARLY)),
        (("past_due", EARLY), ("canceled", EARLY), ("canceled", EARLY)),
        (("trialing", EARLY), ("canceled", EARLY), ("canceled", EARLY)),
        (("incomplete", EARLY), ("active", EARLY), ("active", EARLY)),
        (("trialing", EARLY), ("incomplete", EARLY), ("trialing", EARLY)),
        # Of two that are as bad, always the same one.
        (("active", EARLY), ("trialing", EARLY), ("trialing", EARLY)),
        (("unpaid", EARLY), ("past_due", EARLY), ("unpaid", EARLY)),
    ],
)
def test_of_two_statuses_the_later_one_counts(
    one: tuple[str, str], other: tuple[str, str], merged: tuple[str, str]
) -> None:
    states = SubscriptionState(*one), SubscriptionState(*other)
    for first, second in itertools.permutations(states):
        assert first.merge(second) == SubscriptionState(*merged)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"tier": "paid", "tier_at": EARLY}, {"tier": "free", "tier_at": LATE}),
        ({"tier": "free", "tier_at": EARLY}, {"tier": "paid", "tier_at": LATE}),
        # What ends within the second in which it began has ended.
        ({"tier": "paid", "tier_at": EARLY}, {"tier": "free", "tier_at": EARLY}),
        ({"failed_at": EARLY}, {"failed_at": LATE}),
        (
            {"price": "b", "price_at": EARLY, "level": "z"},
            {"price": "a", "price_at": LATE, "level": "y"},
        ),
        ({"price": "a", "price_at": EARLY}, {"price": "b", "price_at": EARLY}),
        (
            {"price": "a", "price_at": EARLY, "level": "silver"},
            {"price": "a", "price_at": EARLY, "level": "zinc"},
        ),
        (
            {"price": "a", "price_at": EARLY, "level": "zinc"},
            {"price": "b", "price_at": EARLY, "level": "silver"},
        ),
    ],
)
def test_each_value_is_that_of_its_own_newest_event(
    older: dict[str, str], newer: dict[str, str]
) -> None:
    states = SubscriptionState(**older), SubscriptionState(**newer)
    for first, second in itertools.permutations(states):
        assert first.merge(second) == states[1]


def test_values_of_several_events_are_kept_together() -> None:
    status = SubscriptionState("active", LATE, "paid", EARLY)
    failure = SubscriptionState(failed_at=EARLY)
    price = SubscriptionState(price="price_1", price_at=LATE, level="gold")
    whole = SubscriptionState("active", LATE, "paid", EARLY, EARLY, "price_1", LATE, "gold")
    for order in itertools.permutations((status, failure, price)):
        assert order[0].merge(order[1]).merge(order[2]) == whole


@pytest.mark.parametrize(
    ("until", "is_running"), [("", False), (EARLY, False), (NOW, False), (AFTER, True)]
)
def test_what_is_given_runs_until_its_time(until: str, is_running: bool) -> None:
    assert GivenAccess(until).is_running(NOW) is is_running


def pays(level: str = "", status: str = "active", **more: str) -> SubscriptionState:
    return SubscriptionState(status, EARLY, "paid", EARLY, level=level, **more)


ENDED = SubscriptionState("canceled", EARLY, "free", EARLY)
LATE_PAYER = SubscriptionState("past_due", EARLY)
RUNNING, OVER = GivenAccess(AFTER, "gift"), GivenAccess(EARLY, "gift")
WORTH = {"silver": 500, "gold": 900, "gift": 700, "nothing": 0}


@pytest.mark.parametrize(
    ("states", "given", "expected"),
    [
        ([], GivenAccess(), MemberOutcome()),
        ([SubscriptionState("incomplete", EARLY)], GivenAccess(), MemberOutcome()),
        # Nothing is known of the tier: it stays.
        ([LATE_PAYER], GivenAccess(), MemberOutcome(status=PAST_DUE)),
        ([pays()], GivenAccess(), MemberOutcome("paid", "", ACTIVE)),
        ([pays("silver")], GivenAccess(), MemberOutcome("paid", "silver", ACTIVE)),
        ([pays("silver", "past_due")], GivenAccess(), MemberOutcome("paid", "silver", PAST_DUE)),
        ([ENDED], GivenAccess(), MemberOutcome("free", "", CANCELLED)),
        ([ENDED, LATE_PAYER], GivenAccess(), MemberOutcome("free", "", PAST_DUE)),
        # The best subscription counts, and of the levels the dearest, whatever its name.
        ([ENDED, pays("silver")], GivenAccess(), MemberOutcome("paid", "silver", ACTIVE)),
        ([pays("silver"), ENDED], GivenAccess(), MemberOutcome("paid", "silver", ACTIVE)),
        ([pays("gold"), pays("silver")], GivenAccess(), MemberOutcome("paid", "gold", ACTIVE)),
        ([pays("silver"), pays("gold")], GivenAccess(), MemberOutcome("paid", "gold", ACTIVE)),
        ([LATE_PAYER, pays("gold")], GivenAccess(), MemberOutcome("paid", "gold", ACTIVE)),
        # Any level is more than none, and a level without a price is worth nothing.
        ([pays(), pays("new")], GivenAccess(), MemberOutcome("paid", "new", ACTIVE)),
        ([pays("silver"), pays("zinc")], GivenAccess(), MemberOutcome("paid", "silver", ACTIVE)),
        ([pays("new"), pays("nothing")], GivenAccess(), MemberOutcome("paid", "nothing", ACTIVE)),
        ([pays("new"), pays("zinc")], GivenAccess(), MemberOutcome("paid", "zinc", ACTIVE)),
        # The level of what has ended does not count.
        (
            [SubscriptionState("canceled", EARLY, "free", EARLY, level="gold"), pays("silver")],
            GivenAccess(),
            MemberOutcome("paid", "silver", ACTIVE),
        ),
        # What is given.
        ([], RUNNING, MemberOutcome("paid", "gift", ACTIVE)),
        ([ENDED], RUNNING, MemberOutcome("paid", "gift", ACTIVE)),
        ([pays("silver")], RUNNING, MemberOutcome("paid", "gift", ACTIVE)),
        ([pays("gold")], RUNNING, MemberOutcome("paid", "gold", ACTIVE)),
        ([pays("gold", "past_due")], RUNNING, MemberOutcome("paid", "gold", PAST_DUE)),
        ([LATE_PAYER], RUNNING, MemberOutcome("paid", "gift", PAST_DUE)),
        ([], OVER, MemberOutcome("free", "", None)),
        ([ENDED], OVER, MemberOutcome("free", "", CANCELLED)),
        ([LATE_PAYER], OVER, MemberOutcome("free", "", PAST_DUE)),
        ([pays("silver")], OVER, MemberOutcome("paid", "silver", ACTIVE)),
    ],
)
def test_what_a_member_has(
    states: list[SubscriptionState], given: GivenAccess, expected: MemberOutcome
) -> None:
    rows = [(f"sub_{number}", "cus_1", state) for number, state in enumerate(states)]
    assert member_outcome(rows, given, NOW, WORTH) == expected


def test_without_prices_the_level_is_always_the_same_one() -> None:
    rows = [("sub_1", "cus_1", pays("a")), ("sub_2", "cus_1", pays("b")), ("sub_3", "cus", pays())]
    for order in itertools.permutations(rows):
        assert member_outcome(order) == MemberOutcome("paid", "b", ACTIVE)


def test_without_a_time_what_was_given_has_no_end() -> None:
    assert member_outcome([], RUNNING) == MemberOutcome("paid", "gift", ACTIVE)
    assert not GivenAccess().is_running("")


FAILED = SubscriptionState(failed_at=LATE)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([("sub_1", "cus_1", pays())], [pays()]),
        # An invoice that names the customer only counts for each of their subscriptions.
        (
            [("sub_1", "cus_1", pays()), ("cus_1", "cus_1", FAILED), ("sub_2", "cus_1", ENDED)],
            [pays(failed_at=LATE), ENDED.merge(FAILED)],
        ),
        # It does not count for those of others.
        (
            [("sub_1", "cus_1", pays()), ("cus_2", "cus_2", FAILED)],
            [pays(), FAILED],
        ),
        # As long as there is no subscription, it counts by itself.
        ([("cus_1", "cus_1", FAILED)], [FAILED]),
    ],
)
def test_what_names_a_customer_counts_for_their_subscriptions(
    rows: list[tuple[str, str, SubscriptionState]], expected: list[SubscriptionState]
) -> None:
    assert states_of(rows) == expected
    assert states_of(iter(rows)) == expected
