"""How often somebody who is not signed in may ask: five times an hour per tenant and network."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import msgspec

from masthead import clock
from masthead.errors import RateLimited
from masthead.identity.limit_stores import LimitStore
from masthead.identity.networks import network_of
from masthead.ids import TenantId

PER_HOUR = 5
HOUR_SECONDS = 3600.0


class RequestLimit:
    def __init__(self, store: LimitStore, now: clock.Clock) -> None:
        self._store = store
        self._clock = now

    async def admit(self, tenant_id: TenantId, address: str) -> None:
        """Counts exports and deletions together; raises RateLimited instead of a sixth."""
        now = self._clock().timestamp()

        def count(states: Sequence[bytes]) -> tuple[list[bytes], float]:
            known: list[float] = msgspec.json.decode(states[0]) if states[0] else []
            recent = [moment for moment in known if moment > now - HOUR_SECONDS]
            if len(recent) >= PER_HOUR:
                return [states[0]], recent[0] + HOUR_SECONDS - now
            return [msgspec.json.encode([*recent, now])], 0.0

        # A digest: the store keeps nobody's address.
        subject = "gdpr/" + hashlib.sha256(network_of(address).encode()).hexdigest()
        wait = await self._store.update(tenant_id, [subject], count)
        if wait > 0:
            raise RateLimited(
                max(math.ceil(wait), 1), "Five requests an hour are taken from here. Wait a while."
            )
