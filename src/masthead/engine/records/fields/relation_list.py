"""A field that points at several records of another collection, within the same tenant."""

from __future__ import annotations

from typing import Any, ClassVar

from masthead.base import ids
from masthead.engine.records.fields.base import Decoder
from masthead.engine.records.fields.documents import TextList, decode_json
from masthead.engine.records.fields.relation import OnDelete, missing_relation


class RelationList(TextList, frozen=True, kw_only=True):
    """Distinct ids in the order given, stored and filtered as a list of texts. It has no foreign
    key: the engine checks new ids, and removes an id when its record is deleted, or refuses the
    deletion."""

    to: str
    on_delete: OnDelete = OnDelete.CLEAR
    max_items: int = 20
    indexed: bool = True
    """Always true: deleting a record has to find the records that point at it."""

    # Decoded, because expanding reads it.
    present: ClassVar[Decoder | None] = staticmethod(decode_json)

    def parse(self, value: Any) -> list[str]:
        items = super().parse(value)
        if not all(ids.is_id(item) for item in items):
            raise missing_relation(self.to)
        return items
