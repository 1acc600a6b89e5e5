"""How often something that any visitor can cause is looked up for a site, where the page can do
without it. Counted in memory, for each process: it bounds the work, and nobody is refused."""

from __future__ import annotations

import time
from collections.abc import Callable

from masthead.base.ids import TenantId

_MOST_SITES = 10_000


class Lookups:
    def __init__(self, per_second: int, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._now = now
        self._second = 0
        self._counts: dict[TenantId, int] = {}

    def take(self, tenant_id: TenantId) -> bool:
        """False if the site has had its share of this second."""
        second = int(self._now())
        if second != self._second or len(self._counts) >= _MOST_SITES:
            self._second, self._counts = second, {}
        count = self._counts[tenant_id] = self._counts.get(tenant_id, 0) + 1
        return count <= self._per_second
