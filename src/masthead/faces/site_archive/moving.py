"""A record of one installation as a record of another: new ids wherever it names a record, and new
addresses of files in its texts.

Which fields hold ids, the collection declares: relations, lists of relations, and texts whose
length is that of an id. A JSON document names records by keys such as `id` or `product_id`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from masthead.base import ids
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.fields.base import Field
from masthead.engine.records.fields.documents import Json, TextList
from masthead.engine.records.fields.file import File
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.fields.secrets import Hash, Secret
from masthead.engine.records.fields.text import Email, Slug, Text
from masthead.faces.site_archive.addresses import Addresses
from masthead.faces.site_archive.new_ids import NewIds
from masthead.faces.site_archive.tables import MOVED, TENANT

Move = Callable[[Any], Any]

_ID_KEY: Final = re.compile(r"id|.*(?:_id|Id)|.*(?:_ids|Ids)")
_PLAIN: Final = (Hash, Secret, Email, Slug, File)
"""Texts that hold neither ids nor addresses."""


class Moving:
    def __init__(
        self,
        new_ids: NewIds,
        addresses: Addresses,
        old_tenant: str,
        is_known: Callable[[str], bool],
    ) -> None:
        self._new_ids = new_ids
        self._addresses = addresses
        self._is_known = is_known
        self._key = re.compile(rf"{old_tenant}/([a-z_]+)/([a-z0-9]{{15}})/(.+)", re.DOTALL)
        self._old_tenant = old_tenant
        self._moves: dict[str, dict[str, Move]] = {}
        self.tenant_id = new_ids.of(old_tenant)

    def record(self, collection: Collection, record: Record) -> Record:
        moves = self._moves.get(collection.name)
        if moves is None:
            moves = self._moves[collection.name] = self._moves_of(collection)
        moved = dict(record)
        for name, move in moves.items():
            if moved[name]:
                moved[name] = move(moved[name])
        return moved

    def row(self, table: str, row: Record) -> Record:
        """Moves a row of a table that holds no records."""
        moved = {**row, TENANT: self.tenant_id}
        for name in MOVED[table]:
            moved[name] = self._new_ids.of(row[name])
        return moved

    def object_key(self, key: str) -> str:
        """The new key of a stored file. Any other text is returned as it is."""
        match = self._key.fullmatch(key)
        if match is None:
            return key
        collection, record_id, name = match.groups()
        return f"{self.tenant_id}/{collection}/{self._new_ids.of(record_id)}/{name}"

    def _moves_of(self, collection: Collection) -> dict[str, Move]:
        found: dict[str, Move] = {"id": self._new_ids.of, TENANT: self._new_ids.of}
        for field in collection.fields:
            if move := self._move_of(field):
                found[field.name] = move
        return found

    def _move_of(self, field: Field) -> Move | None:
        if isinstance(field, Relation):
            return self._new_ids.of
        if isinstance(field, TextList):
            holds_ids = isinstance(field, RelationList) or field.max_length == ids.LENGTH
            return self._ids if holds_ids else None
        if isinstance(field, Json):
            return self._document
        if not isinstance(field, Text) or isinstance(field, _PLAIN):
            return None
        return self._new_ids.of if field.max == ids.LENGTH else self._text

    def _ids(self, values: list[str]) -> list[str]:
        return [self._new_ids.of(each) for each in values]

    def _text(self, text: str) -> str:
        if text.startswith(self._old_tenant):
            return self.object_key(text)
        return self._addresses.move(text)

    def _document(self, value: Any, names_id: bool = False) -> Any:
        if isinstance(value, str):
            is_id = names_id and ids.is_id(value) and self._is_known(value)
            return self._new_ids.of(value) if is_id else self._text(value)
        if isinstance(value, list):
            return [self._document(each, names_id) for each in value]
        if isinstance(value, dict):
            return {
                key: self._document(each, bool(_ID_KEY.fullmatch(key)))
                for key, each in value.items()
            }
        return value
