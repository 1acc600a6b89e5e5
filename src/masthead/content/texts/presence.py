"""Who has a text open in the editor. An open editor says so every few seconds, and is gone when it
no longer does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.identity.limits.stores import LimitStore

SAID_EVERY_SECONDS = 8
GONE_AFTER = timedelta(seconds=20)
"""Two that were lost or late, and a little."""
MOST = 20
"""The most accounts that are listed for one text."""


class Presence:
    """Kept with the counters: all processes share them, and none of it is content."""

    def __init__(
        self, store: LimitStore, now: clock.Clock, *, gone_after: timedelta = GONE_AFTER
    ) -> None:
        self._store = store
        self._now = now
        self._gone_after = gone_after

    async def note(self, tenant_id: TenantId, text_id: str, account_id: str) -> list[str]:
        """Says that the account has the text open. Returns the others."""
        now = self._now()
        seconds, gone = now.timestamp(), (now - self._gone_after).timestamp()

        def change(states: Sequence[bytes]) -> tuple[Sequence[bytes], list[str]]:
            [state] = states
            seen = msgspec.json.decode(state, type=dict[str, float]) if state else {}
            others = {each: at for each, at in seen.items() if at > gone and each != account_id}
            last = dict(list(others.items())[: MOST - 1])
            stored = msgspec.json.encode({**last, account_id: seconds})
            return [stored], sorted(others)

        return await self._store.update(tenant_id, [f"open text {text_id}"], change)
