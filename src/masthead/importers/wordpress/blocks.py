"""Block comments: taken away, their content kept; what the server would have made is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import msgspec

from masthead.importers.wordpress.pieces import comments_of
from masthead.records.fields.text import is_web_address

_DELIMITER: Final = re.compile(
    r"\s*+(/?)wp:([a-z][a-z0-9_-]*+(?:/[a-z][a-z0-9_-]*+)?)(?=[\s/{]|\Z)"
)
_MAX_ATTRIBUTES: Final = 20_000
_NEAR: Final = 3_000


@dataclass(frozen=True, slots=True)
class Segment:
    html: str
    is_classic: bool
    """Stands outside of blocks, or in one of the classic editor: paragraphs are to be made."""


@dataclass(slots=True)
class _Reading:
    """The blocks that are open, and what the one at the top has so far."""

    open: list[str]
    parts: list[str]

    def segment(self) -> Segment:
        html = "".join(self.parts)
        self.parts = []
        return Segment(html, is_classic=not self.open or self.open == ["freeform"])


def has_blocks(content: str) -> bool:
    return "<!-- wp:" in content


def segments(content: str, left_out: list[str]) -> Iterator[Segment]:
    """The content at the top level, block by block. All comments are gone from it."""
    reading = _Reading([], [])
    position = 0
    for comment in comments_of(content):
        reading.parts.append(content[position : comment.start])
        position = comment.end
        delimiter = _DELIMITER.match(comment.inside)
        if delimiter is None:
            continue
        name = delimiter[2].removeprefix("core/")
        if delimiter[1]:
            yield from _close(reading, name)
        elif comment.inside.endswith("/"):
            left_out.append(name)
        else:
            attributes = comment.inside[delimiter.end() :]
            yield from _open(reading, name, attributes, content, position)
    reading.parts.append(content[position:])
    yield reading.segment()


def _open(
    reading: _Reading, name: str, attributes: str, content: str, position: int
) -> Iterator[Segment]:
    if not reading.open:
        yield reading.segment()
    reading.open.append(name)
    if name == "cover":
        reading.parts.append(_background(attributes, content, position))


def _close(reading: _Reading, name: str) -> Iterator[Segment]:
    """An end without a beginning means nothing."""
    if reading.open and reading.open[-1] == name:
        if len(reading.open) == 1:
            yield reading.segment()
        reading.open.pop()


def _background(attributes: str, content: str, position: int) -> str:
    """The picture behind a cover's text: older ones have it in a style only, which no
    sanitizer leaves in place."""
    url = _decoded(attributes).get("url")
    if not isinstance(url, str) or not is_web_address(url):
        return ""
    source = f'src="{escape(url)}"'
    if content.find(source, position, position + _NEAR) >= 0:
        return ""
    return f'<figure><img {source} alt="" /></figure>'


def _decoded(attributes: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(attributes[:_MAX_ATTRIBUTES].strip() or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
