"""Helper functions of `from_html` for single nodes of the editor's document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from masthead.content.html.markup import Attributes

Json = dict[str, Any]

_OTHER_BLANKS = ("\n", "\t", "\r", "\f")


class Unsupported(Exception):
    """The editor can't represent the HTML; the message names what it can't."""


class Figure(msgspec.Struct):
    """An open figure."""

    blocks: list[Json]
    """The blocks of the node that it is in."""
    before: int
    """The number of these blocks before the figure."""
    shape: Json = msgspec.field(default_factory=dict)
    """Its width and its crop."""
    has_caption: bool = False

    @property
    def holds_one(self) -> bool:
        return len(self.blocks) == self.before + 1


def collapsed(text: str) -> str:
    """With one space for every run of blanks."""
    # Ten times as quick as a regular expression.
    for blank in _OTHER_BLANKS:
        text = text.replace(blank, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def allow(name: str, attributes: Attributes, *names: Iterable[str]) -> None:
    """Raises `Unsupported` for any other attribute."""
    if attributes:
        unknown = attributes.keys() - {key for keys in names for key in keys}
        if unknown:
            raise Unsupported(f"{min(unknown)} on <{name}>")


def captioned(block: Json) -> Json:
    """The attributes of a figure node, from a paragraph with one picture."""
    content = block.get("content", [])
    is_picture = [each["type"] for each in content] == ["image"]
    if block["type"] != "paragraph" or "attrs" in block or not is_picture:
        raise Unsupported("a caption of something other than a picture")
    picture = content[0]
    shown: Json = dict(picture["attrs"])
    for mark in picture.get("marks", []):
        if mark["type"] != "link" or mark["attrs"].keys() != {"href"}:
            raise Unsupported("a caption under a picture with a mark")
        shown["href"] = mark["attrs"]["href"]
    return shown


def ends_blank(node: Json) -> bool:
    return node["type"] == "hardBreak" or bool(node.get("text", "").endswith(" "))


def language_of(attributes: Attributes) -> str | None:
    return attributes.get("class", "").removeprefix("language-") or None


def span_of(value: str) -> int | None:
    number = int(value)
    if number > 1_000:
        raise Unsupported("a cell over more than 1,000 others")
    return number if number > 1 else None
