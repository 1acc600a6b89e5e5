"""The OpenAPI 3.1 description of everything outside the public API: the record store, data
protection, AI, payment receivers and health."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from masthead.base.config.settings import Settings
from masthead.engine.records.registry import Registry
from masthead.web.answers import encode
from masthead.web.dispatch import Route
from masthead.web.openapi.answers import error_code_schema, error_schema
from masthead.web.openapi.builders import COMMON_ERRORS, error_responses, struct_schemas
from masthead.web.openapi.description import Envelope, operation_of
from masthead.web.openapi.endpoints import StaticResponse
from masthead.web.openapi.public_api import VERSION, servers
from masthead.web.rows import RouteRow

DOCUMENT = "/api/openapi.json"

_INTRODUCTION = """\
The endpoints of a Masthead service outside the public API `/api/v1`, whose description is at
`/api/v1/openapi.json`.

**Tenants.** The host names the tenant: `<slug>.<base domain>` or its own domain. On the service's
own host, the header `x-tenant-id` names it.

**Record store.** Every collection is at PocketBase's endpoints, so its clients work unchanged. The
session decides what a caller can see and change; an invalid token is ignored.

**Errors** of the record store have PocketBase's format, `{"status", "code", "message", "data"}`;
all others have the public API's, `{"error": {"code", "message", "details"}}`. Every answer has an
`X-Request-Id`, which the operator finds in the log.
"""

COLLECTIONS = "x-collections"
"""Marks a parameter that names a collection: `ALL` of them, or those of `ACCOUNTS`."""
ALL, ACCOUNTS = "all", "accounts"

_SECURITY_SCHEMES = {
    "session": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token of a session, from `auth-with-password`.",
    },
    "tenant": {
        "type": "apiKey",
        "in": "header",
        "name": "x-tenant-id",
        "description": "Only the tenant, if `MASTHEAD_GDPR_HEADER_AUTH` allows it.",
    },
}


class Part(msgspec.Struct, frozen=True):
    """A part of the service: its rows, and what its refusals look like."""

    rows: Sequence[RouteRow]
    tags: Mapping[str, str]
    """Tags with their descriptions."""
    responses: Mapping[str, Any] = msgspec.field(default_factory=dict)


def build_service_document(
    parts: Sequence[Part], registry: Registry, settings: Settings
) -> dict[str, Any]:
    rows = [row for part in parts for row in part.rows]
    schemas = {name: each for row in rows for name, each in row.description.schemas.items()}
    schemas |= struct_schemas(each for row in rows for each in row.description.structs)
    paths: dict[str, dict[str, Any]] = {}
    for row in rows:
        operation = operation_of(row.description, row.policy)
        if "parameters" in operation:
            operation["parameters"] = [_named(each, registry) for each in operation["parameters"]]
        paths.setdefault(row.path, {})[row.method.split()[0].lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Masthead service",
            "version": VERSION,
            "summary": "The record store and the service's other endpoints.",
            "description": _INTRODUCTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": servers(settings),
        "tags": [
            {"name": name, "description": each}
            for part in parts
            for name, each in part.tags.items()
        ],
        "paths": paths,
        "components": {
            "securitySchemes": _SECURITY_SCHEMES,
            "responses": refusals() | dict(_own_refusals(parts)),
            "schemas": {
                **schemas,
                "Error": error_schema(),
                "ErrorCode": error_code_schema(settings.error_codes),
            },
        },
    }


def _own_refusals(parts: Sequence[Part]) -> Iterator[tuple[str, Any]]:
    for part in parts:
        yield from part.responses.items()


def _named(parameter: dict[str, Any], registry: Registry) -> dict[str, Any]:
    """With the names of the collections that there are."""
    which = parameter.get(COLLECTIONS)
    if which is None:
        return parameter
    names = [each.name for each in registry.collections if which == ALL or each.is_auth]
    shown = {name: value for name, value in parameter.items() if name != COLLECTIONS}
    return {**shown, "schema": {**parameter["schema"], "enum": names}}


def service_description_routes(
    parts: Sequence[Part], registry: Registry, settings: Settings
) -> list[Route]:
    def document() -> bytes:
        return encode(build_service_document(parts, registry, settings))

    return [StaticResponse(document, "application/json").at(DOCUMENT)]


_MEANINGS = {
    400: "The request can't be parsed, or a value is missing.",
    401: "The call needs a session, or the tenant header if the operator allows it.",
    403: "The caller may not do this.",
    404: "There is nothing at this address, or the link is no longer valid.",
    422: "A value is well-formed but wrong.",
    429: "Too many calls; `Retry-After` says how many seconds to wait.",
    **COMMON_ERRORS,
}
_CODES = {
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    422: "VALIDATION_ERROR",
    429: "RATE_LIMITED",
    503: "INTERNAL_ERROR",
}


def refusals() -> dict[str, Any]:
    """In the envelope of the public API."""
    return error_responses(Envelope.SERVICE, "Error", _MEANINGS, _error_example)


def _error_example(status: int, message: str) -> dict[str, Any]:
    details = {"member_id": ["There is no such member."]} if status == 422 else {}
    code = _CODES.get(status, "BAD_REQUEST")
    return {"error": {"code": code, "message": message, "details": details}}
