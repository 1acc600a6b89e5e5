"""The OpenAPI 3.1 description of the public API, generated from its route table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from masthead.base.config.settings import Settings
from masthead.engine.records.fields.file import File
from masthead.web.idempotency import MAX_LENGTH
from masthead.web.openapi import texts
from masthead.web.openapi.answers import (
    answer_schemas,
    answers,
    error_code_schema,
    error_components,
    error_schema,
    header_components,
)
from masthead.web.openapi.builders import JSON, schema_ref
from masthead.web.openapi.schemas import (
    Schema,
    body_example,
    body_schema,
    parameter_schema,
    view_schema,
)
from masthead.web.v1.parameters import Parameter
from masthead.web.v1.routes import PREFIX, Route

VERSION = "1.0.0"
SECURITY = "apiKey"


def build_document(routes: Iterable[Route], settings: Settings) -> dict[str, Any]:
    table = tuple(routes)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": texts.TITLE,
            "version": VERSION,
            "summary": "The public API of a Masthead service.",
            "description": texts.INTRODUCTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "externalDocs": {
            "description": "The same as a page.",
            "url": f"{settings.base_url}{PREFIX}/docs",
        },
        "servers": servers(settings),
        "security": [{SECURITY: []}],
        "tags": _tags(table),
        "paths": _paths(table, settings),
        "components": {
            "securitySchemes": {SECURITY: _SECURITY_SCHEME},
            "parameters": _PARAMETERS,
            "headers": header_components(),
            "responses": error_components(settings.error_codes),
            "schemas": _schemas(table, settings),
        },
    }


_SECURITY_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key, such as `mh_live_…`. Each operation names the scope it needs.",
}

_VERSIONS = {"type": "string"}
_PARAMETERS: dict[str, Any] = {
    "Id": {
        "name": "id",
        "in": "path",
        "required": True,
        "description": "The record's id.",
        "schema": {"type": "string", "minLength": 1},
        "example": texts.common_examples["id"],
    },
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "description": "An `ETag` that you have: the answer is 304 if nothing has changed.",
        "schema": _VERSIONS,
        "example": '"6"',
    },
    "IfMatch": {
        "name": "If-Match",
        "in": "header",
        "description": "The `ETag` of the record as you read it. If the record has changed "
        "since, it stays as it is and the answer is 412.",
        "schema": _VERSIONS,
        "example": "*",
    },
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Any text that you choose, such as a UUID. For 24 hours, a repeated "
        "call with the same key and body gets the answer of the first; with another body it "
        "is refused with 422.",
        "schema": {"type": "string", "maxLength": MAX_LENGTH},
        "example": "3f1c7a52-9c0e-4a57-8d7e-1f0a3c5b7d91",
    },
}


def servers(settings: Settings) -> list[dict[str, Any]]:
    address = urlsplit(settings.base_url)
    port = f":{address.port}" if address.port else ""
    return [
        {"url": str(settings.base_url), "description": "The service: the key decides the site."},
        {
            "url": f"{address.scheme}://{{site}}.{settings.base_domain}{port}",
            "description": "A site's own host.",
            "variables": {"site": {"default": "www", "description": "The site's slug."}},
        },
    ]


def _topic(route: Route) -> str:
    return route.tag or route.path.split("/")[1]


def _tag(route: Route) -> str:
    return texts.tags[_topic(route)][0]


def _tags(table: Sequence[Route]) -> list[dict[str, str]]:
    used = {_tag(route) for route in table}
    return [
        {"name": name, "description": text} for name, text in texts.tags.values() if name in used
    ]


def _paths(table: Sequence[Route], settings: Settings) -> dict[str, Any]:
    order = list(texts.tags)
    paths: dict[str, Any] = {}
    taken: set[str] = set()
    for route in sorted(table, key=lambda each: order.index(_topic(each))):
        operation_id = _operation_id(route, taken)
        taken.add(operation_id)
        operation = _operation(route, operation_id, settings)
        paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = operation
    return paths


def _operation_id(route: Route, taken: set[str]) -> str:
    """`update_post` is `updatePost`; if PUT shares PATCH's handler, it is `putPost`."""
    verb, *rest = route.handler.__name__.split("_")
    named = verb + "".join(word.capitalize() for word in rest)
    if named in taken:
        named = route.method.lower() + "".join(word.capitalize() for word in rest)
    return named


def _operation(route: Route, operation_id: str, settings: Settings) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": operation_id,
        "tags": [_tag(route)],
        "summary": route.summary,
        "description": _needed_scopes(route),
        # In OpenAPI 3.1 every scheme may list the required roles.
        "security": [{SECURITY: [each]} for each in (route.scope, *route.other_scopes)],
    }
    if parameters := _parameters(route):
        operation["parameters"] = parameters
    if route.is_upload:
        operation["requestBody"] = _upload_body(route, settings)
    elif route.body is not None:
        operation["requestBody"] = {
            "required": not route.body.is_optional,
            "content": {
                JSON: {"schema": schema_ref(route.body.name), "example": body_example(route.body)}
            },
        }
    return {**operation, "responses": answers(route)}


def _needed_scopes(route: Route) -> str:
    alternatives = " or ".join(f"`{each}`" for each in (route.scope, *route.other_scopes))
    return f"Needs the scope {alternatives}."


def _parameters(route: Route) -> list[dict[str, Any]]:
    applies = {
        "IfNoneMatch": route.is_cacheable,
        "IfMatch": route.method in ("PATCH", "PUT", "DELETE"),
        "IdempotencyKey": route.method == "POST" and not route.calls_out,
    }
    return [
        *([_parameter_ref("Id")] if route.has_id else []),
        *map(_path_parameter, sorted(route.path_names - {"id"})),
        *map(_query_parameter, route.parameters),
        *(_parameter_ref(name) for name, does_apply in applies.items() if does_apply),
    ]


def _path_parameter(name: str) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}
    meaning = f"The id of the {name.removesuffix('_id')}."
    return {"name": name, "in": "path", "required": True, "description": meaning, "schema": schema}


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": "query",
        "description": parameter.help,
        "schema": parameter_schema(parameter),
    }
    example = texts.CURSOR if parameter.kind == "cursor" else parameter.example
    if parameter.required:
        described["required"] = True
    if example is not None:
        described["example"] = example
    return described


def _upload_body(route: Route, settings: Settings) -> dict[str, Any]:
    assert route.body is not None, route.path
    return {
        "required": True,
        "description": f"A multipart form of at most {settings.max_upload:,} bytes.",
        "content": {"multipart/form-data": {"schema": schema_ref(route.body.name)}},
    }


def _upload_schema(route: Route) -> Schema:
    """The form: the file and other fields of the collection."""
    assert route.body is not None, route.path
    schema = body_schema(route.body)
    fields = route.body.collection.by_name
    for name in route.body.fields:
        if isinstance(fields[name], File):
            schema["properties"][name] = {
                "description": "The file. Its type is detected from its content.",
                "type": "string",
                "format": "binary",
            }
    return {name: value for name, value in schema.items() if name != "examples"}


def _schemas(table: Sequence[Route], settings: Settings) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for route in table:
        if route.view is not None:
            found[route.view.name] = view_schema(route.view)
        found |= answer_schemas(route)
        if route.body is not None:
            schema = _upload_schema(route) if route.is_upload else body_schema(route.body)
            found[route.body.name] = schema
    found["Error"] = error_schema()
    found["ErrorCode"] = error_code_schema(settings.error_codes)
    return found


def _parameter_ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/parameters/{name}"}
