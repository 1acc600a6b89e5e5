"""What every event of a change says beside its own payload: the order, and what was before."""

from __future__ import annotations

from typing import Any

from masthead.records.collection import Change, Collection
from masthead.records.fields.base import Access, Field
from masthead.records.fields.documents import Json, TextList
from masthead.records.fields.text import Text

MAX_REPEATED = 5_000
"""Texts that may be longer are not repeated in events."""


def change_facts(collection: Collection, change: Change) -> dict[str, Any]:
    """What an event says beside its own payload: `sequence`, by which a consumer puts the events
    of one record in order, and after an update what changed and how it was before. Long texts and
    documents are named but not repeated."""
    if change.old is None or change.new is None:
        return {"sequence": change.record["version"] + (change.new is None)}
    changed = [
        field
        for field in told_fields(collection)
        if change.old[field.name] != change.new[field.name]
    ]
    return {
        "sequence": change.new["version"],
        "changed": [field.name for field in changed],
        "previous": {field.name: change.old[field.name] for field in changed if is_repeated(field)},
    }


def told_fields(collection: Collection) -> list[Field]:
    """Those whose changes an event tells."""
    return [field for field in collection.fields if field.read < Access.ENGINE]


def is_repeated(field: Field) -> bool:
    """Whether an event also tells the value from before."""
    if isinstance(field, Text):
        return field.max <= MAX_REPEATED
    return not isinstance(field, Json) or isinstance(field, TextList)
