"""Rate limits of AI calls: per address with the platform's key, and per tenant with either key.

The counters are shared by every process.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from masthead.base import clock
from masthead.base.errors import RateLimited
from masthead.base.ids import TenantId
from masthead.features.ai.accounts import SiteAi
from masthead.identity.limits.networks import network_of
from masthead.identity.limits.sliding_window import (
    DayUsage,
    Decision,
    Limits,
    Microseconds,
    Reason,
    Usage,
    admit,
    moment_of,
)
from masthead.identity.limits.stores import LimitStore
from masthead.web.v1.errors import QuotaExceeded

PER_ADDRESS = Limits(per_minute=10)
PER_MINUTE = 60
PER_DAY = 1_000

NO_TENANT = TenantId("-")
"""Counts calls without a tenant; real ids are longer."""

DAY_IS_FULL = "The site's AI quota for today is used up. It starts again at midnight UTC."

_encode = msgspec.msgpack.Encoder().encode
_decode_usage = msgspec.msgpack.Decoder(Usage).decode
_decode_day = msgspec.msgpack.Decoder(DayUsage).decode


class AiLimits:
    def __init__(self, store: LimitStore, now: clock.Clock = clock.now) -> None:
        self._store = store
        self._clock = now

    async def admit(self, address: str, tenant_id: TenantId | None, site: SiteAi) -> None:
        """Counts one call; raises RateLimited or QuotaExceeded."""
        if not site.has_key:
            await self._count(NO_TENANT, f"ai:{network_of(address)}", PER_ADDRESS)
        # Calls without a tenant share the limits of one, so that their cost is limited too.
        await self._count(tenant_id or NO_TENANT, "ai", _limits_of(site))

    async def _count(self, tenant_id: TenantId, subject: str, limits: Limits) -> None:
        change = _Call(moment_of(self._clock()), limits)
        decision = await self._store.update(tenant_id, (subject, f"{subject}:day"), change)
        if decision.allowed:
            return
        if decision.reason is Reason.DAY:
            raise QuotaExceeded(decision.retry_after, DAY_IS_FULL)
        raise RateLimited(decision.retry_after)


class _Call(msgspec.Struct, frozen=True):
    now: Microseconds
    limits: Limits

    def __call__(self, states: Sequence[bytes]) -> tuple[Sequence[bytes], Decision]:
        usage = _decode_usage(states[0]) if states[0] else Usage()
        today = _decode_day(states[1]) if states[1] else DayUsage()
        admission = admit(usage, today, self.now, self.limits)
        if not admission.decision.allowed:
            return states, admission.decision
        return (_encode(admission.usage), _encode(admission.today)), admission.decision


def _limits_of(site: SiteAi) -> Limits:
    per_minute = PER_MINUTE if site.per_minute is None else site.per_minute
    per_day = PER_DAY if site.per_day is None else site.per_day
    if not site.has_key:
        # With the platform's key a tenant's settings can only lower the limits.
        per_minute, per_day = min(per_minute, PER_MINUTE), min(per_day, PER_DAY)
    return Limits(per_minute=per_minute, per_day=per_day)
