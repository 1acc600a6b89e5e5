"""The API's reference page, rendered once from the OpenAPI document and served without a key.

The page is plain HTML and CSS; its script only adds a filter and copy buttons.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape

from masthead.web.template_source import PAGE_OPTIONS

Json: TypeAlias = Mapping[str, Any]

_HERE = Path(__file__).parent.parent


def render_reference(document: Json, assets: Mapping[str, str]) -> bytes:
    """`assets` are the URLs of the style sheet and the script."""
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        **PAGE_OPTIONS,
    )
    environment.filters["words"] = render_markup
    page = environment.get_template("reference.html").render(
        info=document["info"],
        server=document["servers"][0]["url"],
        groups=list(_groups(document)),
        schemas=list(_schemas(document)),
        errors=list(_errors(document)),
        assets=assets,
    )
    return page.encode()


class FieldRow(msgspec.Struct, frozen=True):
    """A row of a table: a parameter or a field."""

    name: str
    type: Markup
    required: bool
    text: str
    limits: Markup
    place: str = ""


class Operation(msgspec.Struct, frozen=True):
    id: str
    method: str
    path: str
    summary: str
    scopes: list[str]
    parameters: list[FieldRow]
    body_name: str
    body: list[FieldRow]
    curl: str
    status: str
    answer: str
    refusals: list[tuple[str, str, list[str]]]
    """Status, meaning and codes."""


class Group(msgspec.Struct, frozen=True):
    id: str
    name: str
    text: str
    operations: list[Operation]


def render_markup(text: str) -> Markup:
    """Renders `code` and **strong**, the only markup of our descriptions."""
    safe = str(escape(text))
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return Markup(re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe))  # noqa: S704  (escaped)


def _groups(document: Json) -> Iterator[Group]:
    for tag in document["tags"]:
        operations = [
            _operation(document, path, method, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if tag["name"] in operation["tags"]
        ]
        anchor = tag["name"].lower().replace(" ", "-")
        yield Group(anchor, tag["name"], tag["description"], operations)


def _operation(document: Json, path: str, method: str, operation: Json) -> Operation:
    media = _media_of(operation)
    schema = _resolve(document, media["schema"]) if media else {}
    status = next(iter(operation["responses"]))
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        scopes=[each["apiKey"][0] for each in operation["security"]],
        parameters=[_parameter_row(document, each) for each in operation.get("parameters", ())],
        body_name=_name(media["schema"]) if media else "",
        body=list(_rows(schema)),
        curl=_curl(document, path, method, operation),
        status=status,
        answer=_answer_of(operation["responses"][status]),
        refusals=list(_refusals(document, operation)),
    )


def _media_of(operation: Json) -> Json:
    content: Json = operation.get("requestBody", {}).get("content", {})
    media: Json = next(iter(content.values()), {})
    return media


def _parameter_row(document: Json, parameter: Json) -> FieldRow:
    parameter = _resolve(document, parameter)
    schema = parameter["schema"]
    return FieldRow(
        parameter["name"],
        _type(schema),
        parameter.get("required", False),
        parameter["description"],
        _limits(schema),
        parameter["in"],
    )


def _rows(schema: Json) -> Iterator[FieldRow]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        text = field.get("description", "")
        yield FieldRow(name, _type(field), name in required, text, _limits(field))


def _type(schema: Json) -> Markup:
    if "$ref" in schema:
        name = _name(schema)
        return Markup('<a href="#schema-{0}">{0}</a>').format(name)
    kind = schema.get("type", "any JSON")
    kinds = [kind] if isinstance(kind, str) else list(kind)
    if kinds[0] == "array":
        kinds[0] = Markup("array of {}").format(_type(schema["items"]))
    elif schema.get("format"):
        kinds[0] = schema["format"]
    return Markup(" or ").join(kinds)


def _limits(schema: Json) -> Markup:
    parts = [*_ranges(schema)]
    if "enum" in schema:
        values = [value for value in schema["enum"] if value is not None]
        parts.append(Markup("one of ") + Markup(", ").join(map(_code, values)))
    if "default" in schema:
        parts.append(Markup("default ") + _code(schema["default"]))
    return Markup("; ").join(parts)


def _ranges(schema: Json) -> Iterator[Markup]:
    for least, most, unit in (
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
        ("minimum", "maximum", ""),
    ):
        if most not in schema or schema[most] >= _NO_LIMIT:
            continue
        start = schema.get(least, 0)
        span = f"{start:,} to {schema[most]:,}" if start else f"at most {schema[most]:,}"
        yield escape(span + unit)


# Larger limits protect the service and are not shown.
_NO_LIMIT = 1_000_000_000


def _code(value: Any) -> Markup:
    return Markup("<code>{}</code>").format(value if isinstance(value, str) else json.dumps(value))


def _refusals(document: Json, operation: Json) -> Iterator[tuple[str, str, list[str]]]:
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            continue
        answer = _resolve(document, answer)
        media = answer.get("content", {}).get("application/json", {})
        yield status, answer["description"], list(media.get("examples", ()))


def _errors(document: Json) -> Iterator[tuple[str, str, str]]:
    """Status, code and message of every error, in the order of statuses."""
    statuses = {
        answer["$ref"]: status
        for methods in document["paths"].values()
        for operation in methods.values()
        for status, answer in operation["responses"].items()
        if "$ref" in answer
    }
    for reference, status in sorted(statuses.items(), key=lambda each: each[1]):
        examples = _resolve(document, {"$ref": reference})["content"]["application/json"][
            "examples"
        ]
        for code, example in examples.items():
            yield status, code, example["value"]["error"]["message"]


def _schemas(document: Json) -> Iterator[tuple[str, str, list[FieldRow], str]]:
    for name, schema in sorted(document["components"]["schemas"].items()):
        example = schema["examples"][0] if "examples" in schema else None
        text = schema.get("description", "")
        if "enum" in schema:
            text += " One of " + ", ".join(f"`{value}`" for value in schema["enum"]) + "."
        yield name, text.strip(), list(_rows(schema)), _pretty(example) if example else ""


def _answer_of(answer: Json) -> str:
    media = answer.get("content", {}).get("application/json", {})
    return _pretty(media["example"]) if "example" in media else ""


def _curl(document: Json, path: str, method: str, operation: Json) -> str:
    address = document["servers"][0]["url"] + path.replace("{id}", _example_id(operation))
    verb = "" if method == "get" else f"-X {method.upper()} "
    lines = [f"curl {verb}{address}", '-H "Authorization: Bearer $MASTHEAD_KEY"']
    media = _media_of(operation)
    if "example" in media:
        body = _pretty(media["example"]).replace("'", "'\\''").replace("\n", "\n  ")
        lines += ["-H 'Content-Type: application/json'", f"-d '{body}'"]
    elif media:
        lines += ["-F file=@lamp-room.jpg", "-F 'alt=The lamp room at dusk'"]
    return " \\\n  ".join(lines)


def _example_id(operation: Json) -> str:
    """The id in the answer's example, so that both examples match."""
    for answer in operation["responses"].values():
        media = answer.get("content", {}).get("application/json", {})
        example = media.get("example", {})
        found = example.get("id") or example.get("data", {}).get("id")
        if found:
            return str(found)
    return "k3v9q0x7m2c8b1d"


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _name(reference: Json) -> str:
    return str(reference["$ref"].rpartition("/")[2])


def _resolve(document: Json, node: Json) -> Json:
    if "$ref" not in node:
        return node
    found: Any = document
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    resolved: Json = found
    return resolved
