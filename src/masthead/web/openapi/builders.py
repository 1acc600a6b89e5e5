"""Functions that build nodes of an OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

JSON = "application/json"

Moment = Annotated[str, Meta(description="UTC.", extra_json_schema={"format": "date-time"})]
Yes = Annotated[bool, Meta(extra_json_schema={"const": True})]
"""Types of the structs that handlers answer with."""

ID = "k3v9q0x7m2c8b1d"
MOMENT = "2026-11-14T09:30:00.123Z"

Operation = dict[str, Any]
Paths = dict[str, dict[str, Operation]]
Security = list[dict[str, list[str]]]

COMMON_ERRORS = {
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    503: "The database or the object store does not answer.",
}


def schema_ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def operation(
    name: str,
    tag: str,
    summary: str,
    answers: Mapping[str, Any],
    *,
    errors: Sequence[int],
    error_prefix: str,
    security: Security,
    parameters: Sequence[Any] = (),
) -> Operation:
    """An operation whose errors are the components of `error_responses`."""
    error_refs = {
        str(status): {"$ref": f"#/components/responses/{error_prefix}{status}"} for status in errors
    }
    node: Operation = {"operationId": name, "tags": [tag], "summary": summary}
    if parameters:
        node["parameters"] = list(parameters)
    return {**node, "security": security, "responses": {**answers, **error_refs}}


def error_responses(
    prefix: str, schema: str, meanings: Mapping[int, str], example: Callable[[int, str], Any]
) -> dict[str, Any]:
    return {
        f"{prefix}{status}": answer(meaning, schema_ref(schema), example(status, meaning))
        for status, meaning in meanings.items()
    }


def content(schema: dict[str, Any], example: Any) -> dict[str, Any]:
    return {JSON: {"schema": schema, "example": example}}


def struct_content(example: msgspec.Struct) -> dict[str, Any]:
    """The type of the example is the schema."""
    shown = msgspec.json.decode(msgspec.json.encode(example))
    return content(schema_ref(type(example).__name__), shown)


def struct_schemas(structs: Iterable[type[msgspec.Struct]]) -> dict[str, Any]:
    """The schemas by name; their titles would repeat it."""
    template = schema_ref("{name}")["$ref"]
    _, found = msgspec.json.schema_components(set(structs), ref_template=template)
    for each in found.values():
        del each["title"]
    return found


def answer(description: str, schema: dict[str, Any], example: Any) -> dict[str, Any]:
    return {"description": description, "content": content(schema, example)}


def body(schema: dict[str, Any], example: Any) -> dict[str, Any]:
    return {"required": True, "content": content(schema, example)}


def query(name: str, description: str, schema: dict[str, Any], example: Any) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "description": description,
        "schema": schema,
        "example": example,
    }


def in_path(name: str, description: str, schema: dict[str, Any], example: Any) -> dict[str, Any]:
    return {**query(name, description, schema, example), "in": "path", "required": True}


def object_of(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


def text(description: str = "", **more: Any) -> dict[str, Any]:
    described = {"description": description} if description else {}
    return {**described, "type": "string", **more}


STORED_FILE: dict[str, Any] = {
    "200": {"description": "The file.", "content": {"*/*": {}}},
    "206": {"description": "The requested `Range`.", "content": {"*/*": {}}},
    "304": {"description": "Nothing has changed since the version in `If-None-Match`."},
    "416": {"description": "`Range` is outside the file."},
}
