"""Makes docs/reference/events.md from the catalog of events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.engine.events.described import payload_schema_of

from masthead.engine.events.catalog import CATALOG, Category, EventKind
from masthead.web.asyncapi.texts import tags

INTRODUCTION = """\
# Events

Look here for the events that a subscription can list, and for the payload of each. How to subscribe
and how to verify a delivery is in [Webhooks](../webhooks.md). Programs read the same as AsyncAPI:

```console
$ masthead asyncapi
$ curl http://127.0.0.1:8000/api/v1/asyncapi.json
```

An event fires for every change, through the public API, the record store, the command line or a
payment. An import fires none unless it runs with `--emit-events`. `subscriber.added` and
`member.subscribed` are two names of one event, and so are `subscriber.removed` and
`member.unsubscribed`: list one of the two.

This page is made from the code by `make docs`.
"""


def render() -> str:
    return "\n".join([INTRODUCTION, *_overview(), *_sections()])


def _overview() -> Iterator[str]:
    yield "| event | fires when |"
    yield "|---|---|"
    for kind in _in_order():
        yield f"| [`{kind.name}`](#{_anchor(kind)}) | {kind.trigger} |"
    yield ""


def _in_order() -> list[EventKind]:
    categories = list(Category)
    return sorted(CATALOG, key=lambda kind: categories.index(kind.category))


def _anchor(kind: EventKind) -> str:
    """As GitHub makes it of the heading."""
    return kind.name.replace(".", "")


def _sections() -> Iterator[str]:
    category = None
    for kind in _in_order():
        if kind.category is not category:
            category = kind.category
            yield f"## {category}\n\n{tags[category]}\n"
        yield from _section(kind)


def _section(kind: EventKind) -> Iterator[str]:
    schema = payload_schema_of(kind.name)
    where_true = {fact.name for fact in kind.facts if fact.where_true}
    yield f"### {kind.name}\n"
    yield f"Fires when {kind.trigger}.\n"
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for name, field in schema["properties"].items():
        is_always = name in schema["required"] or name in where_true
        always = "" if is_always else "; only after an update"
        yield f"| `{name}` | {_type(field)}{always} | {_meaning(name, field)} |"
    yield f"\n```json\n{json.dumps(kind.example, indent=2, ensure_ascii=False)}\n```\n"


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "type" not in schema:
        return "any JSON"
    kinds = [schema["type"]] if isinstance(schema["type"], str) else list(schema["type"])
    kinds[0] = schema.get("format", kinds[0])
    return " or ".join(kinds)


def _meaning(name: str, field: dict[str, Any]) -> str:
    """The description explains the fields of every event at length; here one sentence will do."""
    text: str = field["description"]
    return text.partition(". ")[0].rstrip(".") + "." if name in _COMMON else text


_COMMON = ("sequence", "changed", "previous")
