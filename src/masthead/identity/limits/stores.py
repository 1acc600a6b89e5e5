"""Stores for rate-limit counters that all processes share.

A store has one operation: it reads states, computes new ones and writes them, atomically.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from masthead.base import clock
from masthead.base.config.settings import SettingsError
from masthead.base.ids import TenantId
from masthead.storage.database import Database

FILE_NAME = "limits.db"
EXPIRE_SECONDS = 2 * 24 * 3600

Result = TypeVar("Result")
Change = Callable[[Sequence[bytes]], tuple[Sequence[bytes], Result]]


class LimitStore(Protocol):
    async def update(
        self, tenant_id: TenantId, subjects: Sequence[str], change: Change[Result]
    ) -> Result:
        """Calls `change` with the states of the subjects, b"" for a new one, and stores what it
        returns. `change` may run several times and must be pure.

        Raises `Unavailable` when the store does not answer.
        """
        ...

    async def sweep(self) -> None:
        """Deletes counters that were unused for longer than any window. The worker calls it."""
        ...

    async def close(self) -> None: ...


def open_limit_store(
    redis_url: str | None, database: Database, data_dir: Path, now: clock.Clock = clock.now
) -> LimitStore:
    """Redis if configured, otherwise the database. SQLite has one writer, which must not count
    every call, so there the counters are in a file of their own."""
    # Imported here, so that only one of them is loaded.
    if redis_url is not None:
        try:
            from masthead.identity.limits.store_redis import RedisLimitStore
        except ModuleNotFoundError as error:
            raise SettingsError(
                "MASTHEAD_REDIS_URL needs the client of Redis, which is not installed: run "
                "pip install 'masthead[redis]', or remove the setting."
            ) from error
        return RedisLimitStore(redis_url)
    if database.has_one_writer:
        from masthead.identity.limits.store_sqlite import SqliteLimitStore

        return SqliteLimitStore(data_dir / FILE_NAME, now)
    from masthead.identity.limits.store_postgres import PostgresLimitStore

    return PostgresLimitStore(database, now)
