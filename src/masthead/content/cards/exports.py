"""Clean HTML with its cards in the form of another platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from masthead.content.cards.card import Card, Values
from masthead.content.cards.catalog import element_at, end_of
from masthead.content.cards.elements import rewritten
from masthead.content.cards.platforms import block_comment
from masthead.content.html.card_attributes import CARD
from masthead.content.html.markup import PAYWALL_COMMENT, PAYWALL_MARK, VOID, Token, tokens_of

Form = Callable[[Card, Values, str], str]
"""Writes a card around the HTML that it holds."""
Figure = Callable[[Sequence[Token]], str]
"""Writes a picture that is wider than the text, or cropped."""
_WIDTH, _CROP = "data-width", "data-crop"
_SHAPES: Final = frozenset({_WIDTH, _CROP})
_ANY: Final = tuple(f' {name}="' for name in (CARD, _WIDTH, _CROP))


def for_ghost(html: str) -> str:
    if not _has_any(html):
        return html

    def form(card: Card, values: Values, inside: str) -> str:
        return card.ghost.write(values, inside)

    return _exported(html, form, str, _ghost_figure)


def _has_any(html: str) -> bool:
    return any(each in html for each in _ANY)


def for_wordpress(html: str) -> str:
    """As blocks: one for each card, and one of HTML for what is between them."""
    if not _has_any(html):
        return _block(html) if html else ""

    def form(card: Card, values: Values, inside: str) -> str:
        return card.wordpress.write(values, inside)

    return _exported(html, form, _between, _wordpress_figure)


def _ghost_figure(tokens: Sequence[Token]) -> str:
    """The crop stays ours: Ghost has none."""
    figure = tokens[0].attributes
    width = figure.get(_WIDTH)
    classes = "kg-card kg-image-card" + (f" kg-width-{width}" if width else "")
    return rewritten([tokens[0]._replace(attributes={**figure, "class": classes}), *tokens[1:]])


def _wordpress_figure(tokens: Sequence[Token]) -> str:
    figure = tokens[0].attributes
    width, crop = figure.get(_WIDTH, ""), figure.get(_CROP, "").replace(":", "/")
    classes = f"wp-block-image align{width} size-large" if width else "wp-block-image size-large"
    changed = [tokens[0]._replace(attributes={"class": classes})]
    for token in tokens[1:]:
        if token.name == "img" and crop:
            style = f"aspect-ratio:{crop};object-fit:cover"
            token = token._replace(attributes={**token.attributes, "style": style})
        elif token.kind == "start" and token.name == "figcaption":
            token = token._replace(attributes={"class": "wp-element-caption"})
        changed.append(token)
    about = {"align": width, "aspectRatio": crop, "scale": "cover" if crop else ""}
    return block_comment("image", about, rewritten(changed))


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


def _exported(html: str, form: Form, between: Callable[[str], str], figure: Figure) -> str:
    found = _Writer(form, between, figure).written(html.replace(PAYWALL_COMMENT, PAYWALL_MARK))
    return found.replace(PAYWALL_MARK, PAYWALL_COMMENT)


class _Writer:
    """Cards within other elements, such as lists, stay as they are: another platform has no place
    for its blocks there."""

    def __init__(self, form: Form, between: Callable[[str], str], figure: Figure) -> None:
        self._form = form
        self._figure = figure
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
            if token.name == "figure" and _SHAPES & token.attributes.keys() and all(self._open):
                after = end_of(tokens, at, len(tokens))
                self._finish_plain()
                self._done[-1].append(self._figure(tokens[at:after]))
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
