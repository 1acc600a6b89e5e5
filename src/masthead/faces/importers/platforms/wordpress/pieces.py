"""Splits HTML into tags and text, and replaces finished parts by placeholders.

Bodies may be hostile, so the regular expressions here do not backtrack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from masthead.base.html_tags import MARKUP

# XML has no control characters, so they can't be in a body.
_OPEN, _CLOSE = "\x02", "\x03"
_PLACEHOLDER: Final = re.compile(f"{_OPEN}([bi])([0-9]+){_CLOSE}")
BLOCKS_ONLY: Final = re.compile(f"(?:{_OPEN}b[0-9]++{_CLOSE})+")
"""Placeholders of blocks with nothing between them."""

_PIECE: Final = re.compile(
    rf"""
      (?:[^<{_OPEN}]++|<(?![A-Za-z!?/]))++
    | {_OPEN}(?P<placeholder>[bi])[0-9]++{_CLOSE}
    | {MARKUP}
    | .
    """,
    re.VERBOSE | re.DOTALL,
)


class Piece(NamedTuple):
    text: str
    tag: str = ""
    """In lower case; '' for text."""
    is_end: bool = False
    placeholder: str = ""
    """'b' for a block, 'i' for something inline; '' for no placeholder."""


def pieces_of(html: str) -> Iterator[Piece]:
    for found in _PIECE.finditer(html):
        tag = found["tag"]
        if tag is not None:
            yield Piece(found[0], tag.lower(), bool(found["end"]))
        else:
            yield Piece(found[0], placeholder=found["placeholder"] or "")


class Comment(NamedTuple):
    start: int
    end: int
    inside: str


def comments_of(html: str) -> Iterator[Comment]:
    """As in a browser, an unclosed comment ends with the text."""
    start = html.find("<!--")
    while start >= 0:
        end = html.find("-->", start + 4)
        if end < 0:
            yield Comment(start, len(html), html[start + 4 :])
            return
        yield Comment(start, end + 3, html[start + 4 : end])
        start = html.find("<!--", end + 3)


def without_comments(html: str) -> str:
    done: list[str] = []
    position = 0
    for comment in comments_of(html):
        done.append(html[position : comment.start])
        position = comment.end
    return "".join((*done, html[position:])) if done else html


class Placeholders:
    """Finished parts of a body, each replaced by a placeholder."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def add(self, html: str, *, is_block: bool) -> str:
        # Without placeholders inside, so that one pass restores everything.
        self._parts.append(self.restored(html))
        return f"{_OPEN}{'b' if is_block else 'i'}{len(self._parts) - 1}{_CLOSE}"

    def restored(self, html: str) -> str:
        if _OPEN not in html:
            return html
        return _PLACEHOLDER.sub(self._part, html)

    def _part(self, mark: re.Match[str]) -> str:
        return self._parts[int(mark[2])]


# Their content is not HTML, or its line breaks must not change.
_RAW_BLOCKS: Final = frozenset({"pre", "script", "style"})
_RAW: Final = re.compile(
    r"<(pre|script|style|textarea|svg|math|iframe|object|select|audio|video)(?=[\s/>])",
    re.IGNORECASE,
)


def replace_raw_elements(html: str, placeholders: Placeholders) -> str:
    """Replaces elements whose content must not change."""
    done: list[str] = []
    position = 0
    unclosed: set[str] = set()
    while start := _RAW.search(html, position):
        tag = start[1].lower()
        end = None if tag in unclosed else _ENDS[tag].search(html, start.end())
        if end is None:
            # So that the rest is not searched again for this end tag.
            unclosed.add(tag)
            done.append(html[position : start.end()])
            position = start.end()
            continue
        done.append(html[position : start.start()])
        element = html[start.start() : end.end()]
        done.append(placeholders.add(element, is_block=tag in _RAW_BLOCKS))
        position = end.end()
    done.append(html[position:])
    return "".join(done)


_ENDS: Final = {
    tag: re.compile(rf"</{tag}\s*>", re.IGNORECASE)
    for tag in (
        *_RAW_BLOCKS,
        *("textarea", "svg", "math", "iframe", "object", "select", "audio", "video"),
    )
}
