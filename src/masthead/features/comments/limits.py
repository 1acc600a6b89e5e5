"""Rate limits of comments on a site: of one author, and of all authors together.

A guest is counted by network and a signed-in author by account. Guests have a separate limit for
the whole site, so that a flood of them does not keep members from commenting."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec

from masthead.base import clock
from masthead.base.errors import RateLimited
from masthead.base.ids import TenantId
from masthead.identity.limits.networks import network_of
from masthead.identity.limits.sliding_window import DayUsage, Limits, Usage, admit, moment_of
from masthead.identity.limits.stores import LimitStore

PER_AUTHOR: Final = Limits(per_minute=5, per_hour=30)
PER_SITE: Final = {
    "guests": Limits(per_minute=30, per_hour=200),
    "members": Limits(per_minute=120, per_hour=2_000),
}

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Usage).decode


class CommentLimit:
    def __init__(self, store: LimitStore, now: clock.Clock = clock.now) -> None:
        self._store = store
        self._clock = now

    async def admit(self, tenant_id: TenantId, account_id: str, address: str) -> None:
        """Counts a comment or a change of one, or raises RateLimited."""
        group = "members" if account_id else "guests"
        limits = (PER_AUTHOR, PER_SITE[group])
        now = moment_of(self._clock())

        def count(states: Sequence[bytes]) -> tuple[Sequence[bytes], int]:
            admissions = [
                admit(_decode(state) if state else Usage(), DayUsage(), now, limit)
                for state, limit in zip(states, limits, strict=True)
            ]
            wait = max(each.decision.retry_after for each in admissions)
            if wait:
                return states, wait
            return [_encode(each.usage) for each in admissions], 0

        # A digest, so that the store has no addresses.
        author = hashlib.sha256((account_id or network_of(address)).encode()).hexdigest()
        subjects = [f"comments/{group}/{author}", f"comments/{group}"]
        wait = await self._store.update(tenant_id, subjects, count)
        if wait:
            raise RateLimited(wait, f"Too many comments at once. Try again in {_in_words(wait)}.")


def _in_words(seconds: int) -> str:
    if seconds < 90:
        return f"{seconds} seconds"
    return f"{-(-seconds // 60)} minutes"
