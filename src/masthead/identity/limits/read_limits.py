"""How many costly lists one network may ask for: those of guests and members in the record store.

A list is counted after it was read, when its cost is known. A network that is over the limit is
refused from memory, before anything is parsed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from masthead.base import clock
from masthead.base.errors import RateLimited, Unavailable
from masthead.base.ids import TenantId
from masthead.identity.limits.networks import network_of
from masthead.identity.limits.sliding_window import (
    SECOND,
    DayUsage,
    Decision,
    Limits,
    Microseconds,
    Usage,
    admit,
    moment_of,
)
from masthead.identity.limits.stores import LimitStore

COSTLY_PER_MINUTE = 100
MAX_CACHED = 20_000

_LIMITS = Limits(per_minute=COSTLY_PER_MINUTE)
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Usage).decode


class ReadLimit:
    def __init__(self, store: LimitStore, now: clock.Clock = clock.now) -> None:
        self._store = store
        self._clock = now
        self._refused_until: dict[str, Microseconds] = {}

    def check(self, address: str) -> None:
        """Raises RateLimited while the network has no list left."""
        if not self._refused_until:
            return
        network, now = network_of(address), moment_of(self._clock())
        left = self._refused_until.get(network, 0) - now
        if left > 0:
            raise _refusal(-(-left // SECOND))
        self._refused_until.pop(network, None)

    async def count(self, address: str) -> None:
        """Counts a costly list, or raises RateLimited."""
        network, now = network_of(address), moment_of(self._clock())

        def add(states: Sequence[bytes]) -> tuple[Sequence[bytes], Decision]:
            usage = _decode(states[0]) if states[0] else Usage()
            admission = admit(usage, DayUsage(), now, _LIMITS)
            if not admission.decision.allowed:
                return states, admission.decision
            return [_encode(admission.usage)], admission.decision

        # The limit is the network's, whichever tenants it reads.
        try:
            decision = await self._store.update(TenantId(""), [_subject(network)], add)
        except Unavailable:
            # Readers are not refused when the store is down.
            return
        if decision.allowed:
            return
        if len(self._refused_until) >= MAX_CACHED:
            self._refused_until.clear()
        self._refused_until[network] = now + decision.retry_after * SECOND
        raise _refusal(decision.retry_after)


def _subject(network: str) -> str:
    # A digest, so that the store has no addresses.
    return f"lists/{hashlib.sha256(network.encode()).hexdigest()}"


def _refusal(seconds: int) -> RateLimited:
    return RateLimited(
        seconds,
        f"An address gets at most {COSTLY_PER_MINUTE} lists a minute that are empty, costly or "
        "larger than 1 MiB. Wait a while, or ask for fewer records or fields at a time.",
    )
