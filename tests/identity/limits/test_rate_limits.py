"""The limits' arithmetic, against a plain log of every admitted call."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import rounds

from masthead.base.config.values import RateLimits
from masthead.base.ids import TenantId
from masthead.identity.directory import Tenant
from masthead.identity.limits.plans import Plan
from masthead.identity.limits.sliding_window import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    UNLIMITED,
    Admission,
    DayUsage,
    Decision,
    Limits,
    Reason,
    Usage,
    admit,
    limits_of,
    moment_of,
)

NOON = moment_of(datetime(2026, 11, 14, 12, 0, 0, tzinfo=UTC))


class Caller:
    """Calls at given times and logs each call, which the limiter itself does not."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.usage = Usage()
        self.today = DayUsage()
        self.log: list[int] = []

    def call(self, now: int) -> Decision:
        admission = self.tried(now)
        self.usage, self.today = admission.usage, admission.today
        if admission.decision.allowed:
            self.log.append(now)
        return admission.decision

    def tried(self, now: int) -> Admission:
        return admit(self.usage, self.today, now, self.limits)


def most_in_any(log: list[int], length: int) -> int:
    return max((sum(start <= each < start + length for each in log) for start in log), default=0)


def tenant(plan: Plan, *own: int | None) -> Tenant:
    per_minute, per_hour, per_day = own or (None, None, None)
    return Tenant(TenantId("t"), "t", "T", plan, per_minute, per_hour, per_day)


@pytest.mark.parametrize(
    ("variant", "plan", "expected"),
    [
        (RateLimits.A, Plan.PRO, Limits(30, 1_000, 10_000)),
        (RateLimits.A, Plan.BUSINESS, Limits(120, 5_000, 100_000)),
        (RateLimits.A, Plan.AGENCY, Limits(300, 20_000, None)),
        (RateLimits.A, Plan.ENTERPRISE, UNLIMITED),
        (RateLimits.B, Plan.PRO, Limits(100, None, 10_000)),
        (RateLimits.B, Plan.BUSINESS, Limits(100, None, 100_000)),
        (RateLimits.B, Plan.AGENCY, Limits(100, None, None)),
        (RateLimits.B, Plan.ENTERPRISE, UNLIMITED),
        (RateLimits.OFF, Plan.PRO, UNLIMITED),
    ],
)
def test_the_limits_of_each_plan(variant: RateLimits, plan: Plan, expected: Limits) -> None:
    assert limits_of(tenant(plan), variant) == expected


@pytest.mark.parametrize(
    ("plan", "own", "expected"),
    [
        (Plan.ENTERPRISE, (600, None, None), Limits(600, None, None)),
        (Plan.ENTERPRISE, (None, None, 5), Limits(None, None, 5)),
        (Plan.PRO, (60, None, None), Limits(60, 1_000, 10_000)),
        (Plan.PRO, (None, 7, 8), Limits(30, 7, 8)),
        (Plan.PRO, (None, 7, None), Limits(30, 7, 10_000)),
        (Plan.AGENCY, (0, None, None), Limits(0, 20_000, None)),
    ],
)
def test_a_tenants_own_limits_override_the_plans(
    plan: Plan, own: tuple[int | None, ...], expected: Limits
) -> None:
    assert limits_of(tenant(plan, *own), RateLimits.A) == expected
    assert limits_of(tenant(plan, *own), RateLimits.OFF) == UNLIMITED


def test_the_thirty_first_call_of_a_minute_waits_for_the_first_to_leave() -> None:
    caller = Caller(Limits(30, 1_000, 10_000))
    for number in range(30):
        decision = caller.call(NOON + number * SECOND)
        assert decision == Decision(True, 30, 29 - number, NOON // SECOND + 60)
    refused = caller.call(NOON + 30 * SECOND)
    assert refused == Decision(False, 30, 0, NOON // SECOND + 60, 30, Reason.MINUTE)
    assert not caller.call(NOON + MINUTE - 1).allowed
    assert caller.call(NOON + MINUTE).allowed
    assert not caller.call(NOON + MINUTE).allowed


def test_the_calls_of_a_burst_leave_the_window_together() -> None:
    caller = Caller(Limits(30))
    start = NOON + SECOND // 2
    assert sum(caller.call(start).allowed for _ in range(100)) == 30
    refused = caller.call(start + 1)
    assert (refused.retry_after, refused.reset) == (60, NOON // SECOND + 61)
    assert sum(caller.call(start + MINUTE).allowed for _ in range(100)) == 30


@pytest.mark.parametrize(
    ("milliseconds", "reset_seconds"),
    [
        ([0], 60),
        ([0, 1_000], 60),
        # The calls of one second leave together, with the last of them.
        ([0, 200], 61),
        ([0, 200, 1_000], 61),
        ([0, 1_000, 1_200], 60),
        ([0, 1_000, 1_200, 2_000], 60),
    ],
)
def test_reset_is_when_the_first_of_the_counted_calls_leave(
    milliseconds: list[int], reset_seconds: int
) -> None:
    caller = Caller(Limits(30))
    decisions = [caller.call(NOON + each * SECOND // 1_000) for each in milliseconds]
    assert decisions[-1].reset == NOON // SECOND + reset_seconds


def test_the_hour_refuses_with_its_own_wait_and_the_minutes_headers() -> None:
    caller = Caller(Limits(30, 60, None))
    for minute in range(2):
        assert all(caller.call(NOON + minute * MINUTE).allowed for _ in range(30))
    now = NOON + 3 * MINUTE
    refused = caller.call(now)
    assert refused == Decision(False, 30, 30, now // SECOND, 57 * 60, Reason.HOUR)
    assert not caller.call(NOON + HOUR - 1).allowed
    assert caller.call(NOON + HOUR).allowed


def test_retry_after_is_the_longest_wait() -> None:
    caller = Caller(Limits(2, 2, None))
    assert [caller.call(NOON).allowed for _ in range(3)] == [True, True, False]
    assert caller.call(NOON).retry_after == 3600
    assert caller.call(NOON).reason is Reason.HOUR


def test_the_quota_restarts_at_midnight_utc() -> None:
    caller = Caller(Limits(per_day=2))
    late = moment_of(datetime(2026, 11, 14, 23, 59, 58, 500_000, tzinfo=UTC))
    assert [caller.call(late).allowed for _ in range(3)] == [True, True, False]
    refused = caller.call(late)
    assert refused == Decision(False, retry_after=2, reason=Reason.DAY)
    midnight = moment_of(datetime(2026, 11, 15, tzinfo=UTC))
    assert not caller.call(midnight - 1).allowed
    assert [caller.call(midnight).allowed for _ in range(3)] == [True, True, False]
    assert caller.call(midnight).retry_after == DAY // SECOND


def test_a_refused_call_is_not_counted() -> None:
    caller = Caller(Limits(1, 10, 10))
    for _ in range(50):
        caller.call(NOON)
    assert (caller.usage.hour.total, caller.today.calls) == (1, 1)


def test_a_limit_of_zero_refuses_every_call() -> None:
    refused = Caller(Limits(0)).call(NOON)
    assert refused == Decision(False, 0, 0, NOON // SECOND + 60, 60, Reason.MINUTE)


def test_a_changed_limit_takes_effect_immediately() -> None:
    caller = Caller(Limits(3))
    for second in range(3):
        caller.call(NOON + second * SECOND)
    caller.limits = Limits(5)
    assert caller.call(NOON + 3 * SECOND).remaining == 1
    caller.limits = Limits(2)
    refused = caller.call(NOON + 4 * SECOND)
    # Four calls count; three of them have to leave before there is room.
    assert (refused.allowed, refused.remaining, refused.retry_after) == (False, 0, 58)


def test_a_clock_that_was_a_year_ahead_does_not_lock_the_key_out() -> None:
    caller = Caller(Limits(1, 1))
    assert caller.call(NOON + 365 * DAY).allowed
    assert caller.call(NOON).allowed


def test_a_machine_whose_clock_is_behind_counts_the_same_calls() -> None:
    caller = Caller(Limits(2))
    assert caller.call(NOON).allowed
    assert caller.call(NOON - 3 * SECOND).allowed
    assert not caller.call(NOON - 2 * SECOND).allowed
    assert caller.usage.minute.slots()[0] == [NOON]


def test_the_state_of_a_busy_key_stays_small() -> None:
    caller = Caller(Limits(300, 20_000))
    for tick in range(2 * 3600 * 4):
        caller.call(NOON + tick * SECOND // 4)
    assert len(caller.usage.minute.slots()[0]) <= 61
    assert len(caller.usage.hour.slots()[0]) <= 61
    encoded = msgspec.msgpack.encode(caller.usage)
    assert len(encoded) < 1_500
    assert msgspec.msgpack.decode(encoded, type=Usage) == caller.usage


class EarlierWindow(msgspec.Struct, array_like=True):
    """As 0.1.0 stores it: every slot is in the lists."""

    lasts: list[int] = []
    counts: list[int] = []
    total: int = 0


def test_the_counted_calls_of_an_earlier_version_go_on_counting() -> None:
    stored = EarlierWindow([NOON - 90 * SECOND, NOON - 30 * SECOND, NOON], [1, 2, 3], 6)
    caller = Caller(Limits(7, 7))
    encoded = msgspec.msgpack.encode([stored, stored])
    caller.usage = msgspec.msgpack.decode(encoded, type=Usage)
    decision = caller.call(NOON + SECOND)
    assert (decision.remaining, decision.reset) == (1, NOON // SECOND + 30)
    assert not caller.call(NOON + SECOND).allowed
    assert caller.usage.hour.slots()[1] == [1, 2, 4]


def test_an_earlier_version_reads_the_counted_calls() -> None:
    caller = Caller(Limits(9, 9))
    for second in (0, 1, 1, 2):
        caller.call(NOON + second * SECOND)
    encoded = msgspec.msgpack.encode(caller.usage)
    minute, hour = msgspec.msgpack.decode(encoded, type=tuple[EarlierWindow, EarlierWindow])
    assert (minute.lasts, minute.counts) == ([NOON, NOON + SECOND], [1, 2])
    assert (minute.total, hour.total) == (4, 4)


gaps = st.lists(
    st.one_of(
        st.just(0),
        st.integers(1, 3 * SECOND),
        st.integers(1, 90 * SECOND),
        st.sampled_from([SECOND, MINUTE - 1, MINUTE, HOUR - 1, HOUR]),
    ),
    min_size=1,
    max_size=120,
)
some_limits = st.builds(
    Limits, st.integers(1, 6), st.integers(1, 12), st.one_of(st.none(), st.integers(1, 20))
)


@settings(max_examples=rounds(120, 900), deadline=None)
@given(gaps=gaps, limits=some_limits, start=st.integers(0, DAY))
def test_no_window_ever_exceeds_its_limit_and_the_wait_is_right(
    gaps: list[int], limits: Limits, start: int
) -> None:
    caller = Caller(limits)
    now = NOON + start
    for gap in gaps:
        now += gap
        decision = caller.call(now)
        if decision.allowed:
            continue
        assert decision.retry_after >= 1
        assert caller.tried(now + decision.retry_after * SECOND).decision.allowed
        assert decision.reset is not None
        if decision.reason is Reason.MINUTE:
            assert decision.retry_after <= 60
            assert 0 <= decision.reset - now / SECOND - decision.retry_after + 1 < 2
    assert limits.per_minute is not None
    assert limits.per_hour is not None
    assert most_in_any(caller.log, MINUTE) <= limits.per_minute
    assert most_in_any(caller.log, HOUR) <= limits.per_hour
    days = [each // DAY for each in caller.log]
    if limits.per_day is not None:
        assert all(days.count(day) <= limits.per_day for day in set(days))


@settings(max_examples=rounds(80, 600), deadline=None)
@given(seconds=st.lists(st.integers(0, 200), min_size=1, max_size=80), limit=st.integers(1, 6))
def test_calls_a_second_apart_are_counted_exactly(seconds: list[int], limit: int) -> None:
    """The slots cost nothing where a slot holds one call: what is refused was really too much."""
    caller = Caller(Limits(limit))
    for now in sorted({NOON + second * SECOND for second in seconds}):
        recent = sum(each > now - MINUTE for each in caller.log)
        assert caller.call(now).allowed == (recent < limit)
