"""Single parts of an editor's document, and what keeps HTML from being one: the smaller half of
`editor_json`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from masthead.importers.html.markup import Attributes

Json = dict[str, Any]

_OTHER_BLANKS = ("\n", "\t", "\r", "\f")


class NotHeld(Exception):
    """The editor has no place for this; the message says for what."""


@dataclass(slots=True)
class Figure:
    """An open one: where its blocks stand, and how many stood there before."""

    blocks: list[Json]
    before: int
    has_caption: bool = False

    @property
    def holds_one(self) -> bool:
        return len(self.blocks) == self.before + 1


def collapsed(text: str) -> str:
    """With one space for every run of blanks."""
    # Ten times as quick as an expression: most texts have none of these, and where a text is
    # made of them, each pass halves what is left.
    for blank in _OTHER_BLANKS:
        text = text.replace(blank, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def known(name: str, attributes: Attributes, *names: Iterable[str]) -> None:
    """Refuses an attribute that is not among these."""
    if attributes:
        unknown = attributes.keys() - {key for keys in names for key in keys}
        if unknown:
            raise NotHeld(f"{min(unknown)} on <{name}>")


def captioned(block: Json) -> Json:
    """The attributes of a figure for what was a paragraph with one picture."""
    content = block.get("content", [])
    is_picture = [each["type"] for each in content] == ["image"]
    if block["type"] != "paragraph" or "attrs" in block or not is_picture:
        raise NotHeld("a caption of something else than a picture")
    picture = content[0]
    shown: Json = dict(picture["attrs"])
    for mark in picture.get("marks", []):
        if mark["type"] != "link" or mark["attrs"].keys() != {"href"}:
            raise NotHeld("a caption under a picture with a mark")
        shown["href"] = mark["attrs"]["href"]
    return shown


def ends_blank(node: Json) -> bool:
    return node["type"] == "hardBreak" or bool(node.get("text", "").endswith(" "))


def language_of(attributes: Attributes) -> str | None:
    return attributes.get("class", "").removeprefix("language-") or None


def span_of(value: str) -> int | None:
    number = int(value)
    if number > 1_000:
        raise NotHeld("a cell over more than 1,000 others")
    return number if number > 1 else None
