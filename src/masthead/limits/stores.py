"""Where rate-limit counters live so that every process counts the same calls.

A store does one thing: read some states, compute new ones, write them, with nobody in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from masthead import clock
from masthead.ids import TenantId
from masthead.storage.database import Database

FILE_NAME = "limits.db"

Result = TypeVar("Result")


class LimitStore(Protocol):
    async def update(
        self,
        tenant_id: TenantId,
        subjects: Sequence[str],
        change: Callable[[Sequence[bytes]], tuple[Sequence[bytes], Result]],
    ) -> Result:
        """Gives `change` the states of the subjects, b"" where there is none yet, and keeps what
        it returns. `change` may run several times and must be pure.

        Raises `Unavailable` when the store does not answer.
        """
        ...

    async def sweep(self) -> None:
        """Drops what has not been used for longer than any window; the worker calls it."""
        ...

    async def close(self) -> None: ...


def open_limit_store(
    redis_url: str | None, database: Database, data_dir: Path, now: clock.Clock = clock.now
) -> LimitStore:
    """Redis when there is one, else the database, unless it has one writer: counting every call
    would take the writer's time, so the limits are in a file next to it."""
    # Imported here, so that a start pays for one of them only.
    if redis_url is not None:
        from masthead.limits.store_redis import RedisLimitStore

        return RedisLimitStore(redis_url)
    if database.has_one_writer:
        from masthead.limits.store_sqlite import SqliteLimitStore

        return SqliteLimitStore(data_dir / FILE_NAME, now)
    from masthead.limits.store_postgres import PostgresLimitStore

    return PostgresLimitStore(database, now)
