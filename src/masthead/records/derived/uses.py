"""How many records use each uploaded file. The items of the media library hold the counts, so that
a list of unused ones reads no posts."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from masthead.records.changes import Change
from masthead.records.collection import MEDIA, USES, Collection
from masthead.records.derived.list_items import listed_values
from masthead.storage import dialects


class UseCounts:
    """By how much the changes of one unit change the counts of media items."""

    def __init__(self) -> None:
        self.new_items: set[str] = set()
        """Created here. A text may have named their addresses before."""
        self._changes: dict[str, dict[str, int]] = {}

    def __bool__(self) -> bool:
        return bool(self.new_items or self._changes)

    def note(self, collection: Collection, change: Change) -> None:
        if collection.name == MEDIA and change.old is None:
            self.new_items.add(change.record["id"])
        if collection.uses is None or not change.touches(collection.uses.fields):
            return
        before, after = collection.used_files(change.old), collection.used_files(change.new)
        for ids, number in ((before - after, -1), (after - before, 1)):
            for item_id in ids:
                counts = self._changes.setdefault(item_id, {})
                name = collection.uses.counted_in
                counts[name] = counts.get(name, 0) + number

    def changes(self) -> dict[str, dict[str, int]]:
        """By item and field; what comes to nothing is left out."""
        net = {
            item_id: {name: number for name, number in counts.items() if number}
            for item_id, counts in self._changes.items()
        }
        return {item_id: counts for item_id, counts in net.items() if counts}


def use_totals() -> sa.Select[Any]:
    """How many records of each of the `collections` use each of the `keys`."""
    items = listed_values
    return (
        sa.select(items.c.value, items.c.collection, sa.func.count())
        .where(
            items.c.tenant_id == sa.bindparam("tenant", required=True),
            dialects.any_of(items.c.collection, sa.bindparam("collections", required=True)),
            items.c.field == USES,
            dialects.any_of(items.c.value, sa.bindparam("keys", required=True)),
        )
        .group_by(items.c.value, items.c.collection)
    )
