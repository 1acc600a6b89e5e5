"""The text of a post as plain text, for programs and readers who want no HTML: the same document,
with quotations, lists, code and addresses as people write them in an email."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from masthead.base.languages.words import words
from masthead.content.cards.card import MailPart, PostLink, Words
from masthead.content.cards.catalog import CardElement, element_at
from masthead.content.html.card_attributes import CARD
from masthead.content.html.embeds import find_embed
from masthead.content.html.markup import Token, tokens_of
from masthead.features.mailings.letter_html import Addresses

COLUMNS: Final = 72
_BLOCKS: Final = frozenset(
    (
        *("address", "article", "aside", "blockquote", "caption", "dd", "details", "div", "dl"),
        *("dt", "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header"),
        *("hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody"),
        *("tfoot", "thead", "tr", "ul"),
    )
)
_MARKS: Final = {"b": "*", "strong": "*", "em": "_", "i": "_", "code": "`"}
_RULE: Final = "* * *"
_BACK: Final = frozenset("↩↩︎↑^")


class TextWriter:
    def __init__(self, tokens: Sequence[Token], addresses: Addresses) -> None:
        self._tokens = tokens
        self._addresses = addresses
        self._pieces: list[str] = []
        self._is_close = False
        """The next block follows the one before it without a line between."""
        self._line: list[str] = []
        self._indents: list[str] = []
        self._bullet = ""
        """The text before the next block, instead of its indent."""
        self._numbers: list[int] = []
        """The next number of each list that is open; 0 in a list without numbers."""
        self._links: list[tuple[str, int]] = []
        self._in_code = False
        self._in_player = ""
        self._in_table = False
        """A row of it was written."""
        self._in_list = False
        """An item of it was written."""

    def run(self) -> str:
        skipped_to = 0
        for at, token in enumerate(self._tokens):
            if at < skipped_to:
                continue
            if CARD in token.attributes and (card := element_at(self._tokens, at)):
                skipped_to = self._card(card, at)
            elif token[:2] == ("start", "p") and (found := find_embed(self._tokens, at)):
                embed, skipped_to = found
                self._finish_block()
                self._line.append(f"[{embed.kind}: {embed.address}]")
                self._finish_block()
            elif self._in_player:
                self._in_player = "" if token[:2] == ("end", self._in_player) else self._in_player
            elif token.kind == "text":
                self._line.append(token.name if self._in_code else _single_blanks(token.name))
            elif token.kind == "start":
                self._start(token)
            else:
                self._end(token.name)
        self._finish_block()
        return "".join(self._pieces)

    def _card(self, found: CardElement, at: int) -> int:
        """The index of the next token that is written as any other."""
        if found.card.mail is None:
            self._start(self._tokens[at])
            return at + 1
        for part in found.card.mail(found.values):
            self._finish_block()
            self._line.append(self._part(part))
            self._finish_block()
        return found.after

    def _part(self, part: MailPart) -> str:
        if isinstance(part, Words):
            return "".join(each.name for each in tokens_of(part.html) if each.kind == "text")
        if isinstance(part, PostLink):
            page = self._addresses.page
            return f"[{part.label!s}: {page}]" if page else ""
        note = f" ({part.note})" if part.note else ""
        address = self._addresses.whole(part.address)
        return f"[{part.title}{note}: {address}]" if address else ""

    def _start(self, token: Token) -> None:
        name = token.name
        if name in _BLOCKS:
            self._finish_block()
        match name:
            case "blockquote":
                self._indents.append("> ")
            case "ul" | "ol":
                first = int(token.attributes.get("start") or 1)
                self._numbers.append(first if name == "ol" else 0)
                self._in_list = len(self._numbers) > 1
            case "li" | "dd":
                self._item(name)
            case "tr":
                self._is_close = self._is_close or self._in_table
                self._in_table = True
            case "table":
                self._in_table = False
            case "pre":
                self._in_code = True
            case "hr":
                self._add([_RULE])
            case "br":
                self._line.append("\n")
            case "td" | "th":
                self._line.append(" | " if self._line else "")
            case "img":
                self._line.append(_picture(token.attributes.get("alt", "")))
            case "input":
                self._bullet += "[x] " if "checked" in token.attributes else "[ ] "
            case "a":
                self._links.append((token.attributes.get("href", ""), len(self._line)))
            case "audio" | "video":
                self._in_player = name
                if address := self._addresses.whole(token.attributes.get("src", "")):
                    self._line.append(str(words("[Play: %(address)s]", address=address)))
            case _ if name in _MARKS and not self._in_code:
                self._line.append(_MARKS[name])

    def _end(self, name: str) -> None:
        if name in _BLOCKS:
            self._finish_block()
        if name == "blockquote":
            self._leave_indent()
        elif name in ("ul", "ol"):
            if self._numbers:
                self._numbers.pop()
            self._in_list = bool(self._numbers)
        elif name in ("li", "dd"):
            self._leave_indent()
            self._bullet = ""
        elif name == "pre":
            self._in_code = False
        elif name == "a":
            self._finish_link()
        elif name in _MARKS and not self._in_code:
            self._line.append(_MARKS[name])

    def _item(self, name: str) -> None:
        number = self._numbers[-1] if self._numbers else 0
        if number:
            self._numbers[-1] += 1
        self._is_close, self._in_list = self._in_list, True
        bullet = "  " if name == "dd" else f"{number}. " if number else "- "
        self._bullet = bullet
        self._indents.append(" " * len(bullet))

    def _leave_indent(self) -> None:
        if self._indents:
            self._indents.pop()

    def _finish_link(self) -> None:
        if not self._links:
            return
        href, start = self._links.pop()
        shown = "".join(self._line[start:])
        if href.startswith("#"):
            # A note: its number, and no way back from it.
            label = shown.strip().strip("[]")
            self._line[start:] = [] if set(label) <= _BACK else [f"[{label}]"]
            return
        address = self._addresses.whole(href) if href else ""
        bare = address.removeprefix("mailto:").removeprefix("tel:")
        if bare and shown.strip() not in (bare, href):
            self._line.append(f" <{bare}>" if shown.strip() else f"<{bare}>")

    def _finish_block(self) -> None:
        text, self._line = "".join(self._line), []
        # A link that goes over several blocks is one of each.
        self._links = [(href, 0) for href, _ in self._links]
        if not text.strip():
            return
        if self._in_code:
            lines = text.strip("\n").split("\n")
        else:
            lines = [
                line
                for part in text.strip().split("\n")
                for line in textwrap.wrap(
                    part.strip(), self._room, break_long_words=False, break_on_hyphens=False
                )
            ]
        self._add(lines)

    @property
    def _room(self) -> int:
        return max(24, COLUMNS - sum(map(len, self._indents)))

    def _add(self, lines: Sequence[str]) -> None:
        rest = "".join(self._indents)
        first = "".join(self._indents[:-1]) + self._bullet if self._bullet else rest
        self._bullet = ""
        shown = [f"{rest if at else first}{line}".rstrip() for at, line in enumerate(lines)]
        if self._pieces:
            self._pieces.append("\n" if self._is_close else "\n\n")
        self._is_close = False
        self._pieces.append("\n".join(shown))


def _single_blanks(text: str) -> str:
    shown = " ".join(text.split())
    before = " " if text[:1].isspace() and shown else ""
    after = " " if text[-1:].isspace() else ""
    return f"{before}{shown}{after}"


def _picture(alt: str) -> str:
    return f"[Picture: {alt.strip()}]" if alt.strip() else ""
