"""Makes docs/reference/endpoints.md from the OpenAPI description of the service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.docs.fields import cell

from masthead.base.config.settings import Settings
from masthead.features.ai.description import TAG as AI
from masthead.features.payments.description import TAG as PAYMENTS
from masthead.features.privacy.description import TAG as PRIVACY
from masthead.service.app import SERVICE_PARTS
from masthead.service.schema import registry
from masthead.web.health import TAG as HEALTH
from masthead.web.openapi.service import build_service_document

INTRODUCTION = """\
# Data protection, AI, payments and health

Look here for the request and the answers of one of these endpoints. How to use them is in
[Data protection](../privacy.md), [AI generation](../ai.md) and [Payments](../payments.md).

```console
$ curl http://127.0.0.1:8000/api/health
{"status":"ok","ts":"2026-11-14T09:30:00.123Z","pb":"ok","build":"1a2b3c4d5e6f"}
```

Programs read the same, with JSON Schemas, at `/api/openapi.json` or from `masthead openapi
--service`. The endpoints of `/api/v1` are in [The public API](../api.md), those of the record store
in [Record store](../record-store.md). Errors have the
[envelope of the public API](../api.md#errors).

This page is made from the code by `make docs`.

A call that is refused has one of these statuses; each endpoint names its own:
"""

REFUSED = "Refused"
GROUPS = (PRIVACY, AI, PAYMENTS, HEALTH)

DOCUMENT = build_service_document(
    SERVICE_PARTS, registry, Settings.from_environ({"MASTHEAD_BASE_URL": "https://example.com"})
)


CALLERS = {
    PRIVACY: "the link in the email, whose token is checked",
    PAYMENTS: "the payment processor, which signs the body",
}


def render() -> str:
    lines = [INTRODUCTION, *_refusals()]
    shown: set[str] = set()
    for group in GROUPS:
        lines.append(f"## {group}\n")
        for path, methods in DOCUMENT["paths"].items():
            for method, operation in methods.items():
                if group in operation["tags"]:
                    lines += _section(f"{method.upper()} {path}", operation, shown)
    return "\n".join(lines)


def _refusals() -> Iterator[str]:
    yield "| status | meaning |"
    yield "|---|---|"
    for name, each in DOCUMENT["components"]["responses"].items():
        if name.startswith(REFUSED):
            yield f"| {name.removeprefix(REFUSED)} | {each['description']} |"
    yield ""


def _section(title: str, operation: dict[str, Any], shown: set[str]) -> Iterator[str]:
    yield f"### {title}\n"
    yield f"{operation['summary']}\n"
    yield f"Called by {_caller(operation)}.\n"
    yield from _parameters(operation.get("parameters", []))
    if "requestBody" in operation:
        yield from _body(operation["requestBody"]["content"]["application/json"])
    yield from _answers(operation["responses"], shown)


def _caller(operation: dict[str, Any]) -> str:
    if {} in operation["security"]:
        return "anyone, or by a session: a site may keep it for its staff"
    if operation["security"]:
        return "a session, or with `x-tenant-id` as far as `MASTHEAD_GDPR_HEADER_AUTH` allows"
    return next((CALLERS[tag] for tag in operation["tags"] if tag in CALLERS), "anyone")


def _parameters(parameters: list[dict[str, Any]]) -> Iterator[str]:
    if not parameters:
        return
    yield "| parameter | in | meaning |"
    yield "|---|---|---|"
    for each in parameters:
        yield f"| `{each['name']}` | {each['in']} | {cell(each['description'])} |"
    yield ""


def _body(content: dict[str, Any]) -> Iterator[str]:
    schema = _resolved(content["schema"])
    if "oneOf" in schema:
        yield from _alternatives(schema["oneOf"])
    elif "properties" in schema:
        yield from _fields(schema, "needed")
    else:
        yield f"The body: {schema['description']}\n"
    yield "Request:\n"
    yield from _json(content["example"])


def _alternatives(schemas: list[dict[str, Any]]) -> Iterator[str]:
    """Yields the table of a body whose first field says which others it has."""
    yield "| body | other fields, all needed |"
    yield "|---|---|"
    for schema in schemas:
        (first, *others) = schema["properties"].items()
        named = ", ".join(f"`{name}` ({_type(field)})" for name, field in others)
        yield f"| `{first[0]}`: `{first[1]['const']}` | {named} |"
    yield ""


def _fields(schema: dict[str, Any], required: str) -> Iterator[str]:
    yield f"| field | type | {required} | meaning |"
    yield "|---|---|---|---|"
    for name, field in schema["properties"].items():
        needed = "yes" if name in schema["required"] else ""
        yield f"| `{name}` | {_type(field)} | {needed} | {cell(field.get('description', ''))} |"
    yield ""


def _type(schema: dict[str, Any]) -> str:
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    kind = {"idn-email": "email address"}.get(schema.get("format", ""), schema["type"])
    kind = "text" if kind == "string" else kind
    return f"{kind}, up to {schema['maxLength']:,}" if "maxLength" in schema else kind


def _answers(responses: dict[str, Any], shown: set[str]) -> Iterator[str]:
    refused = [status for status, each in responses.items() if REFUSED in each.get("$ref", "")]
    for status, each in responses.items():
        if status not in refused:
            yield f"**{status}**: {each['description']}\n"
            yield from _content(each.get("content", {}), shown)
    if refused:
        yield f"Refused with {', '.join(refused)}.\n"


def _content(content: dict[str, Any], shown: set[str]) -> Iterator[str]:
    for kind, each in content.items():
        if kind == "application/json":
            yield from _json(each["example"])
            yield from _schema(each["schema"]["$ref"], shown)
        elif "example" in each:
            yield f"```\n{each['example'].strip()}\n```\n"


def _schema(reference: str, shown: set[str]) -> Iterator[str]:
    """Its fields, once on the page."""
    name, schema = reference.rpartition("/")[2], _resolved({"$ref": reference})
    if name not in shown and any("description" in each for each in schema["properties"].values()):
        yield from _fields(schema, "always there")
    shown.add(name)


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return DOCUMENT["components"]["schemas"][name] if name else schema


def _json(example: Any) -> Iterator[str]:
    yield f"```json\n{json.dumps(example, indent=2, ensure_ascii=False)}\n```\n"
