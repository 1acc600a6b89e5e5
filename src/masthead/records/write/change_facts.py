"""Added to the payload of every event of a change: its sequence number and the previous values."""

from __future__ import annotations

from typing import Any

from masthead.records.collection import Change, Collection
from masthead.records.fields.base import Access, Field
from masthead.records.fields.documents import Json, TextList
from masthead.records.fields.text import Text

MAX_PREVIOUS = 5_000
"""Characters. Fields that may be longer are left out of `previous`."""


def change_facts(collection: Collection, change: Change) -> dict[str, Any]:
    """`sequence` orders the events of one record. After an update, `changed` names the changed
    fields and `previous` has their old values, without long texts and documents."""
    if change.old is None or change.new is None:
        return {"sequence": change.record["version"] + (change.new is None)}
    changed = [
        field
        for field in reported_fields(collection)
        if change.old[field.name] != change.new[field.name]
    ]
    return {
        "sequence": change.new["version"],
        "changed": [field.name for field in changed],
        "previous": {
            field.name: change.old[field.name] for field in changed if has_previous_value(field)
        },
    }


def reported_fields(collection: Collection) -> list[Field]:
    """The fields that an event's `changed` may name."""
    return [field for field in collection.fields if field.read < Access.ENGINE]


def has_previous_value(field: Field) -> bool:
    """Whether `previous` may hold the field."""
    if isinstance(field, Text):
        return field.max <= MAX_PREVIOUS
    return not isinstance(field, Json) or isinstance(field, TextList)
