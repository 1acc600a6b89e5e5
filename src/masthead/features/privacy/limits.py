"""Rate limits of data-protection requests, because each of them sends an email.

Requests are counted per account (per network for anonymous callers) and per site: one member can't
fill a mailbox, and many together can't misuse the service to send emails. Members, owners and
anonymous callers are counted separately, so that none of them uses up another one's limit.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import msgspec

from masthead.base import clock
from masthead.base.caller import Caller, Kind
from masthead.base.errors import RateLimited
from masthead.base.ids import TenantId
from masthead.identity.limits.networks import network_of
from masthead.identity.limits.stores import LimitStore

HOUR_SECONDS = 3600.0


class Allowance(msgspec.Struct, frozen=True):
    """Exports and deletions together, per hour."""

    name: str
    per_caller: int
    per_site: int


ANONYMOUS = Allowance("network", 5, 100)
MEMBERS = Allowance("member", 20, 200)
OWNERS = Allowance("owner", 60, 200)


class RequestLimit:
    def __init__(self, store: LimitStore, now: clock.Clock) -> None:
        self._store = store
        self._clock = now

    async def admit(self, tenant_id: TenantId, session: Caller | None, address: str) -> None:
        """Counts a request, or raises RateLimited."""
        allowance, caller = ANONYMOUS, network_of(address)
        if session is not None:
            allowance, caller = MEMBERS if session.kind is Kind.MEMBER else OWNERS, session.id
        now = self._clock().timestamp()

        def count(states: Sequence[bytes]) -> tuple[list[bytes], float]:
            recent = [_recent(state, now) for state in states]
            most = (allowance.per_caller, allowance.per_site)
            waits = [
                known[0] + HOUR_SECONDS - now
                for known, limit in zip(recent, most, strict=True)
                if len(known) >= limit
            ]
            if waits:
                return list(states), max(waits)
            return [msgspec.json.encode([*known, now]) for known in recent], 0.0

        wait = await self._store.update(tenant_id, _subjects(allowance, caller), count)
        if wait > 0:
            raise RateLimited(
                max(math.ceil(wait), 1),
                f"{allowance.per_caller} requests an hour are allowed per {allowance.name}, "
                f"and {allowance.per_site} per site. Try again later.",
            )


def _recent(state: bytes, now: float) -> list[float]:
    known: list[float] = msgspec.json.decode(state) if state else []
    return [moment for moment in known if moment > now - HOUR_SECONDS]


def _subjects(allowance: Allowance, caller: str) -> list[str]:
    # A digest, so that the store holds no address.
    digest = hashlib.sha256(caller.encode()).hexdigest()
    return [f"gdpr/{allowance.name}/{digest}", f"gdpr/{allowance.name}"]
