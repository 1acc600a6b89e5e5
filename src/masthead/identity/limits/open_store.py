"""Opens the store of rate-limit counters that the settings name."""

from __future__ import annotations

from pathlib import Path

from masthead.base import clock
from masthead.base.config.settings import SettingsError
from masthead.identity.limits.stores import LimitStore
from masthead.storage.database import Database

FILE_NAME = "limits.db"


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
