"""The retry policies A, B and custom, as tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.base.config.values import RETRY_POLICIES, RetryPolicy, parse_retry_policy
from masthead.features.webhooks.schedule import Pace, next_attempt

NOW = datetime(2026, 11, 14, 9, 30, tzinfo=UTC)
A, B = RETRY_POLICIES["a"], RETRY_POLICIES["b"]
CUSTOM = parse_retry_policy("60,300,900;disable_after=5")


def wait(
    policy: RetryPolicy, attempts_made: int, jitter: float = 0, retry_after: int | None = None
) -> float | None:
    at = next_attempt(policy, attempts_made, NOW, jitter, retry_after=retry_after)
    return None if at is None else (at - NOW).total_seconds()


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        (A, [60, 300, 900, 3600, 21600, None, None]),
        (B, [1, 2, 4, None, None]),
        (CUSTOM, [60, 300, 900, None]),
        (parse_retry_policy("5"), [5, None]),
    ],
    ids=["a", "b", "custom", "one"],
)
def test_the_waits_after_each_attempt(policy: RetryPolicy, waits: list[float | None]) -> None:
    assert [wait(policy, made) for made in range(1, len(waits) + 1)] == waits


@pytest.mark.parametrize(
    ("policy", "attempts_made", "jitter", "expected"),
    [
        (A, 1, 1.0, 66),
        (A, 1, 0.5, 63),
        (A, 5, 1.0, 23760),
        (B, 1, 1.0, 1.1),
        (B, 3, 1.0, 4.4),
    ],
)
def test_jitter_adds_up_to_a_tenth(
    policy: RetryPolicy, attempts_made: int, jitter: float, expected: float
) -> None:
    assert wait(policy, attempts_made, jitter) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("policy", "attempts_made", "retry_after", "expected"),
    [
        (A, 1, None, 60),
        (A, 1, 0, 60),
        (A, 1, 30, 60),  # never earlier than stated
        (A, 1, 120, 120),
        (A, 1, 300, 300),
        (A, 1, 9999, 300),  # up to the next step
        (A, 4, 7200, 7200),
        (A, 4, 99999, 21600),
        (A, 5, 99999, 21600),  # the last step has no next one
        (A, 6, 120, None),
        (B, 1, 60, 2),
        (B, 2, 3, 3),
        (B, 3, 60, 4),
        (RetryPolicy((900, 60)), 1, 3600, 900),
    ],
)
def test_retry_after_is_honoured_up_to_the_next_step(
    policy: RetryPolicy, attempts_made: int, retry_after: int | None, expected: float | None
) -> None:
    assert wait(policy, attempts_made, retry_after=retry_after) == expected


@given(
    delays=st.lists(st.integers(1, 10**8 - 1), min_size=1, max_size=12),
    data=st.data(),
    jitter=st.floats(0, 1),
    retry_after=st.none() | st.integers(0, 10**10 - 1),
)
def test_a_wait_is_never_shorter_than_stated(
    delays: list[int], data: st.DataObject, jitter: float, retry_after: int | None
) -> None:
    attempts_made = data.draw(st.integers(1, len(delays)))
    waited = wait(RetryPolicy(tuple(delays)), attempts_made, jitter, retry_after)
    assert waited is not None
    assert delays[attempts_made - 1] <= waited <= max(delays) * 1.1 + 0.001


def test_when_each_policy_disables_a_subscription() -> None:
    assert [policy.disable_after for policy in (A, B, CUSTOM)] == [None, 5, 5]


def seconds(number: float) -> datetime:
    return NOW + timedelta(seconds=number)


@pytest.mark.parametrize(
    ("per_minute", "burst", "interval"),
    [(1, 1, 60), (2, 1, 30), (30, 1, 2), (59, 1, 60 / 59), (60, 2, 60 / 59), (61, 2, 1)],
)
def test_a_pace_has_a_burst_of_two_seconds(per_minute: int, burst: int, interval: float) -> None:
    pace = Pace(per_minute)
    assert pace.burst == burst
    assert pace.interval.total_seconds() == pytest.approx(interval, abs=1e-6)


@pytest.mark.parametrize(
    ("spent_until", "allowance"),
    [(-5, 2), (0, 2), (0.001, 1), (1, 1), (1.001, 0), (2, 0), (9, 0)],
)
def test_what_a_pace_allows_by_the_time_until_which_it_is_spent(
    spent_until: float, allowance: int
) -> None:
    assert Pace(61).allowance(seconds(spent_until), NOW) == allowance


@pytest.mark.parametrize(
    ("spent_until", "claimed", "expected"),
    [(-5, 1, 1), (-5, 2, 2), (1, 1, 2), (1, 0, 1), (3, 2, 5)],
)
def test_what_is_claimed_spends_a_pace(spent_until: float, claimed: int, expected: float) -> None:
    assert Pace(61).spend(seconds(spent_until), NOW, claimed) == seconds(expected)


@pytest.mark.parametrize(("per_minute", "next_at"), [(1, 9), (30, 9), (61, 8)])
def test_the_next_one_may_be_claimed_when_the_burst_has_room(
    per_minute: int, next_at: float
) -> None:
    assert Pace(per_minute).next_at(seconds(9)) == seconds(next_at)
