"""The rate limiter of API calls, on counters that all processes share.

Counts are exact over all processes. A refused key is cached until its window has room, so that
further calls do not reach the store.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from masthead.base import clock
from masthead.base.config.values import RateLimits
from masthead.identity.limits.sliding_window import (
    DAY,
    UNLIMITED,
    Admission,
    DayUsage,
    Decision,
    LimitedTenant,
    Limits,
    Microseconds,
    Usage,
    admit,
    limits_of,
    moment_of,
)
from masthead.identity.limits.stores import LimitStore

MAX_CACHED = 20_000
DAY_SUBJECT = "day"

_encode = msgspec.msgpack.Encoder().encode
_decode_usage = msgspec.msgpack.Decoder(Usage).decode
_decode_day = msgspec.msgpack.Decoder(DayUsage).decode


class RateLimiter:
    def __init__(
        self, store: LimitStore, variant: RateLimits, now: clock.Clock = clock.now
    ) -> None:
        self._store = store
        self._variant = variant
        self._clock = now
        self._refused: dict[str, Admission] = {}

    async def admit(self, key_id: str, tenant: LimitedTenant) -> Decision:
        """Counts one call of the key, or refuses it."""
        limits = limits_of(tenant, self._variant)
        if limits == UNLIMITED:
            return Decision(allowed=True)
        now = moment_of(self._clock())
        refusal = self._cached_refusal(key_id, now, limits)
        if refusal is not None:
            return refusal
        call = _Call(now, limits)
        admission = await self._store.update(tenant.id, _subjects(key_id, limits), call)
        if not admission.decision.allowed:
            self._cache(key_id, admission)
        return admission.decision

    async def calls_today(self, tenant: LimitedTenant) -> int | None:
        """The calls of all keys since midnight UTC; None where no quota counts them."""
        if limits_of(tenant, self._variant).per_day is None:
            return None
        today = moment_of(self._clock()) // DAY
        usage = await self._store.update(tenant.id, (DAY_SUBJECT,), _read_day)
        return usage.calls if usage.day == today else 0

    def _cached_refusal(self, key_id: str, now: Microseconds, limits: Limits) -> Decision | None:
        """A full window stays full until its first calls leave it, so the cached usage decides.

        The limits are the current ones, so that a new plan takes effect at once.
        """
        cached = self._refused.get(key_id)
        if cached is None:
            return None
        decision = admit(cached.usage, cached.today, now, limits).decision
        if not decision.allowed:
            return decision
        del self._refused[key_id]
        return None

    def _cache(self, key_id: str, refused: Admission) -> None:
        if len(self._refused) >= MAX_CACHED:
            self._refused.clear()
        self._refused[key_id] = refused


def _subjects(key_id: str, limits: Limits) -> tuple[str, ...]:
    key = f"key:{key_id}"
    return (key,) if limits.per_day is None else (key, DAY_SUBJECT)


def _read_day(states: Sequence[bytes]) -> tuple[Sequence[bytes], DayUsage]:
    return states, _decode_day(states[0]) if states[0] else DayUsage()


class _Call(msgspec.Struct):
    """The update of the key's state and, if there is a quota, of the day's."""

    now: Microseconds
    limits: Limits

    def __call__(self, states: Sequence[bytes]) -> tuple[Sequence[bytes], Admission]:
        usage = _decode_usage(states[0]) if states[0] else Usage()
        today = _decode_day(states[1]) if len(states) > 1 and states[1] else DayUsage()
        admission = admit(usage, today, self.now, self.limits)
        if not admission.decision.allowed:
            return states, admission
        encoded = (_encode(admission.usage), _encode(admission.today))
        return encoded[: len(states)], admission
