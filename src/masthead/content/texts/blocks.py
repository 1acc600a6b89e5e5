"""The blocks of a text as a reader names them: paragraphs, headings, items of lists, pictures."""

from __future__ import annotations

from typing import Final, NamedTuple

from masthead.base.languages.words import staff_words
from masthead.content.html.markup import PAYWALL_CLASS, Token, cleaned_or_plain
from masthead.content.html.sanitizer import HEADINGS, INLINE

_HEADING: Final = staff_words("Heading")
_NAMES: Final = {
    **dict.fromkeys(HEADINGS, _HEADING),
    "blockquote": staff_words("Quote"),
    "figcaption": staff_words("Caption"),
    "li": staff_words("List item"),
    "pre": staff_words("Code"),
    "summary": _HEADING,
    "tr": staff_words("Table row"),
}


class Block(NamedTuple):
    name: str
    """Empty for a paragraph."""
    text: str


def blocks_of(html: str) -> list[Block]:
    """Without the looks of the words. Addresses of links and pictures are part of the text."""
    return _Reader().read(cleaned_or_plain(html)[1])


class _Reader:
    def __init__(self) -> None:
        self._found: list[Block] = []
        self._pieces: list[str] = []
        self._open: list[tuple[str, str]] = []
        """Elements that name a block, with that name."""
        self._links: list[str] = []

    def read(self, tokens: list[Token]) -> list[Block]:
        for token in tokens:
            if token.kind == "text":
                self._pieces.append(token.name)
            elif token.kind == "start":
                self._start(token)
            else:
                self._end(token.name)
        self._flush()
        return self._found

    def _start(self, token: Token) -> None:
        name, attributes = token.name, token.attributes
        if name == "a":
            self._links.append(attributes.get("href", ""))
        elif name == "br":
            self._pieces.append("\n")
        elif name == "img":
            self._flush()
            shown = attributes["src"].rpartition("/")[2] or attributes["src"]
            self._add("Picture", f"{attributes.get('alt', '')} ({shown})")
        elif name == "hr":
            self._flush()
            is_paywall = PAYWALL_CLASS in attributes.get("class", "").split()
            self._add("Start of the part for members" if is_paywall else "Divider", "")
        elif name not in INLINE:
            self._separate()
            if name in _NAMES:
                self._open.append((name, _name(token)))

    def _end(self, name: str) -> None:
        if name == "a" and self._links:
            address = self._links.pop()
            if address and address != "".join(self._pieces[-1:]).strip():
                self._pieces.append(f" ({address})")
        elif name in ("td", "th"):
            self._pieces.append(" | ")
        elif name not in INLINE:
            if name == "tr":
                self._flush()
            self._separate()
            if self._open and self._open[-1][0] == name:
                self._open.pop()

    def _separate(self) -> None:
        """A row of a table is one block, whatever is in its cells."""
        if any(name == "tr" for name, _ in self._open):
            self._pieces.append(" ")
        else:
            self._flush()

    def _flush(self) -> None:
        text = "".join(self._pieces)
        self._pieces.clear()
        name = self._open[-1][1] if self._open else ""
        if name == "Table row":
            text = text.strip(" |\n")
        if text.strip():
            self._add(name, text)

    def _add(self, name: str, text: str) -> None:
        is_code = name == "Code"
        self._found.append(Block(name, text.rstrip() if is_code else " ".join(text.split())))


def _name(token: Token) -> str:
    checked = token.attributes.get("data-checked")
    if checked is not None:
        return "Task, done" if checked == "true" else "Task"
    return _NAMES[token.name]
