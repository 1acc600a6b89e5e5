"""The AsyncAPI 3.0 description of webhook deliveries, generated from the catalog of events."""

from __future__ import annotations

from typing import Any

from masthead.base.config.settings import Settings
from masthead.engine.events.catalog import CATALOG, Category, EventKind
from masthead.engine.records.registry import Registry
from masthead.web.asyncapi import texts
from masthead.web.asyncapi.schemas import envelope_schema, payload_schema

VERSION = "1.0.0"
_JSON = "application/json"
_SERVER = "subscriber"

Node = dict[str, Any]


def build_document(registry: Registry, settings: Settings) -> Node:
    return {
        "asyncapi": "3.0.0",
        "id": "urn:masthead:events",
        "info": {
            "title": texts.TITLE,
            "version": VERSION,
            "description": texts.INTRODUCTION,
            "license": {"name": "MIT"},
            "contact": {"name": "The Masthead maintainers"},
            "tags": [{"name": str(each), "description": texts.tags[each]} for each in Category],
            "externalDocs": {
                "description": "The API in which subscriptions are made.",
                "url": f"{settings.base_url}/api/v1/docs",
            },
        },
        "defaultContentType": _JSON,
        "servers": {_SERVER: _server()},
        "channels": {kind.name: _channel(kind) for kind in CATALOG},
        "operations": {f"send{_id_of(kind)}": _operation(kind) for kind in CATALOG},
        "components": {
            "messages": {_id_of(kind): _message(kind) for kind in CATALOG},
            "schemas": _schemas(registry),
            "securitySchemes": texts.SECURITY,
            "correlationIds": {"delivery": texts.CORRELATION},
        },
    }


def _id_of(kind: EventKind) -> str:
    """`gift_card.issued` is `GiftCardIssued`."""
    return "".join(word.capitalize() for word in kind.name.replace("_", ".").split("."))


def _ref(*path: str) -> Node:
    return {"$ref": "#/" + "/".join(path)}


def _server() -> Node:
    return {
        "host": "{host}",
        "pathname": "/{path}",
        "protocol": "https",
        "title": "The subscriber",
        "description": "The subscription's own `url`.",
        "variables": {
            "host": {
                "description": "The url's host, with its port if it names one.",
                "examples": ["hooks.example.com"],
            },
            "path": {"description": "The url's path.", "default": "", "examples": ["masthead"]},
        },
        "security": [_ref("components", "securitySchemes", name) for name in texts.SECURITY],
    }


def _channel(kind: EventKind) -> Node:
    return {
        # The server holds the whole URL of the subscription.
        "address": None,
        "title": kind.name,
        "summary": _trigger(kind),
        "servers": [_ref("servers", _SERVER)],
        "messages": {_id_of(kind): _ref("components", "messages", _id_of(kind))},
        "tags": [{"name": str(kind.category)}],
    }


def _operation(kind: EventKind) -> Node:
    return {
        "action": "send",
        "channel": _ref("channels", kind.name),
        "title": f"Send {kind.name}",
        "summary": _trigger(kind),
        "messages": [_ref("channels", kind.name, "messages", _id_of(kind))],
        "tags": [{"name": str(kind.category)}],
        "bindings": {"http": {"method": "POST", "bindingVersion": "0.3.0"}},
    }


def _message(kind: EventKind) -> Node:
    return {
        "name": kind.name,
        "title": kind.name,
        "summary": _trigger(kind),
        "contentType": _JSON,
        "headers": _ref("components", "schemas", "DeliveryHeaders"),
        "payload": _ref("components", "schemas", f"{_id_of(kind)}Delivery"),
        "correlationId": _ref("components", "correlationIds", "delivery"),
        "tags": [{"name": str(kind.category)}],
        "examples": [
            {
                "name": _id_of(kind),
                "summary": "As it arrives.",
                "headers": {**texts.HEADER_EXAMPLES, "X-Service-Event": kind.name},
                "payload": {
                    "event": kind.name,
                    "timestamp": texts.EXAMPLE_TIMESTAMP,
                    "payload": kind.example,
                },
            }
        ],
    }


def _schemas(registry: Registry) -> Node:
    schemas: Node = {"DeliveryHeaders": texts.HEADERS}
    for kind in CATALOG:
        name = f"{_id_of(kind)}Payload"
        schemas[name] = payload_schema(kind, registry)
        schemas[f"{_id_of(kind)}Delivery"] = envelope_schema(
            kind, _ref("components", "schemas", name)
        )
    return schemas


def _trigger(kind: EventKind) -> str:
    return f"Fires when {kind.trigger}."
