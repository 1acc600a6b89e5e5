"""The readable text of an HTML value, for excerpts.

Not a sanitizer: what comes out is plain text, to be escaped wherever it is shown. The standard
library's parser takes minutes for a hundred kilobytes of unclosed tags, so this one reads on its
own, every character a fixed number of times.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final

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
# A tag or comment that never ends takes the rest of the document with it, as in a browser.
_PIECE: Final = re.compile(
    r"""
      (?P<text>[^<]++)
    | <!--.*?(?:-->|\Z)
    | <(?P<end>/?)(?P<tag>[A-Za-z][^\s/>]*+)(?:[^>"']++|"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))*+(?:>|\Z)
    | <[!?/][^>]*+(?:>|\Z)
    | (?P<sign><)
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANKS: Final = re.compile(r"[ \t\n\f\r]+")
_NOT_SINGLE: Final = ("  ", "\n", "\t", "\f", "\r")
_REFERENCE: Final = re.compile(
    r"&(?:\#[0-9]{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?"
)


def plain_text(html: str, enough: int) -> str:
    """The text with single blanks, trimmed; reading stops soon after `enough` characters."""
    reader = _Reader()
    position = 0
    while position < len(html) and reader.length <= enough + 2:
        piece = _PIECE.match(html, position)
        if piece is None:
            break
        position = piece.end()
        if piece["tag"] is None:
            reader.text(piece["text"] or piece["sign"] or "")
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


class _Reader:
    """Collects text; block elements part words, hidden ones have no text."""

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
            self._part_words(tag)

    def end_tag(self, tag: str) -> None:
        if not self._hidden_by:
            self._part_words(tag)
            return
        self._hidden_depth -= tag == self._hidden_by
        if not self._hidden_depth:
            self._hidden_by = ""

    def text(self, raw: str) -> None:
        if not self._hidden_by:
            if "&" in raw:
                raw = _REFERENCE.sub(lambda reference: unescape(reference[0]), raw)
            # Most text has no other blanks than single ones; looking for them is quick.
            if any(blank in raw for blank in _NOT_SINGLE):
                raw = _BLANKS.sub(" ", raw)
            self._write(raw)

    def _part_words(self, tag: str) -> None:
        if tag not in _INLINE_TAGS and tag not in _HIDDEN_VOID_TAGS and tag not in _HIDDEN_TAGS:
            self._write(" ")

    def _write(self, text: str) -> None:
        if self._after_blank:
            text = text.removeprefix(" ")
        if text:
            self.pieces.append(text)
            self.length += len(text)
            self._after_blank = text.endswith(" ")
