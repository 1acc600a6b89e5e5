"""JSON Schemas of the public API, generated from the fields that the engine validates with."""

from __future__ import annotations

from typing import Any

from masthead.engine.records.fields.base import Field
from masthead.engine.records.fields.documents import Json, TextList
from masthead.engine.records.fields.languages import LANGUAGE_TAG, MAX_TAG
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.secrets import SecretValues
from masthead.engine.records.fields.text import Email, Text, Url
from masthead.engine.records.fields.translations import MAX_TRANSLATIONS, Translations
from masthead.engine.records.fields.values import LARGEST, Date, Flag, Number, Select
from masthead.web.openapi import texts
from masthead.web.v1.parameters import Parameter
from masthead.web.v1.schema import Body, View

Schema = dict[str, Any]

_TRANSLATIONS: Schema = {
    "type": "array",
    "maxItems": MAX_TRANSLATIONS,
    "items": {
        "type": "object",
        "properties": {
            "language": {
                "type": "string",
                "maxLength": MAX_TAG,
                "pattern": f"^(?:{LANGUAGE_TAG.pattern})$",
            },
            "url": {"type": "string", "pattern": texts.WEB_ADDRESS},
        },
        "required": ["language", "url"],
        "additionalProperties": False,
    },
}


def field_schema(field: Field) -> Schema:
    """The schema of valid values, as `field.parse` checks them."""
    match field:
        case TextList():
            items: Schema = {"type": "string", "minLength": 1, "maxLength": field.max_length}
            items |= {"enum": list(field.values)} if field.values else {"pattern": texts.NOT_BLANK}
            return {"type": "array", "items": items, "maxItems": field.max_items}
        case Translations():
            return _TRANSLATIONS
        case Json():
            return {}
        case Number():
            return {
                "type": "integer" if field.whole else "number",
                "minimum": -LARGEST if field.min is None else field.min,
                "maximum": LARGEST if field.max is None else field.max,
            }
        case Flag():
            return {"type": "boolean"}
        case Select():
            return {"type": "string", "enum": list(field.values)}
        case Date():
            return {"type": "string", "format": "date-time"}
        case SecretValues():
            value: Schema = {"type": "string"}
            if field.value_pattern:
                value["pattern"] = f"^(?:{field.value_pattern.pattern})$"
            return {
                "type": "object",
                "additionalProperties": value,
                "maxProperties": field.max_items,
            }
        case Text():
            return _text(field)
        case Relation():
            return {"type": "string", "minLength": 1}
    return {"type": "string"}


def _text(field: Text) -> Schema:
    schema: Schema = {"type": "string"}
    cannot_be_empty = field.pattern is not None and not field.pattern.fullmatch("")
    if field.min or cannot_be_empty:
        schema["minLength"] = max(field.min, 1)
    schema["maxLength"] = field.max
    if isinstance(field, Email):
        schema["format"] = "idn-email"
    elif isinstance(field, Url):
        schema["pattern"] = texts.WEB_ADDRESS
    elif field.pattern:
        schema["pattern"] = f"^(?:{field.pattern.pattern})$"
    return schema


# Limits concern writers. Readers only need the type.
_ANSWER_KEYS = frozenset({"type", "format", "enum", "items"})
_COMPUTED_KEYS = frozenset({"type", "additionalProperties"})


def answer_schema(field: Field, *, is_computed: bool) -> Schema:
    """The schema of a value in an answer. A computed value has only the type of the stored one."""
    schema = field_schema(field)
    keys = _COMPUTED_KEYS if is_computed else _ANSWER_KEYS
    schema = {name: value for name, value in schema.items() if name in keys}
    if isinstance(field, TextList):
        schema["items"] = {k: v for k, v in schema["items"].items() if k in _ANSWER_KEYS}
    if isinstance(field, Number) and field.nullable:
        return nullable(schema)
    return schema


def nullable(schema: Schema) -> Schema:
    """The same or null; a schema without a type allows null already."""
    if "type" not in schema or "null" in schema["type"]:
        return schema
    changed = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        changed["enum"] = [*schema["enum"], None]
    return changed


def view_schema(view: View) -> Schema:
    properties: Schema = {}
    fuller = view.fuller or view
    for field in fuller.declared:
        name = field.name
        schema = answer_schema(field, is_computed=name in view.computed)
        schema |= texts.formats.get((view.collection.name, name), {})
        properties[name] = _described(
            nullable(schema) if name in fuller.nullable else schema, view.collection.name, field
        )
    return _with_description(
        {
            "type": "object",
            "required": [name for name in view.fields if name not in view.where_set],
            "properties": properties,
            "examples": [view_example(view)],
        },
        view.help,
    )


def body_schema(body: Body) -> Schema:
    properties: Schema = {}
    for name in body.fields:
        field = body.collection.by_name[name]
        schema = field_schema(field) | texts.inputs.get((body.collection.name, name), {})
        if name in body.required:
            schema = _not_empty(schema)
        if name in body.nullable:
            schema = nullable(schema)
        if not body.partial and name not in body.required and field.default_value():
            schema["default"] = field.default_value()
        properties[name] = _described(schema, body.collection.name, field)
    for field in body.inputs:
        properties[field.name] = _described(field_schema(field), body.collection.name, field)
    properties |= {name: texts.flags[name] for name in body.flags}
    schema = {"type": "object", "properties": properties, "examples": [body_example(body)]}
    if body.required and not body.partial:
        names = (*body.fields, *(each.name for each in body.inputs))
        schema["required"] = [name for name in names if name in body.required]
    # Unknown fields are ignored, so that newer clients work with older services.
    schema["additionalProperties"] = not body.rejects_unknown
    return _with_description(schema, body.help)


def _not_empty(schema: Schema) -> Schema:
    least = {"string": "minLength", "array": "minItems"}.get(schema["type"])
    return {"type": schema["type"], least: 1} | schema if least and "enum" not in schema else schema


def parameter_schema(parameter: Parameter) -> Schema:
    schema: Schema = {"type": "string"}
    match parameter.kind:
        case "integer":
            schema = {
                "type": "integer",
                "minimum": parameter.minimum,
                "maximum": parameter.maximum,
            }
        case "choice":
            schema["enum"] = list(parameter.choices)
        case "moment":
            schema["format"] = "date-time"
        case "date":
            schema["format"] = "date"
        case "cursor":
            schema["format"] = "cursor"
        case _:
            schema |= {"minLength": 1, "maxLength": parameter.maximum}
    if parameter.default is not None:
        schema["default"] = parameter.default
    return schema


def view_example(view: View) -> dict[str, Any]:
    record = {each.name: _example(view.collection.name, each) for each in view.declared}
    return view.of(record)


def body_example(body: Body) -> dict[str, Any]:
    examples = texts.examples.get(body.collection.name, {})
    named = texts.bodies.get(body.name, [name for name in body.fields if name in examples])
    asked = [body.collection.by_name[name] for name in named]
    asked += [each for each in body.inputs if each.name in body.required or not body.fields]
    return {each.name: _example(body.collection.name, each) for each in asked}


def _example(collection: str, field: Field) -> Any:
    known = texts.examples.get(collection, {})
    if field.name in known:
        return known[field.name]
    if field.name in texts.common_examples:
        return texts.common_examples[field.name]
    match field:
        case Select():
            return field.default or field.values[0]
        case Number():
            return field.min or 0
    return field.default_value()


def _described(schema: Schema, collection: str, field: Field) -> Schema:
    help_text = field.help or texts.fields.get(collection, {}).get(field.name, "")
    return _with_description(schema, help_text or texts.common_fields.get(field.name, ""))


def _with_description(schema: Schema, text: str) -> Schema:
    return {"description": text, **schema} if text else schema
