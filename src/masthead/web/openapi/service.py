"""The OpenAPI 3.1 description of everything outside the public API: the record store, data
protection, AI, payment receivers and health."""

from __future__ import annotations

from typing import Any

from masthead.config.settings import Settings
from masthead.records.collection import Registry
from masthead.web.answers import encode
from masthead.web.dispatch import Route
from masthead.web.openapi import platform, record_store
from masthead.web.openapi.answers import error_code_schema, error_schema
from masthead.web.openapi.endpoints import StaticResponse
from masthead.web.openapi.public_api import VERSION, servers

DOCUMENT = "/api/openapi.json"

_INTRODUCTION = """\
The endpoints of a Masthead service outside the public API `/api/v1`, whose description is at
`/api/v1/openapi.json`.

**Tenants.** The host names the tenant: `<slug>.<base domain>` or its own domain. On the service's
own host the header `x-tenant-id` does.

**Record store.** Every collection at PocketBase's endpoints, so that its clients work unchanged.
What a caller may see and change depends on the session; an invalid token is ignored.

**Errors** of the record store have PocketBase's shape, `{"status", "code", "message", "data"}`; all
others that of the public API, `{"error": {"code", "message", "details"}}`. Every answer has an
`X-Request-Id`, which the operator finds in the log.
"""

_TAGS = {
    record_store.TAG: "Records of any collection.",
    record_store.ACCOUNTS_TAG: "Signing in as staff or a member.",
    record_store.FILES_TAG: "Stored files.",
    platform.AI: "Text from an AI provider, as a stream.",
    platform.PRIVACY: "Exports and deletions of personal data.",
    platform.PAYMENTS: "What the payment processor calls.",
    platform.HEALTH: "For load balancers and monitors.",
}

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
        "description": "The tenant alone, if `MASTHEAD_GDPR_HEADER_AUTH` allows it.",
    },
}


def build_service_document(registry: Registry, settings: Settings) -> dict[str, Any]:
    names = [each.name for each in registry.collections]
    accounts = [each.name for each in registry.collections if each.is_auth]
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
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": {**record_store.paths(names, accounts), **platform.paths()},
        "components": {
            "securitySchemes": _SECURITY_SCHEMES,
            "responses": {**record_store.responses(), **platform.responses()},
            "schemas": {
                **record_store.schemas(),
                **platform.schemas(),
                "Error": error_schema(),
                "ErrorCode": error_code_schema(settings.error_codes),
            },
        },
    }


def service_description_routes(registry: Registry, settings: Settings) -> list[Route]:
    def document() -> bytes:
        return encode(build_service_document(registry, settings))

    return [StaticResponse(document, "application/json").at(DOCUMENT)]
