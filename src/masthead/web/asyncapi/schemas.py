"""JSON Schemas of deliveries, generated from the event catalog and the collections' fields."""

from __future__ import annotations

from typing import Any

from masthead.engine.events.catalog import Cause, EventKind, Fact
from masthead.engine.records.collection import Collection, has_short_values
from masthead.engine.records.fields.base import Field
from masthead.engine.records.registry import Registry
from masthead.web.openapi.schemas import Schema, answer_schema, nullable

RESTORABLE = frozenset({"posts", "pages", "media", "comments"})
"""The collections whose records can come back from the trash."""
ONCE = frozenset({"comment.received"})
"""Fire once in the life of a record, and so not when it comes back."""


def payload_schema(kind: EventKind, registry: Registry) -> Schema:
    """The `payload` of an event. More fields may come with later versions."""
    collection = registry[kind.collection]
    properties: Schema = {fact.name: _fact_schema(fact, collection) for fact in kind.facts}
    required = [fact.name for fact in kind.facts if not fact.where_true]
    if kind.causes:
        properties["sequence"] = _SEQUENCE
        required.append("sequence")
    is_restorable = collection.name in RESTORABLE and kind.name not in ONCE
    if Cause.CREATE in kind.causes and is_restorable:
        properties["restored"] = _RESTORED
    if Cause.UPDATE in kind.causes:
        properties |= {"changed": _CHANGED, "previous": _previous_schema(collection)}
    if kind.causes == {Cause.UPDATE}:
        required += ["changed", "previous"]
    return {
        "type": "object",
        "description": f"Fires when {kind.trigger}.",
        "required": required,
        "properties": properties,
        "examples": [kind.example],
    }


def envelope_schema(kind: EventKind, payload: Schema) -> Schema:
    """The whole body of a delivery."""
    return {
        "type": "object",
        "required": ["event", "timestamp", "payload"],
        "properties": {
            "event": {"type": "string", "const": kind.name, "description": "The event's name."},
            "timestamp": {
                "type": "integer",
                "description": "When it happened, in Unix seconds; the same for all retries.",
            },
            "payload": payload,
        },
    }


def _fact_schema(fact: Fact, collection: Collection) -> Schema:
    schema: Schema = {"type": "string"}
    if fact.field is not None:
        schema = answer_schema(collection.by_name[fact.field], is_computed=False)
    return {"description": fact.help, **(nullable(schema) if fact.nullable else schema)}


def _previous_schema(collection: Collection) -> Schema:
    fields = [each for each in collection.reported_fields.values() if has_short_values(each)]
    return {
        "type": "object",
        "description": "The previous values of the changed fields. Long texts and documents are "
        "left out. An empty date, address or relation is an empty text, as in the record store.",
        "properties": {field.name: _previous_value(field) for field in fields},
    }


def _previous_value(field: Field) -> Schema:
    """Without the format, which an empty text does not have."""
    schema: dict[str, Any] = answer_schema(field, is_computed=False)
    return {name: value for name, value in schema.items() if name != "format"}


_SEQUENCE = {
    "type": "integer",
    "minimum": 1,
    "description": "Counts the changes of this record. Events may arrive late or out of order: "
    "drop one whose number is lower than the last you have handled for the record.",
}
_RESTORED = {
    "type": "boolean",
    "const": True,
    "description": "The record came back from the trash. Left out otherwise.",
}
_CHANGED = {
    "type": "array",
    "items": {"type": "string"},
    "description": "The record's fields that changed. Present only if the record was updated.",
}
