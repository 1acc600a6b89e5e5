"""Views of a site's pages: counted in memory after the answer, and written a little later.

In the path of a request are only an addition, and a look at its headers. Robots are sorted out and
readers are recognised when the counts are written. Several processes add to the same counts. A
process that is killed loses its last few seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from masthead.base import clock
from masthead.base.clock import Clock
from masthead.base.errors import StatementTimeout, Unavailable
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.features.statistics.sources import DIRECT, Sources
from masthead.features.statistics.storing import Uncertain, View, ViewStore
from masthead.identity.delayed_writes import FLUSH_SECONDS, DelayedWrites
from masthead.web.answers import header_lines
from masthead.web.request import Viewed

if TYPE_CHECKING:
    from masthead.identity.directory import Tenant
    from masthead.web.request import Request

MANY: Final = 5_000
"""So many different views are written at once, before their time."""
MOST: Final = 50_000
"""The most different views in memory, while the database takes none."""
MAX_USER_AGENT: Final = 300
"""Bytes of a User-Agent that are looked at. Known robots name themselves in fewer."""
_EARLY: Final = (b"sec-purpose", b"purpose", b"x-moz")
"""Headers of a page that a browser fetches before its reader wants it."""
_EARLY_WORDS: Final = (b"prefetch", b"prerender", b"preview")

_REMEMBERED: Final = 10_000
"""Answers by User-Agent. To match one against the list takes half a millisecond."""
_DAY_SECONDS: Final = 24 * 3600
_FIRST_DAY: Final = date(1970, 1, 1).toordinal()

Lines = dict[bytes, list[bytes]]
_Seen = tuple[TenantId, int, Viewed, str, bytes, str]
"""Site, day, page, source, User-Agent and address of a view: the last two are never stored. The
address is empty for readers who don't want to be recognised."""


class ViewCounts:
    """An observer of answers: see `web/observers.py`."""

    def __init__(
        self,
        store: ViewStore,
        base_domain: str,
        now: Clock,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self._store = store
        self._sources = Sources(base_domain)
        self._day = _day_of(now)
        self._pending: dict[_Seen, int] = {}
        self._dropped = 0
        self._writes = DelayedWrites(self._write, flush_seconds)

    def note_answer(self, request: Request, status: int, _seconds: float) -> None:
        viewed = request.viewed
        if viewed is None or (status != 200 and status != 304):
            return
        scope, tenant = request.scope, request.tenant
        lines = header_lines(scope)
        user_agents = lines.get(b"user-agent")
        if user_agents is None or tenant is None or scope["method"] != "GET" or _is_early(lines):
            return
        source = DIRECT
        if b"referer" in lines or scope["query_string"]:
            source = self._source_of(tenant, scope["query_string"], lines)
        address = request.address
        if (b"sec-gpc" in lines and _is_one(lines[b"sec-gpc"])) or (
            b"dnt" in lines and _is_one(lines[b"dnt"])
        ):
            address = ""
        user_agent = user_agents[0][:MAX_USER_AGENT]
        seen = (tenant.id, self._day(), viewed, source, user_agent, address)
        pending = self._pending
        known = pending.get(seen)
        if known is not None:
            pending[seen] = known + 1
        else:
            self._add(seen)

    def _source_of(self, tenant: Tenant, query: bytes, lines: Lines) -> str:
        referrers = lines.get(b"referer")
        referrer = referrers[0] if referrers else b""
        return self._sources.of(tenant, lines[b"host"][0], query, referrer)

    def _add(self, seen: _Seen) -> None:
        if len(self._pending) < MOST:
            self._pending[seen] = 1
        else:
            self._dropped += 1
        self._writes.schedule()
        if len(self._pending) > MANY:
            self._writes.hurry()

    async def flush(self) -> None:
        await self._writes.finish()

    async def _write(self) -> None:
        counted, self._pending = self._pending, {}
        if not counted:
            return
        try:
            # In a thread: a User-Agent that was not seen before takes half a millisecond.
            await self._store.add(await asyncio.to_thread(_of_people, counted))
        except Uncertain:
            # They may be stored: rather some views are lost than any is counted twice.
            log.warning("views.maybe_not_recorded", views=sum(counted.values()))
        except (Unavailable, StatementTimeout):
            # Written together with the next ones.
            for seen, number in counted.items():
                self._pending[seen] = self._pending.get(seen, 0) + number
            log.warning("views.not_recorded", views=sum(counted.values()), dropped=self._dropped)
            self._dropped = 0


def _day_of(now: Clock) -> Callable[[], int]:
    """The ordinal of the day, in UTC. A datetime of the system's clock takes half a microsecond, a
    fifth of all that a request spends on its view."""
    if now is clock.now:
        return lambda: int(time.time() // _DAY_SECONDS) + _FIRST_DAY
    return lambda: now().toordinal()


def _of_people(counted: dict[_Seen, int]) -> list[View]:
    views = []
    for (tenant_id, day, viewed, source, user_agent, address), number in counted.items():
        if user_agent and not is_bot(user_agent.decode("latin-1")):
            reader = (address, user_agent) if address else None
            text = date.fromordinal(day).isoformat()
            views.append(View(tenant_id, text, viewed, source, reader, number))
    return views


def _is_early(lines: Lines) -> bool:
    if b"sec-purpose" in lines or b"purpose" in lines or b"x-moz" in lines:
        given = b" ".join(b" ".join(lines.get(name, ())) for name in _EARLY).lower()
        return any(word in given for word in _EARLY_WORDS)
    return False


def _is_one(values: list[bytes]) -> bool:
    return values[0].strip() == b"1"


@lru_cache(maxsize=_REMEMBERED)
def is_bot(user_agent: str) -> bool:
    """Asks the list of the library crawler-user-agents. The first call loads and compiles it, which
    takes a tenth of a second."""
    from crawleruseragents import is_crawler

    found: bool = is_crawler(user_agent)
    return found
