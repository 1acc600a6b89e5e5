"""All cards, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from masthead.content.cards import (
    audio,
    bookmark,
    button,
    callout,
    embed,
    file,
    gallery,
    html,
    join,
    toggle,
    video,
)
from masthead.content.cards.card import Card, Values
from masthead.content.cards.elements import Parts, rewritten
from masthead.content.cards.values import WrongCard
from masthead.content.html.card_attributes import CARD as CARD_ATTRIBUTE
from masthead.content.html.markup import VOID, Token

_ALL: Final = (
    *(bookmark, callout, toggle, button, gallery, audio),
    *(video, file, html, join, embed),
)
CARDS: Final[dict[str, Card]] = {each.CARD.name: each.CARD for each in _ALL}


class CardElement(msgspec.Struct, frozen=True):
    """The element of a card in a clean text."""

    card: Card
    values: Values
    after: int
    """The index after it; for a card that holds blocks, of the first of them."""


def element_at(tokens: Sequence[Token], at: int) -> CardElement | None:
    """That which begins with the token at `at`. None for any other element, and for one with more
    than its card can hold."""
    start = tokens[at]
    card = CARDS.get(start.attributes.get(CARD_ATTRIBUTE, "")) if start.attributes else None
    if card is None or card.tag != start.name:
        return None
    if card.head:
        after = at + card.head(tokens[at : at + 5])
        own, end = tokens[at:after], ""
    else:
        after = end_of(tokens, at, _MOST_TOKENS)
        own, end = tokens[at:after], f"</{card.tag}>"
        if not own:
            return None
    try:
        values = card.read(card.parse(Parts(own)))
    except WrongCard:
        return None
    is_whole = card.opening(values) + end == rewritten(own)
    return CardElement(card, values, after) if is_whole else None


_MOST_TOKENS: Final = 60
"""More than the element of a card has that holds no blocks."""


def end_of(tokens: Sequence[Token], at: int, most: int) -> int:
    """The index after the element that begins at `at`; `at` if it has more than `most` tokens."""
    depth = 0
    for after in range(at, min(len(tokens), at + most)):
        kind, name, _ = tokens[after]
        if kind == "end":
            depth -= 1
            if depth == 0:
                return after + 1
        elif kind == "start" and name not in VOID:
            depth += 1
    return at
