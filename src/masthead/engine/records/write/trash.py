"""Deleted records that can come back: what a deletion puts into the trash. `restoring.py` brings it
back.

A deletion is one for everyone: the rows go, with their counts, lists and search entries, and the
events fire. Only copies of the rows stay, as documents in a table that no other query reads. So no
list pays for the trash, and no query can forget a condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from masthead.base import clock
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.fields.text import Email
from masthead.engine.records.write.change_writer import ChangeWriter
from masthead.engine.records.write.removal import Removal
from masthead.engine.records.write.validation import NewRecord

TRASH: Final = "trash"
"""The collection with an entry for each deleted record."""
TRASH_ITEMS: Final = "trash_items"
"""The collection of the copies: of the record, and of each that was deleted with it."""


async def put_into_trash(
    unit: ChangeWriter, collection: Collection, record: Record, removal: Removal, *, deleted_by: str
) -> None:
    """In the transaction of the deletion."""
    trashed = collection.trashed
    assert trashed is not None
    trash = unit.registry[TRASH]
    is_taken = await unit.find(trash, {"id": record["id"]}, limit=1)
    until = clock.to_text(clock.from_text(unit.now) + trashed.kept_for)
    values: Record = {
        "type": collection.name,
        "record_id": record["id"],
        "title": str(record[trashed.title])[:255] if trashed.title else "",
        "slug": record[collection.slug.name] if collection.slug else "",
        "owners": list(trashed.owners(record)),
        "deleted_by": deleted_by,
        "deleted_at": unit.now,
        "expires_at": until,
        "files": removal.files,
        "size": sum(_size_of(*each) for each in removal.moved),
        "links": removal.links,
    }
    # Mostly the id of the record, by which a program finds the entry. An id can be chosen,
    # so another record may be in the trash under the same one.
    new = NewRecord.of(trash, values)._replace(id="" if is_taken else record["id"])
    entry = await unit.insert(trash, new)
    for moved, was in removal.moved:
        unit.append(
            unit.registry[TRASH_ITEMS],
            {
                "entry_id": entry["id"],
                "type": moved.name,
                "record_id": was["id"],
                "email": next(_emails(moved, was), ""),
                "member_id": was.get("member_id", ""),
                "document": {name: value for name, value in was.items() if name != "tenant_id"},
            },
        )


def _size_of(collection: Collection, record: Record) -> int:
    trashed = collection.trashed
    return int(record[trashed.size] or 0) if trashed and trashed.size else 0


def _emails(collection: Collection, record: Record) -> Iterator[str]:
    for each in collection.fields:
        if isinstance(each, Email) and each.personal:
            yield record[each.name]
