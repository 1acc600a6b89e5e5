"""Clean HTML with its cards in the form of another platform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from masthead.content.cards.card import Card, Values
from masthead.content.cards.catalog import element_at
from masthead.content.cards.elements import rewritten
from masthead.content.html.card_attributes import CARD
from masthead.content.html.markup import PAYWALL_COMMENT, PAYWALL_MARK, VOID, tokens_of

Form = Callable[[Card, Values, str], str]
"""Writes a card around the HTML that it holds."""
_ANY: Final = f' {CARD}="'


def for_ghost(html: str) -> str:
    if _ANY not in html:
        return html
    return _exported(html, lambda card, values, inside: card.ghost.write(values, inside), str)


def for_wordpress(html: str) -> str:
    """As blocks: one for each card, and one of HTML for what is between them."""
    if _ANY not in html:
        return _block(html) if html else ""
    return _exported(
        html, lambda card, values, inside: card.wordpress.write(values, inside), _between
    )


def _between(html: str) -> str:
    """White space at its ends is written around the block, in which it would be lost."""
    inside = html.strip()
    if not inside:
        return html
    before, _, after = html.partition(inside)
    return before + _block(inside) + after


def _block(html: str) -> str:
    """Without block comments WordPress would insert paragraphs and line breaks."""
    return f"<!-- wp:html -->\n{html}\n<!-- /wp:html -->"


def _exported(html: str, form: Form, between: Callable[[str], str]) -> str:
    found = _Writer(form, between).written(html.replace(PAYWALL_COMMENT, PAYWALL_MARK))
    return found.replace(PAYWALL_MARK, PAYWALL_COMMENT)


class _Writer:
    """Cards within other elements, such as lists, stay as they are: another platform has no place
    for its blocks there."""

    def __init__(self, form: Form, between: Callable[[str], str]) -> None:
        self._form = form
        self._between = between
        self._done: list[list[str]] = [[]]
        """The parts of the text, and of each card that is open."""
        self._plain: list[str] = []
        """The HTML since the last of them."""
        self._open: list[tuple[Card, Values] | None] = []
        """The open elements, with the cards among them."""

    def written(self, html: str) -> str:
        tokens = tokens_of(html)
        after = 0
        for at, token in enumerate(tokens):
            if at < after:
                continue
            if token.kind == "start" and CARD in token.attributes and all(self._open):
                found = element_at(tokens, at)
                if found is not None:
                    after = found.after
                    self._finish_plain()
                    if found.card.head:
                        self._open.append((found.card, found.values))
                        self._done.append([])
                    else:
                        self._done[-1].append(self._form(found.card, found.values, ""))
                    continue
            if token.kind == "end" and self._open:
                ended = self._open.pop()
                if ended is not None:
                    self._finish_plain()
                    inside = "".join(self._done.pop())
                    self._done[-1].append(self._form(*ended, inside))
                    continue
            elif token.kind == "start" and token.name not in VOID:
                self._open.append(None)
            self._plain.append(rewritten([token]))
        self._finish_plain()
        return "".join(self._done[0])

    def _finish_plain(self) -> None:
        if self._plain:
            self._done[-1].append(self._between("".join(self._plain)))
            self._plain = []
