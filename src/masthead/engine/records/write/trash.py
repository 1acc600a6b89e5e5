"""Deleted records that can come back: what a deletion puts into the trash, and its restore.

A deletion is one for everyone: the rows go, with their counts, lists and search entries, and the
events fire. Only copies of the rows stay, as documents in a table that no other query reads. So no
list pays for the trash, and no query can forget a condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from masthead.base import clock
from masthead.base.errors import WrongState
from masthead.engine.records.collection import Collection, Pointer, Record
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.fields.text import Email
from masthead.engine.records.write.validation import NewRecord

if TYPE_CHECKING:
    from masthead.engine.records.write.unit import Unit

TRASH: Final = "trash"
"""The collection with an entry for each deleted record."""
TRASH_ITEMS: Final = "trash_items"
"""The collection of the copies: of the record, and of each that was deleted with it."""
_ALL: Final = 10_000_000

Key = tuple[str, str]
"""A collection's name and a record's id."""
Link = list[str]
"""A record that stays and pointed at the deleted one: collection, id and field, and the field's
value after the deletion."""


class Removal:
    """Gathers what one deletion removes."""

    def __init__(self) -> None:
        self.moved: list[tuple[Collection, Record]] = []
        self.files: list[str] = []
        """The keys of stored files."""
        self._detached: dict[Key, tuple[Record, list[Link]]] = {}

    def note_deleted(self, collection: Collection, record: Record, files: Sequence[str]) -> None:
        """A reply may have lost the comment that it answers a moment before: the copy has it."""
        was, _ = self._detached.pop((collection.name, record["id"]), (record, []))
        self.moved.append((collection, {**was, "version": record["version"]}))
        self.files += files

    def note_detached(
        self, collection: Collection, relation: Pointer, record: Record, after: Any
    ) -> None:
        """`after` is what the relation points at from now on: a reply at the comment above."""
        _, links = self._detached.setdefault((collection.name, record["id"]), (record, []))
        if not isinstance(relation, RelationList):
            links.append([collection.name, record["id"], relation.name, after])

    @property
    def size(self) -> int:
        """The bytes of its files, without copies in other sizes."""
        return sum(_size_of(*each) for each in self.moved)

    @property
    def links(self) -> list[Link]:
        return [link for _, links in self._detached.values() for link in links]


async def put_into_trash(
    unit: Unit, collection: Collection, record: Record, removal: Removal, *, deleted_by: str
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
        "size": removal.size,
        "links": removal.links,
    }
    # Mostly the id of the record, by which a program finds the entry. An id can be chosen,
    # so another record may be in the trash under the same one.
    new = NewRecord.of(trash, values)._replace(id="" if is_taken else record["id"])
    entry = await unit.store(trash, new)
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


class Restoring:
    def __init__(self, unit: Unit, entry: Record) -> None:
        self._unit = unit
        self._entry = entry
        self._copies: dict[Key, Record] = {}

    async def run(self) -> Record:
        unit, entry = self._unit, self._entry
        items = await unit.find(unit.registry[TRASH_ITEMS], {"entry_id": entry["id"]}, limit=_ALL)
        self._copies = {(each["type"], each["record_id"]): each["document"] for each in items}
        key = (entry["type"], entry["record_id"])
        collection = unit.registry[entry["type"]]
        if await unit.find(collection, {"id": entry["record_id"]}, limit=1):
            raise WrongState("Another record has this id now, so this one can't be restored.")
        if key not in self._copies:
            raise WrongState("The trash has no copy of it, so it can't be restored.")
        record = await self._prepare(collection, self._copies[key])
        await unit.bring_back(collection, record)
        async with unit.batched_inserts():
            for name, copy in self._dependents(key):
                source = unit.registry[name]
                await unit.bring_back(source, await self._as_before(source, copy))
        await self._attach()
        await unit.remove_entry(entry)
        return record

    async def _prepare(self, collection: Collection, copy: Record) -> Record:
        """The record itself: also by the rules for texts that hold now."""
        assert collection.trashed is not None
        record = await self._as_before(collection, copy)
        record.update(collection.trashed.restored(record, self._unit.now))
        rendering = collection.rendering
        if rendering is not None and record[rendering.made_by] != rendering.rules:
            text = record[rendering.of]
            [rendered] = await rendering.make_anyway([text]) if text else [""]
            record.update(rendering.stored(text, rendered))
        return record

    async def _as_before(self, collection: Collection, copy: Record) -> Record:
        """With the fields that the collection has now. Events of one record are numbered by its
        version, and the deletion had the next one."""
        known = {name: value for name, value in copy.items() if name in collection.by_name}
        record: Record = {
            **collection.default_values(),
            **known,
            "tenant_id": self._unit.tenant_id,
            "version": copy["version"] + 2,
        }
        for relation in collection.pointers:
            if record[relation.name]:
                record[relation.name] = await self._still_there(relation, record[relation.name])
        return record

    async def _still_there(self, relation: Pointer, value: Any) -> Any:
        """Without what was deleted meanwhile, such as the account of an author."""
        target = self._unit.registry[relation.to]
        if isinstance(relation, RelationList):
            found = {each["id"] for each in await self._unit.find_some(target, value)}
            return [each for each in value if each in found]
        is_there = (relation.to, value) in self._copies
        if is_there or await self._unit.find(target, {"id": value}, limit=1):
            return value
        if relation.required:
            raise WrongState("What it belonged to is deleted, so it can't be restored.")
        return ""

    def _dependents(self, root: Key) -> Iterator[tuple[str, Record]]:
        """All other copies, each after those that it points at."""
        waiting: dict[Key, list[Key]] = {}
        for key, copy in self._copies.items():
            if key != root:
                waiting.setdefault(self._own_target(key[0], copy) or root, []).append(key)
        ready = [root]
        while ready:
            for key in waiting.pop(ready.pop(), ()):
                yield key[0], self._copies[key]
                ready.append(key)

    def _own_target(self, name: str, copy: Record) -> Key | None:
        """The record of the same collection that a copy points at, as a reply at a comment."""
        for relation in self._unit.registry[name].relations:
            target = (relation.to, copy.get(relation.name, ""))
            if relation.to == name and target in self._copies:
                return target
        return None

    async def _attach(self) -> None:
        for name, record_id, field, after in self._entry["links"]:
            source = self._unit.registry[name]
            for each in await self._unit.find(source, {"id": record_id}, limit=1):
                if each[field] == after:
                    await self._unit.attach(source, each, field, self._entry["record_id"])
