"""Brings a record back from the trash, with everything that was deleted with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from masthead.base.errors import WrongState
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Collection, Pointer, Record
from masthead.engine.records.fields.relation import OnDelete
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.write.change_writer import ChangeWriter
from masthead.engine.records.write.removal import Key, Removal
from masthead.engine.records.write.trash import TRASH, TRASH_ITEMS

_ALL: Final = 10_000_000
_LATER: Final = 2
"""A version is so much later than at the deletion, which had the next one itself."""


class Restoring:
    """Constructed by `Unit.restore`, which has checked access."""

    def __init__(self, unit: ChangeWriter, entry: Record) -> None:
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
            raise WrongState(
                staff_words("Another record has this id now, so this one can't be restored.")
            )
        if key not in self._copies:
            raise WrongState(staff_words("The trash has no copy of it, so it can't be restored."))
        record = await self._prepare(collection, self._copies[key])
        await unit.insert_again(collection, record)
        async with unit.batched_inserts():
            for name, copy in self._dependents(key):
                source = unit.registry[name]
                await unit.insert_again(source, await self._as_before(source, copy))
        await self._attach()
        # Its files are those of the record again.
        await Removal(unit, into_trash=False).delete(unit.registry[TRASH], {**entry, "files": []})
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
        version."""
        known = {name: value for name, value in copy.items() if name in collection.by_name}
        record: Record = {
            **collection.default_values(),
            **known,
            "tenant_id": self._unit.tenant_id,
            "version": copy["version"] + _LATER,
        }
        for name in collection.versions_of_target:
            record[name] += _LATER
        for relation in collection.pointers:
            if record[relation.name]:
                record[relation.name] = await self._still_there(relation, record[relation.name])
        return record

    async def _still_there(self, relation: Pointer, value: Any) -> Any:
        """Without what was deleted meanwhile, such as the account of an author."""
        target = self._unit.registry[relation.to]
        if relation.on_delete is OnDelete.REFUSE:
            # A text for those who had the deleted record only is not one for everyone now.
            return value
        if isinstance(relation, RelationList):
            found = {each["id"] for each in await self._unit.find_some(target, value)}
            return [each for each in value if each in found]
        is_there = (relation.to, value) in self._copies
        if is_there or await self._unit.find(target, {"id": value}, limit=1):
            return value
        if relation.required:
            raise WrongState(
                staff_words("What it belonged to is deleted, so it can't be restored.")
            )
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
                    await self._unit.point(source, each, field, self._entry["record_id"])
