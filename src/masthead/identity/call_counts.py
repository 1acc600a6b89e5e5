"""Calls of each API key per day: counted in memory and added to the stored counts a little later.

Several processes add to the same counts. A process that is killed loses its last few seconds.
Read them with `Counts.by_day(caller, api_keys, [API_CALLS], since, subjects)`, where the subjects
are ids of keys; the subject '' is all keys together.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime

from masthead.base.errors import StatementTimeout, Unavailable
from masthead.base.logs import log
from masthead.engine.records.changes import Tally
from masthead.engine.records.derived.daily_counts import DailyCounts
from masthead.identity.delayed_writes import FLUSH_SECONDS, DelayedWrites

API_CALLS = "api.calls"


class CallCounts:
    def __init__(self, counts: DailyCounts, flush_seconds: float = FLUSH_SECONDS) -> None:
        self._counts = counts
        self._pending: Counter[tuple[str, str, int]] = Counter()
        """Counts by tenant, key and day; a day's text is made when it is written, not for each
        call."""
        self._writes = DelayedWrites(self._write, flush_seconds)

    def record(self, tenant_id: str, key_id: str, now: datetime) -> None:
        self._pending[tenant_id, key_id, now.toordinal()] += 1
        self._writes.schedule()

    async def flush(self) -> None:
        await self._writes.finish()

    async def _write(self) -> None:
        counted, self._pending = self._pending, Counter()
        if not counted:
            return
        try:
            await self._counts.add_all(
                (tenant_id, Tally(API_CALLS, date.fromordinal(day).isoformat(), subject, count))
                for (tenant_id, key_id, day), count in counted.items()
                for subject in (key_id, "")
            )
        except (Unavailable, StatementTimeout):
            # Written together with the next ones.
            self._pending.update(counted)
            log.warning("call_counts.not_recorded", keys=len(counted))
