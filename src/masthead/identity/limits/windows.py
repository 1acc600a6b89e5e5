"""Limits of what costs more than a page: each place declares what it allows, and counts it here.

The counters are those of the API's limits, shared by every process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from masthead.base import clock
from masthead.base.errors import RateLimited
from masthead.base.ids import TenantId
from masthead.identity.limits.sliding_window import (
    DayUsage,
    Decision,
    Limits,
    Microseconds,
    Usage,
    admit,
    moment_of,
)
from masthead.identity.limits.stores import LimitStore

_encode = msgspec.msgpack.Encoder().encode
_decode_usage = msgspec.msgpack.Decoder(Usage).decode
_decode_day = msgspec.msgpack.Decoder(DayUsage).decode


class Allowance(NamedTuple):
    name: str
    limits: Limits
    refusal: str = RateLimited.message

    def of(self, key: str) -> Allowance:
        """The allowance of one account or network, by a digest: the store holds no address."""
        return self._replace(name=f"{self.name}/{hashlib.sha256(key.encode()).hexdigest()}")

    @property
    def subjects(self) -> tuple[str, ...]:
        has_day = self.limits.per_day is not None
        return (self.name, f"{self.name}:day") if has_day else (self.name,)


class Windows(msgspec.Struct, frozen=True):
    store: LimitStore
    clock: clock.Clock

    async def take(self, tenant_id: TenantId, *allowances: Allowance) -> None:
        """Counts one in each allowance if all have room, or raises RateLimited."""
        refused, decision = await self.decide(tenant_id, *allowances)
        if not decision.allowed:
            raise RateLimited(decision.retry_after, refused.refusal)

    async def decide(
        self, tenant_id: TenantId, *allowances: Allowance
    ) -> tuple[Allowance, Decision]:
        """Like `take`, but returns the refusal with the longest wait."""
        subjects = [subject for each in allowances for subject in each.subjects]
        change = _Count(moment_of(self.clock()), allowances)
        return await self.store.update(tenant_id, subjects, change)


class _Count(msgspec.Struct, frozen=True):
    now: Microseconds
    allowances: Sequence[Allowance]

    def __call__(
        self, states: Sequence[bytes]
    ) -> tuple[Sequence[bytes], tuple[Allowance, Decision]]:
        left, counted, decided = iter(states), [], []
        for each in self.allowances:
            found = [next(left) for _ in each.subjects]
            usage = _decode_usage(found[0]) if found[0] else Usage()
            today = _decode_day(found[1]) if found[1:] and found[1] else DayUsage()
            admission = admit(usage, today, self.now, each.limits)
            counted += [_encode(admission.usage), _encode(admission.today)][: len(found)]
            decided.append((each, admission.decision))
        longest = max(decided, key=lambda each: each[1].retry_after)
        return (counted if longest[1].allowed else states), longest
