"""The database, with a count of its reads."""

from __future__ import annotations

from typing import Any

from masthead.storage.database import Database, Row


class CountingDatabase:
    def __init__(self, database: Database) -> None:
        self._database = database
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def fetch(self, *given: Any, **more: Any) -> list[Row]:
        self.reads += 1
        return await self._database.fetch(*given, **more)
