"""When a failed delivery is tried again."""

from __future__ import annotations

from datetime import datetime, timedelta

from masthead.config.values import RetryPolicy

MAX_JITTER = 0.1
"""Share of a delay that may be added to it; nothing is ever taken off."""


def next_attempt(
    policy: RetryPolicy,
    attempts_made: int,
    now: datetime,
    jitter: float,
    retry_after: int | None = None,
) -> datetime | None:
    """None: the attempts are used up. `jitter` is between 0 and 1.

    `retry_after`: the seconds that the receiver asked for; they make a wait longer, up to the delay
    of the step after this one, and never shorter.
    """
    upcoming = policy.delays_seconds[attempts_made - 1 : attempts_made + 1]
    if not upcoming:
        return None
    asked_for = min(retry_after or 0, upcoming[-1])
    wait_seconds = max(upcoming[0], asked_for)
    return now + timedelta(seconds=wait_seconds * (1 + MAX_JITTER * jitter))
