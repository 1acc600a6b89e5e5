"""How many costly lists one network may ask for: those of guests and members in the record store.

A list is counted after it was read, when its cost is known. A network that is over the limit is
refused from memory, before anything is parsed.
"""

from __future__ import annotations

from masthead.base.errors import RateLimited, Unavailable
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.identity.limits.networks import network_of
from masthead.identity.limits.sliding_window import SECOND, Limits, Microseconds, moment_of
from masthead.identity.limits.windows import Allowance, Windows

COSTLY_PER_MINUTE = 100
MAX_CACHED = 20_000

LISTS = Allowance("lists", Limits(per_minute=COSTLY_PER_MINUTE))


class ReadLimit:
    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._refused_until: dict[str, Microseconds] = {}

    def check(self, address: str) -> None:
        """Raises RateLimited while the network has no list left."""
        if not self._refused_until:
            return
        network, now = network_of(address), moment_of(self._windows.clock())
        left = self._refused_until.get(network, 0) - now
        if left > 0:
            raise _refusal(-(-left // SECOND))
        self._refused_until.pop(network, None)

    async def count(self, address: str) -> None:
        """Counts a costly list, or raises RateLimited."""
        network, now = network_of(address), moment_of(self._windows.clock())
        # The limit is the network's, whichever tenants it reads.
        try:
            _, decision = await self._windows.decide(TenantId(""), LISTS.of(network))
        except Unavailable:
            # Readers are not refused when the store is down.
            return
        if decision.allowed:
            return
        if len(self._refused_until) >= MAX_CACHED:
            self._refused_until.clear()
        self._refused_until[network] = now + decision.retry_after * SECOND
        raise _refusal(decision.retry_after)


def _refusal(seconds: int) -> RateLimited:
    return RateLimited(
        seconds,
        words(
            "An address gets at most %(number)s lists a minute that are empty, costly or larger "
            "than 1 MiB. Wait a while, or ask for fewer records or fields at a time.",
            number=COSTLY_PER_MINUTE,
        ),
    )
