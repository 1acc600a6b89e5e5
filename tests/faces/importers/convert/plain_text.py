"""The text that a reader sees of HTML, by another parser than the importers have.

White space is collapsed as browsers do it, block elements part words. Where something stands that
becomes a link, there is a hole: any words may stand there, but the words around it must be there.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

HOLE: Final = "\ue000"

# fmt: off
BLOCKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "br", "caption", "center", "col", "colgroup", "dd",
    "details", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2",
    "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section",
    "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})
VOID: Final = frozenset({"br", "col", "embed", "hr", "img", "input", "source", "track", "wbr"})
UNREAD: Final = frozenset({
    "script", "style", "svg", "title", "select", "textarea", "template", "button",
})
# Of Substack: what asks readers for something, and leads nowhere after the move.
ASKING: Final = frozenset({"button-wrapper", "captioned-button-wrap", "paywall-jump"})
# Of Substack: becomes a call to join.
SIGN_UPS: Final = frozenset({
    "subscription-widget-wrap", "subscription-widget-wrap-editor", "subscription-widget",
    "subscribe-widget",
})
# Filled in by scripts of the platform, or a card for a link or a file: a link stands there.
FILLED: Final = frozenset({
    "youtube-wrap", "vimeo-wrap", "latex-rendered", "tweet", "spotify-wrap",
    "kg-bookmark-card", "kg-file-card", "kg-embed-card", "wp-block-embed",
})
# fmt: on


class _Shown(HTMLParser):
    """The text of HTML, by another parser than the importers have."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden_depth:
            self._hidden_depth += tag not in VOID
            return
        classes = set((dict(attrs).get("class") or "").split())
        if tag in BLOCKS:
            self.pieces.append(" ")
        if tag in ("iframe", "embed") or classes & FILLED:
            self.pieces.append(f" {HOLE} ")
        if classes & SIGN_UPS:
            self.pieces.append(" Join ")
        unread = FILLED | ASKING | SIGN_UPS
        if (tag in UNREAD or tag == "iframe" or classes & unread) and tag not in VOID:
            self._hidden_depth = 1

    def handle_endtag(self, tag: str) -> None:
        if self._hidden_depth:
            self._hidden_depth -= tag not in VOID
        if tag in BLOCKS and not self._hidden_depth:
            self.pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._hidden_depth:
            self.pieces.append(data)


def shown(html: str) -> str:
    reader = _Shown()
    reader.feed(html)
    reader.close()
    text = re.sub(r"[ \t\n\r\f]+", " ", "".join(reader.pieces))
    # A paragraph of nothing but a no-break space is how old editors write an empty line.
    return re.sub(r"(?:(?<= )|^)\xa0 ", "", text).strip()


def has_the_words(text: str, of: str) -> bool:
    """Whether the text that is stored is what the source shows, but for the holes in it."""
    wanted = shown(of)
    if HOLE not in wanted:
        return text == wanted
    words = [re.escape(each) for each in re.split(f" ?{HOLE} ?", wanted)]
    return re.fullmatch(r"(?: ?.*? ?)".join(words), text, re.DOTALL) is not None
