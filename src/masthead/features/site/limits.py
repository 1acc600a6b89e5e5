"""How often a site may start what costs more than a page: test mails, checks of its domain."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from masthead.base.errors import RateLimited
from masthead.base.ids import TenantId
from masthead.identity.limits.sliding_window import DayUsage, Limits, Usage, admit, moment_of
from masthead.identity.limits.stores import LimitStore

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Usage).decode


class SiteLimit:
    def __init__(self, store: LimitStore, subject: str, limits: Limits, refusal: str) -> None:
        self._store = store
        self._subject = subject
        self._limits = limits
        self._refusal = refusal

    async def count(self, tenant_id: TenantId, at: datetime) -> None:
        """Raises RateLimited."""
        now = moment_of(at)

        def add(states: Sequence[bytes]) -> tuple[Sequence[bytes], int]:
            usage = _decode(states[0]) if states[0] else Usage()
            admission = admit(usage, DayUsage(), now, self._limits)
            wait = admission.decision.retry_after
            return (states, wait) if wait else ([_encode(admission.usage)], 0)

        wait = await self._store.update(tenant_id, (self._subject,), add)
        if wait:
            raise RateLimited(wait, self._refusal)
