"""The rate limiter that an API call goes through: the arithmetic over the shared counters.

Counts are exact over every process that shares the store. A refused key costs nothing more than
arithmetic: what was read when it was refused says until when it stays refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from masthead import clock
from masthead.config.values import RateLimits
from masthead.identity.directory import Tenant
from masthead.limits.sliding_window import (
    UNLIMITED,
    Admission,
    DayUsage,
    Decision,
    Limits,
    Microseconds,
    Usage,
    admit,
    limits_of,
    moment_of,
)
from masthead.limits.stores import LimitStore

MAX_REMEMBERED = 20_000

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

    async def admit(self, key_id: str, tenant: Tenant) -> Decision:
        """Counts one call of the key, or says why it must wait."""
        limits = limits_of(tenant, self._variant)
        if limits == UNLIMITED:
            return Decision(allowed=True)
        now = moment_of(self._clock())
        refusal = self._remembered_refusal(key_id, now, limits)
        if refusal is not None:
            return refusal
        call = _Call(now, limits)
        admission = await self._store.update(tenant.id, _subjects(key_id, limits), call)
        if not admission.decision.allowed:
            self._remember(key_id, admission)
        return admission.decision

    def _remembered_refusal(
        self, key_id: str, now: Microseconds, limits: Limits
    ) -> Decision | None:
        """Nobody is let in while a window is full, so what was full then is full until its time.

        The limits are today's: a better plan counts at once.
        """
        known = self._refused.get(key_id)
        if known is None:
            return None
        decision = admit(known.usage, known.today, now, limits).decision
        if not decision.allowed:
            return decision
        del self._refused[key_id]
        return None

    def _remember(self, key_id: str, refused: Admission) -> None:
        if len(self._refused) >= MAX_REMEMBERED:
            self._refused.clear()
        self._refused[key_id] = refused


def _subjects(key_id: str, limits: Limits) -> tuple[str, ...]:
    return (f"key:{key_id}",) if limits.per_day is None else (f"key:{key_id}", "day")


@dataclass(slots=True)
class _Call:
    """What a store does with the states of the key and, where there is a quota, of the day."""

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
