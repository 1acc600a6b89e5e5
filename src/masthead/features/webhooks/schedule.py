"""When a failed delivery is tried again, and how many a subscription gets in a minute."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from masthead.base.config.values import RetryPolicy

MAX_JITTER = 0.1
"""Share of a delay that may be added to it; a delay is never shortened."""


def next_attempt(
    policy: RetryPolicy,
    attempts_made: int,
    now: datetime,
    jitter: float,
    *,
    retry_after: int | None = None,
) -> datetime | None:
    """None if the attempts are used up. `jitter` is between 0 and 1.

    `retry_after` is the receiver's Retry-After in seconds. It can make the delay longer, up to the
    next delay of the policy, and never shorter.
    """
    next_delays = policy.delays_seconds[attempts_made - 1 : attempts_made + 1]
    if not next_delays:
        return None
    requested = min(retry_after or 0, next_delays[-1])
    wait_seconds = max(next_delays[0], requested)
    return now + timedelta(seconds=wait_seconds * (1 + MAX_JITTER * jitter))


class Pace(msgspec.Struct, frozen=True):
    """At most so many deliveries in any minute, evenly: what was claimed is counted by the time
    until which the pace is spent, which the queue stores."""

    per_minute: int

    @property
    def burst(self) -> int:
        """So many may be claimed at once: those of two seconds, as workers look twice a second."""
        return max(self.per_minute // 30, 1)

    @property
    def interval(self) -> timedelta:
        """With the burst, a minute has no more than it may."""
        return timedelta(minutes=1) / (self.per_minute - self.burst + 1)

    def allowance(self, spent_until: datetime, now: datetime) -> int:
        """How many may be claimed now."""
        ahead = max(spent_until - now, timedelta())
        return max(self.burst - -(-ahead // self.interval), 0)

    def spend(self, spent_until: datetime, now: datetime, claimed: int) -> datetime:
        return max(spent_until, now) + claimed * self.interval

    def next_at(self, spent_until: datetime) -> datetime:
        """When one more may be claimed."""
        return spent_until - (self.burst - 1) * self.interval
