"""HTML in pieces: tags, text between them, and what is set aside while the rest is worked on.

Bodies come from strangers, so every character is read a fixed number of times: no pattern here
can be made to look at the rest of a text again and again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

# Control characters can't come out of XML, so these can't be in a body.
_OPEN, _CLOSE = "\x02", "\x03"
_SET_ASIDE: Final = re.compile(f"{_OPEN}([bi])([0-9]+){_CLOSE}")

# A value in quotes may hold a `>`; a tag that never ends takes the rest with it, as in a browser.
_ATTRIBUTES: Final = (
    r"""(?:[^>"'=]++|=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'>][^\s>]*+)?|["'])*+(?:>|\Z)"""
)
_PIECE: Final = re.compile(
    rf"""
      (?:[^<{_OPEN}]++|<(?![A-Za-z!?/]))++
    | {_OPEN}(?P<aside>[bi])[0-9]++{_CLOSE}
    | <(?P<end>/?)(?P<tag>[A-Za-z][^\s/>]*+){_ATTRIBUTES}
    | <[!?/][^>]*+(?:>|\Z)
    | .
    """,
    re.VERBOSE | re.DOTALL,
)


class Piece(NamedTuple):
    text: str
    tag: str = ""
    """In lower case; '' for text."""
    is_end: bool = False
    aside: str = ""
    """'b' or 'i' where a block or something inline was set aside."""


def pieces_of(html: str) -> Iterator[Piece]:
    for found in _PIECE.finditer(html):
        tag = found["tag"]
        if tag is not None:
            yield Piece(found[0], tag.lower(), bool(found["end"]))
        else:
            yield Piece(found[0], aside=found["aside"] or "")


class Comment(NamedTuple):
    start: int
    end: int
    inside: str


def comments_of(html: str) -> Iterator[Comment]:
    """One that never ends takes the rest with it, as in a browser."""
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


class Aside:
    """Parts of a body that are finished, each with a mark in its place."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def put(self, html: str, *, is_block: bool) -> str:
        # What is inside goes with it, so that one look at the marks is enough in the end.
        self._parts.append(self.restored(html))
        return f"{_OPEN}{'b' if is_block else 'i'}{len(self._parts) - 1}{_CLOSE}"

    def restored(self, html: str) -> str:
        if _OPEN not in html:
            return html
        return _SET_ASIDE.sub(self._part, html)

    def _part(self, mark: re.Match[str]) -> str:
        return self._parts[int(mark[2])]


# Their content is no HTML text, or no line of it may change.
_RAW_BLOCKS: Final = frozenset({"pre", "script", "style"})
_RAW: Final = re.compile(
    r"<(pre|script|style|textarea|svg|math|iframe|object|select|audio|video)(?=[\s/>])",
    re.IGNORECASE,
)


def set_raw_aside(html: str, aside: Aside) -> str:
    """Elements whose inside is not to be touched, from their start tag to their end tag."""
    done: list[str] = []
    position = 0
    unended: set[str] = set()
    while start := _RAW.search(html, position):
        tag = start[1].lower()
        end = None if tag in unended else _end_of(tag).search(html, start.end())
        if end is None:
            # There is none further on either: no need to search the rest again.
            unended.add(tag)
            done.append(html[position : start.end()])
            position = start.end()
            continue
        done.append(html[position : start.start()])
        element = html[start.start() : end.end()]
        done.append(aside.put(element, is_block=tag in _RAW_BLOCKS))
        position = end.end()
    done.append(html[position:])
    return "".join(done)


def _end_of(tag: str) -> re.Pattern[str]:
    return _ENDS[tag]


_ENDS: Final = {
    tag: re.compile(rf"</{tag}\s*>", re.IGNORECASE)
    for tag in (
        *_RAW_BLOCKS,
        *("textarea", "svg", "math", "iframe", "object", "select", "audio", "video"),
    )
}
