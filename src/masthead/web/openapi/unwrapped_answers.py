"""Describes answers of the API that are not views of a record, by method and path.

Their handlers build them by hand, so they are described by hand; a test compares the two.
"""

from __future__ import annotations

from typing import Any

from masthead.web.openapi.builders import schema_ref
from masthead.web.openapi.schemas import Schema, view_example, view_schema
from masthead.web.v1.routes import Route

_ID = {"type": "string"}
_SECRET = {
    "description": "Signs every delivery. Shown only once.",
    "type": "string",
    "minLength": 64,
    "maxLength": 64,
}
_WEBHOOK_ID = "w3h5k7m9p1r3t5v"
_SECRET_EXAMPLE = "4f8c1e6a9b2d7053" * 4

_SECRET_ROTATED: Schema = {
    "type": "object",
    "required": ["id", "secret"],
    "properties": {"id": _ID, "secret": _SECRET},
}
_TESTED: Schema = {
    "type": "object",
    "required": [
        "webhook_id",
        "event",
        "success",
        "status_code",
        "duration_ms",
        "error",
        "delivered_at",
    ],
    "properties": {
        "webhook_id": _ID,
        "event": {"type": "string", "const": "test.ping"},
        "success": {"description": "Whether the answer was 2xx in time.", "type": "boolean"},
        "status_code": {"description": "0 if there was no answer.", "type": "integer"},
        "duration_ms": {"type": "integer"},
        "error": {"description": "What went wrong.", "type": ["string", "null"]},
        "delivered_at": {"type": "string", "format": "date-time"},
    },
}
_EVENTS: Schema = {
    "type": "object",
    "required": ["items"],
    "properties": {
        "items": {
            "description": "At most 100.",
            "type": "array",
            "maxItems": 100,
            "items": {
                "type": "object",
                "required": ["id", "event", "created", "data"],
                "properties": {
                    "id": {"description": "The same in every poll.", "type": "string"},
                    "event": {"type": "string"},
                    "created": {"description": "Unix seconds.", "type": "integer"},
                    "data": {"description": "The event's payload.", "type": "object"},
                },
            },
        }
    },
}

_TEST_LETTER: Schema = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "data": {
            "type": "object",
            "required": ["post_id", "to", "subject"],
            "properties": {
                "post_id": {"type": "string"},
                "to": {"type": "string", "format": "email"},
                "subject": {"description": "Begins with `[Test]`.", "type": "string"},
            },
        }
    },
}

_FIXED: dict[tuple[str, str], tuple[str, Schema, Any]] = {
    ("POST", "/webhooks/{id}/rotate-secret"): (
        "WebhookSecret",
        _SECRET_ROTATED,
        {"id": _WEBHOOK_ID, "secret": _SECRET_EXAMPLE},
    ),
    ("POST", "/webhooks/{id}/test"): (
        "WebhookTest",
        _TESTED,
        {
            "webhook_id": _WEBHOOK_ID,
            "event": "test.ping",
            "success": True,
            "status_code": 204,
            "duration_ms": 84,
            "error": None,
            "delivered_at": "2026-11-14T09:30:00.123Z",
        },
    ),
    ("POST", "/mailings/test"): (
        "MailingTestAccepted",
        _TEST_LETTER,
        {
            "data": {
                "post_id": "k3v9q0x7m2c8b1d",
                "to": "ada@example.com",
                "subject": "[Test] The lighthouse keeps its own hours",
            }
        },
    ),
    ("GET", "/webhooks/events"): (
        "Events",
        _EVENTS,
        {
            "items": [
                {
                    "id": "e2g4i6k8m0o2q4s",
                    "event": "post.published",
                    "created": 1_794_648_600,
                    "data": {"post_id": "k3v9q0x7m2c8b1d", "slug": "the-lighthouse"},
                }
            ]
        },
    ),
}


def unwrapped_answer(route: Route) -> tuple[str, Schema, Any]:
    """Name, schema and example of the endpoint's answer."""
    known = _FIXED.get((route.method, route.path))
    if known:
        return known
    assert route.view is not None, route.path
    schema, example = view_schema(route.view), view_example(route.view)
    if (route.method, route.path) == ("POST", "/webhooks"):
        schema = {
            **schema,
            "required": [*schema["required"], "secret"],
            "properties": {**schema["properties"], "secret": _SECRET},
        }
        schema["examples"] = [{**example, "secret": _SECRET_EXAMPLE}]
        return f"{route.view.name}Created", schema, schema["examples"][0]
    if not route.has_id:
        listed = {
            "type": "object",
            "required": ["items", "total"],
            "properties": {
                "items": {"type": "array", "items": schema_ref(route.view.name)},
                "total": {"type": "integer", "minimum": 0},
            },
        }
        return f"{route.view.name}List", listed, {"items": [example], "total": 1}
    return route.view.name, schema, example
