"""The readable text of an HTML value, for excerpts.

Not a sanitizer: the result is plain text and has to be escaped wherever it is shown. The standard
library's parser takes minutes for a hundred kilobytes of unclosed tags. This one reads every
character a fixed number of times.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final

from masthead.base.errors import BadRequest
from masthead.base.html_tags import MARKUP, TEXT

# fmt: off
_HIDDEN_TAGS: Final = frozenset({
    "head", "style", "script", "iframe", "applet", "object", "svg", "picture", "dialog",
    "template", "button", "form", "textarea", "select", "option",
})
_HIDDEN_VOID_TAGS: Final = frozenset({"embed", "img", "input"})
_INLINE_TAGS: Final = frozenset({
    "a", "abbr", "acronym", "b", "bdo", "big", "br", "cite", "code", "em", "i", "label", "q",
    "small", "span", "strong", "strike", "sub", "sup", "time",
})
# fmt: on
# Inside these nothing but their own end tag is markup.
_RAW_END: Final = {
    tag: re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE)
    for tag in ("script", "style", "textarea", "iframe")
}
_PIECE: Final = re.compile(rf"(?P<text>{TEXT}) | {MARKUP}", re.VERBOSE | re.DOTALL)
_PIECE_COST: Final = 20
_SHORT: Final = 512
_LONGEST_REFERENCE: Final = 40
_BLANKS: Final = re.compile(r"[ \t\n\f\r]+")
_REFERENCE: Final = re.compile(
    r"&(?:\#[0-9]{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?"
)


class Budget:
    """Limits the reading, in characters of text; a tag counts as some of them.

    Four million take about a second. All excerpts of an answer share one budget."""

    __slots__ = ("_left",)

    def __init__(self, characters: int = 4_000_000) -> None:
        self._left = characters

    def spend(self, characters: int) -> None:
        self._left -= characters + _PIECE_COST
        if self._left < 0:
            raise BadRequest(
                "These excerpts take too long to make. "
                "Ask for shorter ones, for fewer records or for the whole field."
            )


def plain_text(html: str, enough: int, budget: Budget | None = None) -> str:
    """The text with single blanks, trimmed; reading stops soon after `enough` characters."""
    reader = _Reader()
    position = 0
    while position < len(html) and reader.length <= enough + 2:
        piece = _PIECE.match(html, position)
        if piece is None:
            break
        position = piece.end()
        if piece["text"]:
            # Only the beginning of a long text is needed.
            wanted = max(_SHORT, 2 * (enough - reader.length))
            position = _text_end(html, piece.start(), position, wanted)
        if budget:
            budget.spend(position - piece.start() if piece["text"] else 0)
        if piece["text"]:
            reader.text(html[piece.start() : position])
            continue
        if piece["tag"] is None:
            continue
        tag = piece["tag"].lower()
        if piece["end"]:
            reader.end_tag(tag)
            continue
        reader.start_tag(tag)
        if tag in _RAW_END:
            raw_end = _RAW_END[tag].search(html, position)
            position = raw_end.start() if raw_end else len(html)
    return "".join(reader.pieces).strip()


def _text_end(html: str, start: int, end: int, wanted: int) -> int:
    """Where to stop within a text so that no character reference is cut in two."""
    stop = start + wanted
    if stop >= end:
        return end
    reference = html.rfind("&", max(start + 1, stop - _LONGEST_REFERENCE), stop)
    return reference if reference > 0 else stop


class _Reader:
    """Collects text. Block elements separate words; hidden elements have no text."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.length = 0
        self._after_blank = False
        self._hidden_by = ""
        self._hidden_depth = 0

    def start_tag(self, tag: str) -> None:
        if self._hidden_by:
            self._hidden_depth += tag == self._hidden_by
        elif tag in _HIDDEN_TAGS:
            self._hidden_by, self._hidden_depth = tag, 1
        else:
            self._separate_words(tag)

    def end_tag(self, tag: str) -> None:
        if not self._hidden_by:
            self._separate_words(tag)
            return
        self._hidden_depth -= tag == self._hidden_by
        if not self._hidden_depth:
            self._hidden_by = ""

    def text(self, raw: str) -> None:
        if not self._hidden_by:
            if "&" in raw:
                raw = _REFERENCE.sub(lambda reference: unescape(reference[0]), raw)
            # Most text has only single blanks, and this check is faster than the substitution.
            if "  " in raw or "\n" in raw or "\t" in raw or "\r" in raw or "\f" in raw:
                raw = _BLANKS.sub(" ", raw)
            self._write(raw)

    def _separate_words(self, tag: str) -> None:
        if tag not in _INLINE_TAGS and tag not in _HIDDEN_VOID_TAGS and tag not in _HIDDEN_TAGS:
            self._write(" ")

    def _write(self, text: str) -> None:
        if self._after_blank:
            text = text.removeprefix(" ")
        if text:
            self.pieces.append(text)
            self.length += len(text)
            self._after_blank = text.endswith(" ")
