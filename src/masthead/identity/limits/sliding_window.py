"""Rate limits as pure functions, without a clock or a store.

The minute and the hour are sliding windows: never more than N calls in any 60 or 3600 seconds. The
daily quota belongs to the tenant and restarts at midnight UTC. Times are microseconds since 1970.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

import msgspec

from masthead.base.config.values import RateLimits
from masthead.base.ids import TenantId
from masthead.identity.limits.plans import Plan

Microseconds = int

SECOND: Microseconds = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class LimitedTenant(Protocol):
    """A tenant, as far as its limits go."""

    @property
    def id(self) -> TenantId: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def per_minute(self) -> int | None: ...
    @property
    def per_hour(self) -> int | None: ...
    @property
    def per_day(self) -> int | None: ...


class Limits(NamedTuple):
    """None is no limit. The first two apply to each key, the last one to the whole tenant."""

    per_minute: int | None = None
    per_hour: int | None = None
    per_day: int | None = None


UNLIMITED = Limits()

# The daily quotas are the same in both variants.
PLAN_LIMITS: dict[RateLimits, dict[Plan, Limits]] = {
    RateLimits.A: {
        Plan.FREE: Limits(0, 0, 0),
        Plan.PRO: Limits(30, 1_000, 10_000),
        Plan.BUSINESS: Limits(120, 5_000, 100_000),
        Plan.AGENCY: Limits(300, 20_000),
        Plan.ENTERPRISE: UNLIMITED,
    },
    RateLimits.B: {
        Plan.FREE: Limits(0, 0, 0),
        Plan.PRO: Limits(100, None, 10_000),
        Plan.BUSINESS: Limits(100, None, 100_000),
        Plan.AGENCY: Limits(100),
        Plan.ENTERPRISE: UNLIMITED,
    },
    RateLimits.OFF: dict.fromkeys(Plan, UNLIMITED),
}


def limits_of(tenant: LimitedTenant, variant: RateLimits) -> Limits:
    """The tenant's own limits, where the operator has set any, and otherwise the plan's."""
    by_plan = PLAN_LIMITS[variant][tenant.plan]
    own = (tenant.per_minute, tenant.per_hour, tenant.per_day)
    if own == _NOTHING_SET or variant is RateLimits.OFF:
        return by_plan
    return Limits(
        by_plan.per_minute if own[0] is None else own[0],
        by_plan.per_hour if own[1] is None else own[1],
        by_plan.per_day if own[2] is None else own[2],
    )


_NOTHING_SET = (None, None, None)


_encode = msgspec.msgpack.Encoder().encode
_decode_numbers = msgspec.msgpack.Decoder(list[int]).decode
_NO_NUMBERS = msgspec.Raw(_encode([]))


class Window(msgspec.Struct, array_like=True, frozen=True):
    """The calls of a sliding window in slots, each with the time of its last call and its count.

    A slot counts until its last call has left the window, so the count is never too low. Nearly
    every call only changes the newest slot, so the others stay encoded.
    """

    # Earlier versions wrote the first three fields only, with all slots in them, and they ignore
    # the others. So both versions can share the counters while a cluster is upgraded.
    earlier_lasts: msgspec.Raw = _NO_NUMBERS
    earlier_counts: msgspec.Raw = _NO_NUMBERS
    total: int = 0
    newest: Microseconds = 0
    newest_count: int = 0
    oldest: Microseconds = 0
    """The last call of the oldest slot, which may be the newest one as well."""

    @classmethod
    def of(cls, lasts: Sequence[Microseconds], counts: Sequence[int]) -> Window:
        if not lasts:
            return cls()
        earlier = msgspec.Raw(_encode(lasts[:-1])), msgspec.Raw(_encode(counts[:-1]))
        return cls(*earlier, sum(counts), lasts[-1], counts[-1], lasts[0])

    def slots(self) -> tuple[list[Microseconds], list[int]]:
        """The times of their last calls, and their counts."""
        lasts, counts = _decode_numbers(self.earlier_lasts), _decode_numbers(self.earlier_counts)
        if self.newest_count:
            lasts.append(self.newest)
            counts.append(self.newest_count)
        return lasts, counts


class Usage(msgspec.Struct, array_like=True, frozen=True):
    """The usage of one key."""

    minute: Window = Window()
    hour: Window = Window()


class DayUsage(msgspec.Struct, array_like=True, frozen=True):
    """A tenant's usage on one day. `day` counts from 1970."""

    day: int = 0
    calls: int = 0


class Reason(StrEnum):
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"


class Decision(msgspec.Struct, frozen=True):
    """`limit`, `remaining` and `reset` describe the minute; without a limit they are None.

    At `reset`, in seconds since 1970, the first of the counted calls leaves the window.
    After `retry_after` seconds there is room for one call.
    """

    allowed: bool
    limit: int | None = None
    remaining: int | None = None
    reset: int | None = None
    retry_after: int = 0
    reason: Reason | None = None


class Admission(msgspec.Struct, frozen=True):
    decision: Decision
    usage: Usage
    today: DayUsage


def admit(usage: Usage, today: DayUsage, now: Microseconds, limits: Limits) -> Admission:
    """Counts the call if it is within all three limits. A refused call is not counted."""
    minute = _slid(usage.minute, now, MINUTE)
    hour = _slid(usage.hour, now, HOUR)
    today = _on(today, now // DAY)
    if not (
        _has_room(minute.total, limits.per_minute)
        and _has_room(hour.total, limits.per_hour)
        and _has_room(today.calls, limits.per_day)
    ):
        wait, reason = max(
            (_wait(minute, limits.per_minute, now, MINUTE), Reason.MINUTE),
            (_wait(hour, limits.per_hour, now, HOUR), Reason.HOUR),
            (_wait_for_midnight(today, limits.per_day, now), Reason.DAY),
        )
        decision = _described(minute, now, limits, wait, reason=reason)
        return Admission(decision, Usage(minute, hour), today)
    if limits.per_minute is not None:
        minute = _with_call(minute, now, SECOND)
    if limits.per_hour is not None:
        hour = _with_call(hour, now, MINUTE)
    if limits.per_day is not None:
        today = DayUsage(today.day, today.calls + 1)
    return Admission(_described(minute, now, limits), Usage(minute, hour), today)


def moment_of(now: datetime) -> Microseconds:
    return round(now.timestamp() * SECOND)


def _slid(window: Window, now: Microseconds, length: Microseconds) -> Window:
    """The window without the slots that have left it, and without slots more than a window ahead.

    The latter were written with a wrong clock and would lock the key out until that time.
    """
    if not window.total or (window.oldest > now - length and window.newest <= now + length):
        return window
    lasts, counts = window.slots()
    first, end = bisect_right(lasts, now - length), bisect_right(lasts, now + length)
    return Window.of(lasts[first:end], counts[first:end])


def _has_room(used: int, limit: int | None) -> bool:
    return limit is None or used < limit


def _wait(
    window: Window, limit: int | None, now: Microseconds, length: Microseconds
) -> Microseconds:
    """How long until the window has room for one more call."""
    if _has_room(window.total, limit):
        return 0
    if not limit:
        return length
    total = window.total
    for last, count in zip(*window.slots(), strict=True):
        total -= count
        if total < limit:
            return last + length - now
    raise AssertionError("an empty window has room")


def _on(usage: DayUsage, day: int) -> DayUsage:
    return usage if usage.day == day else DayUsage(day)


def _wait_for_midnight(today: DayUsage, limit: int | None, now: Microseconds) -> Microseconds:
    if _has_room(today.calls, limit):
        return 0
    return DAY - now % DAY


def _with_call(window: Window, now: Microseconds, slot: Microseconds) -> Window:
    if not window.total:
        return Window.of([now], [1])
    # Another machine's clock may be a little ahead; the slots have to stay in order.
    latest = max(now, window.newest)
    if latest // slot != window.newest // slot:
        lasts, counts = window.slots()
        return Window.of([*lasts, latest], [*counts, 1])
    return Window(
        window.earlier_lasts,
        window.earlier_counts,
        window.total + 1,
        latest,
        window.newest_count + 1,
        latest if window.oldest == window.newest else window.oldest,
    )


def _described(
    minute: Window,
    now: Microseconds,
    limits: Limits,
    wait: Microseconds = 0,
    *,
    reason: Reason | None = None,
) -> Decision:
    allowed = wait == 0
    retry_after = _whole_seconds(wait)
    if limits.per_minute is None:
        return Decision(allowed, retry_after=retry_after, reason=None if allowed else reason)
    has_room_at = now + _wait(minute, limits.per_minute, now, MINUTE)
    if has_room_at == now and minute.total:
        has_room_at = minute.oldest + MINUTE
    return Decision(
        allowed,
        limits.per_minute,
        max(limits.per_minute - minute.total, 0),
        _whole_seconds(has_room_at),
        retry_after,
        None if allowed else reason,
    )


def _whole_seconds(moment: Microseconds) -> int:
    """Rounded up, so that a caller who waits that long is not refused again."""
    return -(-moment // SECOND)
