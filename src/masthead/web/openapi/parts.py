"""Small parts that the description of the service's other addresses is put together from."""

from __future__ import annotations

from typing import Any

JSON = "application/json"

ID = "k3v9q0x7m2c8b1d"
MOMENT = "2026-11-14T09:30:00.123Z"

Operation = dict[str, Any]
Paths = dict[str, dict[str, Operation]]


def ref(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def content(schema: dict[str, Any], example: Any) -> dict[str, Any]:
    return {JSON: {"schema": schema, "example": example}}


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
    "206": {"description": "The part that `Range` asks for.", "content": {"*/*": {}}},
    "304": {"description": "Nothing has changed since the version in `If-None-Match`."},
    "416": {"description": "`Range` lies outside the file."},
}
