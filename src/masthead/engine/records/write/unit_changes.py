"""The changes of one unit for the log that realtime clients are told from:
`engine/records/change_log.py` reads it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from masthead.base.ids import TenantId
from masthead.engine.records.changes import Change
from masthead.engine.records.collection import Collection, Record

CREATED, UPDATED, DELETED = "create", "update", "delete"


class LogPlace(NamedTuple):
    """The place of a change in its tenant's log: in the order of commits, then within its unit."""

    version: int
    ordinal: int


class LocalChange(NamedTuple):
    """A change of this process, with the whole record, which the log does not hold."""

    place: LogPlace
    record: Record


class UnitChanges:
    """Gathered while the unit changes records, stored when it ends."""

    def __init__(self, tenant_id: TenantId, version: int, now: str, *, is_watched: bool) -> None:
        self._tenant_id = tenant_id
        self._version = version
        self._now = now
        self._is_watched = is_watched
        """Somebody listens, or may come back: otherwise nothing is logged."""
        self._rows: list[tuple[object, ...]] = []
        self.made: list[LocalChange] = []

    def add(self, collection: Collection, change: Change) -> None:
        if not self._is_watched:
            return
        record = change.record
        place = LogPlace(self._version, len(self.made))
        self.made.append(LocalChange(place, record))
        state = {name: record[name] for name in collection.logged_fields}
        row = (
            self._tenant_id,
            *place,
            collection.name,
            record["id"],
            _action(change),
            record["version"],
            msgspec.json.encode(state).decode(),
            _previous(collection, change),
            self._now,
        )
        self._rows.append(row)

    def take_rows(self) -> list[tuple[object, ...]]:
        """The rows to store."""
        rows, self._rows = self._rows, []
        return rows


def _action(change: Change) -> str:
    if change.old is None:
        return CREATED
    return UPDATED if change.new is not None else DELETED


def _previous(collection: Collection, change: Change) -> str | None:
    replaced = change.replaced
    previous = {name: replaced[name] for name in collection.logged_fields if name in replaced}
    return msgspec.json.encode(previous).decode() if previous else None
