"""Makes cards of the blocks of WordPress that are one, such as galleries and embeds, wherever they
are in a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from masthead.content.cards.card import Block, Card
from masthead.content.cards.catalog import CARDS
from masthead.content.cards.elements import Parts
from masthead.content.cards.gallery import galleries
from masthead.content.html.markup import cleaned_or_plain
from masthead.faces.importers.platforms.wordpress.blocks import DELIMITER, decoded
from masthead.faces.importers.platforms.wordpress.pieces import Placeholders, comments_of

_DEEPEST: Final = 50
_READ_TIMES: Final = 8
_READ_AT_LEAST: Final = 100_000
_START: Final = 20
"""The cost of a parser's start, in characters."""
_COMMENT: Final = re.compile(r"\n?<!--.*?-->\n?", re.DOTALL)
_DIVISIONS: Final = re.compile(r"</?div[^<>]*>|\s+")
_GROUP: Final = re.compile(r"<div[^<>]*>(.*)</div>", re.DOTALL)
_BY_BLOCK: Final[Mapping[str, tuple[Card, ...]]] = {
    name: tuple(each for each in CARDS.values() if name in each.wordpress.names)
    for card in CARDS.values()
    for name in card.wordpress.names
}


class _Open(Struct):
    name: str = ""
    attributes: str = ""
    comment: str = ""
    """As it was written."""
    pieces: list[str] = field(default_factory=list)


def with_cards(content: str, placeholders: Placeholders) -> str:
    if "<!-- wp:" not in content:
        return content
    reader = _Reader(placeholders, _READ_AT_LEAST + _READ_TIMES * len(content))
    position = 0
    for comment in comments_of(content):
        reader.add(content[position : comment.start])
        position = comment.end
        written = content[comment.start : comment.end]
        delimiter = DELIMITER.match(comment.inside)
        if delimiter is None:
            reader.add(written)
            continue
        is_end, name = delimiter.groups()
        name = name.removeprefix("core/")
        rest = comment.inside[delimiter.end() :]
        if is_end:
            reader.end(name, written)
        elif rest.endswith("/"):
            block = _Open(name, rest.removesuffix("/"))
            reader.add(reader.card(block, "") or written)
        else:
            reader.start(_Open(name, rest, written))
    reader.add(content[position:])
    return reader.finished()


class _Reader:
    def __init__(self, placeholders: Placeholders, left: int) -> None:
        self._placeholders = placeholders
        self._left = left
        """Characters that may still be read: those in several blocks are read several times."""
        self._open = [_Open()]
        """The blocks that have begun, in the text as a whole."""

    def add(self, piece: str) -> None:
        self._open[-1].pieces.append(piece)

    def start(self, block: _Open) -> None:
        if len(self._open) < _DEEPEST:
            self._open.append(block)
        else:
            self.add(block.comment)

    def end(self, name: str, written: str) -> None:
        if self._open[-1].name != name:
            self.add(written)
            return
        block = self._open.pop()
        inside = "".join(block.pieces)
        self.add(self.card(block, inside) or block.comment + inside + written)

    def card(self, block: _Open, inside: str) -> str:
        """The placeholder of a card; '' for a block that is none."""
        if block.name != "buttons" and block.name not in _BY_BLOCK:
            return ""
        self._left -= _START + len(self._placeholders.restored(inside))
        html = _card(block, inside, self._placeholders) if self._left >= 0 else None
        return "" if html is None else self._placeholders.add(html, is_block=True)

    def finished(self) -> str:
        while len(self._open) > 1:
            # A block that does not end.
            block = self._open.pop()
            self._open[-1].pieces += [block.comment, *block.pieces]
        return "".join(self._open[0].pieces)


def _card(block: _Open, inside: str, placeholders: Placeholders) -> str | None:
    """None for a block that is no card."""
    if block.name == "buttons":
        restored = placeholders.restored(_DIVISIONS.sub("", _COMMENT.sub("", inside)))
        return restored if restored.startswith("<p data-card=") else None
    cards = _BY_BLOCK.get(block.name, ())
    if not cards:
        return None
    html = inside.removeprefix("\n").removesuffix("\n")
    if block.name != "html":
        html = placeholders.restored(_COMMENT.sub("", html))
    if block.name == "group" and (group := _GROUP.search(html)):
        html = group[1]
    given = Block(block.name, decoded(block.attributes), html, _parts(block.name, html))
    for card in cards:
        imported = card.wordpress.read(given) if card.wordpress.read else None
        if imported is None:
            continue
        if card.name == "gallery":
            return galleries(imported.values["images"], imported.values["caption"]) or None
        return card.made(imported.values, imported.inside) or None
    return None


_WITHOUT_PARTS: Final = frozenset({"html", "group"})


def _parts(name: str, html: str) -> Parts:
    return Parts([] if name in _WITHOUT_PARTS else cleaned_or_plain(html)[1])
