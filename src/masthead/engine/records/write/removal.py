"""Deletes a record and what goes with it: dependents, references in records that stay, files."""

from __future__ import annotations

from masthead.base.errors import WrongState
from masthead.engine.records.collection import Collection, Pointer, Record
from masthead.engine.records.fields.relation import OnDelete
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.write.change_writer import ChangeWriter
from masthead.engine.records.write.relations import (
    find_dependents,
    is_deleted_with_target,
    value_without,
)

Key = tuple[str, str]
"""A collection's name and a record's id."""
Link = list[str]
"""A record that stays and pointed at the deleted one: collection, id and field, and the field's
value after the deletion."""


class Removal:
    """One deletion. Into the trash, it gathers what a restore needs, and the files stay."""

    def __init__(self, unit: ChangeWriter, *, into_trash: bool) -> None:
        self._unit = unit
        self._into_trash = into_trash
        self.moved: list[tuple[Collection, Record]] = []
        self.files: list[str] = []
        """The keys of stored files."""
        self._detached: dict[Key, tuple[Record, list[Link]]] = {}

    @property
    def links(self) -> list[Link]:
        return [link for _, links in self._detached.values() for link in links]

    async def delete(
        self, collection: Collection, record: Record, *, taken_back: bool = False
    ) -> None:
        await self._release(collection, record)
        await self._unit.delete_row(collection, record, taken_back=taken_back)
        files = self._unit.file_keys(collection, record)
        if not self._into_trash:
            await self._unit.remove_files(files)
            return
        # A reply may have lost the comment that it answers a moment before: the copy has it.
        was, _ = self._detached.pop((collection.name, record["id"]), (record, []))
        self.moved.append((collection, {**was, "version": record["version"]}))
        self.files += files

    async def _release(self, collection: Collection, record: Record) -> None:
        """Deletes or detaches the records that point at this one, each as a separate change."""
        for source, relation in self._unit.registry.referrers[collection.name]:
            while found := await find_dependents(
                self._unit, source, relation, record_id=record["id"]
            ):
                if relation.on_delete is OnDelete.REFUSE:
                    raise WrongState(collection.in_use)
                for dependent in found:
                    if not is_deleted_with_target(relation):
                        await self._detach(source, relation, dependent, record)
                        continue
                    # The deletion of another may have changed it: that of the comment above.
                    for each in await self._reread(source, dependent):
                        await self.delete(source, each)

    async def _reread(self, collection: Collection, record: Record) -> list[Record]:
        if all(relation.to != collection.name for relation in collection.relations):
            return [record]
        return await self._unit.find(collection, {"id": record["id"]}, limit=1)

    async def _detach(
        self, source: Collection, relation: Pointer, dependent: Record, target: Record
    ) -> None:
        """A reply points at the comment above from now on."""
        after = value_without(relation, dependent, target)
        if self._into_trash:
            key = (source.name, dependent["id"])
            _, links = self._detached.setdefault(key, (dependent, []))
            if not isinstance(relation, RelationList):
                links.append([*key, relation.name, after])
        await self._unit.point(source, dependent, relation.name, after)
