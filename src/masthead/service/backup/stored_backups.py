"""The backups in the folder or bucket of `MASTHEAD_BACKUP_TO`. Their names have their times: an
archive appears when it is complete, so the newest name is the last good backup."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from masthead.storage.objects import ObjectStore
from masthead.storage.open_objects import open_object_store

_NAME: Final = re.compile(r"masthead-([0-9]{8}-[0-9]{6})\.tar")
_TIME: Final = "%Y%m%d-%H%M%S"
_BUCKET: Final = "s3://"


class StoredBackups:
    def __init__(self, place: str) -> None:
        self._place = place.rstrip("/")

    def address(self, moment: datetime) -> str:
        """Where the backup of a moment is, as `masthead restore` takes it."""
        return f"{self._place}/masthead-{moment.astimezone(UTC).strftime(_TIME)}.tar"

    async def newest(self) -> datetime | None:
        """Raises `Unavailable`."""
        names = await self._names()
        return _time_of(names[-1]) if names else None

    async def remove_all_but(self, number: int) -> list[str]:
        """Removes the oldest ones, and no other file."""
        old = (await self._names())[:-number]
        objects = self._open()
        for name in old:
            await objects.delete(name)
        return old

    async def _names(self) -> list[str]:
        """The oldest one first."""
        found = [key async for key in self._open().list_keys()]
        return sorted(key for key in found if _NAME.fullmatch(key))

    def _open(self) -> ObjectStore:
        is_bucket = self._place.startswith(_BUCKET)
        return open_object_store(self._place if is_bucket else f"file://{quote(self._place)}")


def _time_of(name: str) -> datetime:
    match = _NAME.fullmatch(name)
    assert match is not None
    return datetime.strptime(match[1], _TIME).replace(tzinfo=UTC)
