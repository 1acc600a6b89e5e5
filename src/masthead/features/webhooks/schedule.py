"""When a failed delivery is tried again."""

from __future__ import annotations

from datetime import datetime, timedelta

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
