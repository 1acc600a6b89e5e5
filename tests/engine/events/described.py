"""Holds events and deliveries against the AsyncAPI description, for every test that has some."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema_rs

from masthead.base.config.settings import Settings
from masthead.service.schema import registry
from masthead.web.asyncapi.document import build_document

DOCUMENT = build_document(
    registry, Settings.from_environ({"MASTHEAD_BASE_URL": "https://example.com"})
)
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]


def check_delivery(headers: Mapping[str, str], body: bytes) -> str:
    """Fails unless the delivery is as described; returns the event's name."""
    content = json.loads(body)
    of_body, of_headers = _validators_of(content["event"])
    of_body.validate(content)
    check_nothing_more(content["event"], content["payload"])
    of_headers.validate(_as_described(headers))
    assert headers["x-service-event"] == content["event"]
    assert headers["x-service-delivery"] == headers["webhook-id"]
    name: str = content["event"]
    return name


def check_payload(event: str, payload: Mapping[str, Any]) -> None:
    schema = payload_schema_of(event)
    validate(schema, payload)
    check_nothing_more(event, payload)


def check_nothing_more(event: str, payload: Mapping[str, Any]) -> None:
    """Later versions may add to a payload, so its schema allows that; ours may not hide facts."""
    described = payload_schema_of(event)["properties"]
    assert set(payload) <= set(described), event
    if "previous" in payload:
        assert set(payload["previous"]) <= set(described["previous"]["properties"]), event


def message_of(event: str) -> dict[str, Any]:
    (message,) = (
        each for each in DOCUMENT["components"]["messages"].values() if each["name"] == event
    )
    found: dict[str, Any] = message
    return found


def payload_schema_of(event: str) -> dict[str, Any]:
    return resolved(resolved(message_of(event)["payload"])["properties"]["payload"])


def resolved(reference: Mapping[str, str]) -> dict[str, Any]:
    schema: dict[str, Any] = SCHEMAS[reference["$ref"].rpartition("/")[2]]
    return schema


def validate(schema: Mapping[str, Any], value: Any) -> None:
    _validator(schema).validate(value)


# Making one takes far longer than using it.
@cache
def _validators_of(
    event: str,
) -> tuple[jsonschema_rs.Draft7Validator, jsonschema_rs.Draft7Validator]:
    message = message_of(event)
    return _validator(message["payload"]), _validator(message["headers"])


def _validator(schema: Mapping[str, Any]) -> jsonschema_rs.Draft7Validator:
    whole = {"allOf": [schema], "components": DOCUMENT["components"]}
    return jsonschema_rs.Draft7Validator(whole, validate_formats=True)


def _as_described(headers: Mapping[str, str]) -> dict[str, str]:
    """With the names written as in the description; HTTP does not tell cases apart."""
    written = {name.lower(): name for name in SCHEMAS["DeliveryHeaders"]["properties"]}
    return {written[name]: value for name, value in headers.items() if name in written}
