"""A process of its own that hammers one key; its arguments are where, and how many calls.

It says `ready`, waits for a line, makes its calls 16 at a time, and prints how many were admitted
and which waits the others were told.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from masthead.base.clock import Clock
from masthead.base.config.values import RateLimits
from masthead.base.ids import TenantId
from masthead.identity.directory import Tenant
from masthead.identity.limits.open_store import open_limit_store
from masthead.identity.limits.plans import Plan
from masthead.identity.limits.rate_limiter import RateLimiter
from masthead.identity.limits.stores import LimitStore
from masthead.storage.open import open_database

TENANT = Tenant(TenantId("hammeredtenant1"), "t", "T", Plan.PRO, None, None, None)
KEY = "hammeredkey0001"
NOW = datetime(2026, 11, 14, 9, 30, tzinfo=UTC)
AT_ONCE = 16


@asynccontextmanager
async def opened(where: str, now: Clock) -> AsyncIterator[LimitStore]:
    """The store behind a Redis or PostgreSQL URL, or in a folder."""
    is_redis = where.startswith("unix:")
    with TemporaryDirectory() as folder:
        is_postgres = where.startswith("postgresql")
        database = await open_database(where if is_postgres else f"sqlite:///{folder}/masthead.db")
        store = open_limit_store(where if is_redis else None, database, Path(where), now)
        try:
            yield store
        finally:
            await store.close()
            await database.close()


async def main(where: str, calls: int) -> None:
    async with opened(where, lambda: NOW) as store:
        limiter = RateLimiter(store, RateLimits.A, lambda: NOW)
        say("ready")
        sys.stdin.readline()
        outcomes: Counter[tuple[bool, int]] = Counter()
        for _ in range(calls // AT_ONCE):
            made = await asyncio.gather(*(limiter.admit(KEY, TENANT) for _ in range(AT_ONCE)))
            outcomes.update((each.allowed, each.retry_after) for each in made)
    waits = {wait for allowed, wait in outcomes if not allowed}
    say(outcomes[True, 0], *sorted(waits))


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def run() -> None:
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
