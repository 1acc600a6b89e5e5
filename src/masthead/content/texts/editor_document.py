"""Opens a stored document in the admin's editor: with the editor's own names, and only if the
editor has all of its parts, because it would drop the others without a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from masthead.content.cards.catalog import CARDS
from masthead.content.cards.values import WrongCard
from masthead.content.texts.editor import CARD_NAMES, MAX_DEPTH, node_name

NODES = frozenset(
    {
        "blockquote",
        "bulletList",
        "codeBlock",
        "figure",
        "hardBreak",
        "heading",
        "horizontalRule",
        "image",
        "listItem",
        "orderedList",
        "paragraph",
        "paywall",
        "table",
        "tableCell",
        "tableHeader",
        "tableRow",
        "taskItem",
        "taskList",
        "text",
        *CARDS,
    }
)
MARKS = frozenset(
    {
        "bold",
        "code",
        "highlight",
        "italic",
        "link",
        "strike",
        "subscript",
        "superscript",
        "underline",
    }
)
_ATTRIBUTE_NAMES = {"params": "language", "order": "start"}


class OpenedDocument(msgspec.Struct):
    document: dict[str, Any]
    lacks: set[str] = msgspec.field(default_factory=set)
    """The types of nodes and marks that the editor does not have."""


def opened_document(content_json: object) -> OpenedDocument | None:
    """None for what is no document of an editor."""
    if not isinstance(content_json, dict) or content_json.get("type") != "doc":
        return None
    opening = OpenedDocument({})
    content = _children(opening, content_json, 1)
    # An empty document has a paragraph to write in.
    opening.document = {"type": "doc", "content": content or [{"type": "paragraph"}]}
    return opening


def _children(opening: OpenedDocument, item: Mapping[str, Any], depth: int) -> list[dict[str, Any]]:
    content = item.get("content")
    if not isinstance(content, list):
        return []
    if depth > MAX_DEPTH:
        opening.lacks.add("nesting of that depth")
        return []
    return [_node(opening, each, depth) for each in content if isinstance(each, dict)]


def _node(opening: OpenedDocument, item: Mapping[str, Any], depth: int) -> dict[str, Any]:
    name = node_name(item.get("type"))
    attributes = _attributes(item)
    name = CARD_NAMES.get(name, name)
    if name in CARDS:
        try:
            attributes = CARDS[name].read(attributes)
        except WrongCard:
            opening.lacks.add(name)
    elif name not in NODES:
        opening.lacks.add(name or "a part without a type")
    found: dict[str, Any] = {"type": name}
    if attributes:
        found["attrs"] = attributes
    children = _children(opening, item, depth + 1)
    if children:
        found["content"] = children
    if name == "text":
        found["text"] = str(item.get("text", ""))
        given = item.get("marks")
        marks = given if isinstance(given, list) else []
        if marks := [_mark(opening, each) for each in marks if isinstance(each, dict)]:
            found["marks"] = marks
    return found


def _mark(opening: OpenedDocument, item: Mapping[str, Any]) -> dict[str, Any]:
    name = node_name(item.get("type"))
    if name not in MARKS:
        opening.lacks.add(name or "a mark without a type")
    attributes = _attributes(item)
    return {"type": name, "attrs": attributes} if attributes else {"type": name}


def _attributes(item: Mapping[str, Any]) -> dict[str, Any]:
    given = item.get("attrs")
    if not isinstance(given, dict):
        return {}
    return {_ATTRIBUTE_NAMES.get(str(name), str(name)): value for name, value in given.items()}
