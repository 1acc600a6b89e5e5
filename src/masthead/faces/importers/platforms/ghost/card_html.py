"""Converts cards that Ghost has rendered for its own styles and scripts to plain HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from masthead.faces.importers.convert.fragments import inner_html, parsed, replace
from masthead.faces.importers.platforms.ghost.cards import render_card

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_STARS: Final = 5
# A card is read again with each card around it.
_NOT_DEEP: Final = (
    './/*[contains(@class, "kg-")][count(ancestor::*[contains(@class, "-card")]) < 40]'
)


def simplified(html: str) -> str:
    """Without player controls, forms and icons. HTML without such cards is unchanged."""
    if "kg-" not in html or not any(f"kg-{kind}-card" in html for kind in _CARDS):
        return html
    root = parsed(html)
    if root is None:
        return html
    # The inner ones first: our own export has cards in others.
    for element in reversed(root.xpath(_NOT_DEEP)):
        kind = _kind_of(element)
        if kind:
            card = {name: read(element) for name, read in _CARDS[kind].items()}
            replace(element, render_card(kind, card) or "")
    return inner_html(root)


def _kind_of(element: HtmlElement) -> str:
    """'' for an element that is no card."""
    named = (each[3:-5] for each in str(element.get("class") or "").split() if each[-5:] == "-card")
    return next((each for each in named if each in _CARDS), "")


def _with_class(name: str) -> str:
    return f'.//*[contains(concat(" ", normalize-space(@class), " "), " {name} ")]'


Read = Callable[["HtmlElement"], Any]


def _first(card: HtmlElement, names: tuple[str, ...]) -> HtmlElement | None:
    for name in names:
        path = _with_class(name) if name.startswith("kg-") else f".//{name}"
        found = card.xpath(path)
        if found:
            return found[0]
    return None


def _inside(*names: str) -> Read:
    """The HTML in the first element of one of these names or classes."""

    def read(card: HtmlElement) -> str:
        found = _first(card, names)
        return "" if found is None else inner_html(found)

    return read


def _text(*names: str) -> Read:
    def read(card: HtmlElement) -> str:
        found = _first(card, names)
        return "" if found is None else str(found.text_content()).strip()

    return read


def _value(attribute: str, *names: str) -> Read:
    def read(card: HtmlElement) -> str:
        found = _first(card, names)
        return "" if found is None else str(found.get(attribute) or "")

    return read


def _number(attribute: str, name: str) -> Read:
    def read(card: HtmlElement) -> int | None:
        value: str = _value(attribute, name)(card)
        return int(value) if value.isascii() and value.isdigit() and len(value) < 6 else None

    return read


def _own(*attributes: str, otherwise: Read = lambda _: None) -> Read:
    """An attribute of the card itself."""

    def read(card: HtmlElement) -> Any:
        return next(filter(None, map(card.get, attributes)), None) or otherwise(card)

    return read


def _own_number(attribute: str) -> Read:
    def read(card: HtmlElement) -> int | None:
        value = str(card.get(attribute) or "")
        return int(value) if value.isascii() and value.isdigit() and len(value) < 14 else None

    return read


def _thumbnail(card: HtmlElement) -> str:
    """The picture beside the text: the site's icon is one, too."""
    found = card.xpath(_with_class("kg-bookmark-thumbnail") + "//img")
    return str(found[0].get("src") or "") if found else ""


def _pictures(card: HtmlElement) -> list[dict[str, Any]]:
    names = ("src", "alt", "width", "height")
    return [{name: each.get(name) for name in names if each.get(name)} for each in card.iter("img")]


def _stars(card: HtmlElement) -> int:
    return len(card.xpath(_with_class("kg-product-card-rating-active")))


def _yes(_: HtmlElement) -> bool:
    return True


_CARDS: Final[Mapping[str, Mapping[str, Read]]] = {
    "audio": {"src": _value("src", "audio"), "title": _text("kg-audio-title")},
    "video": {
        "src": _value("src", "video"),
        # The player's own poster is an empty placeholder.
        "thumbnailSrc": _own("data-kg-custom-thumbnail", "data-kg-thumbnail"),
        "width": _number("width", "video"),
        "height": _number("height", "video"),
        "caption": _inside("figcaption"),
    },
    "file": {
        "src": _value("href", "a"),
        "fileTitle": _text("kg-file-card-title"),
        "fileCaption": _text("kg-file-card-caption"),
        "fileName": _text("kg-file-card-filename"),
        # As our own export has it: Ghost's own is rounded.
        "fileSize": _own_number("data-size"),
    },
    "bookmark": {
        "url": _value("href", "kg-bookmark-container", "a"),
        "title": _text("kg-bookmark-title"),
        "description": _text("kg-bookmark-description"),
        "thumbnail": _thumbnail,
        "caption": _inside("figcaption"),
    },
    "gallery": {"images": _pictures, "caption": _inside("figcaption")},
    "embed": {
        "url": _value("data-url", "iframe"),
        "html": inner_html,
        "title": _value("title", "iframe"),
        "thumbnail_url": _value("data-image", "iframe"),
        "caption": _inside("figcaption"),
    },
    "toggle": {
        "heading": _inside("kg-toggle-heading-text"),
        "content": _inside("kg-toggle-content"),
    },
    "callout": {
        "calloutEmoji": _text("kg-callout-emoji"),
        "calloutText": _inside("kg-callout-text"),
    },
    "product": {
        "productImageSrc": _value("src", "kg-product-card-image"),
        "productTitle": _inside("kg-product-card-title"),
        "productDescription": _inside("kg-product-card-description"),
        "productRatingEnabled": lambda card: 0 < _stars(card) <= _STARS,
        "productStarRating": _stars,
        "productButtonEnabled": _yes,
        "productButton": _text("kg-product-card-button"),
        "productUrl": _value("href", "kg-product-card-button"),
    },
    "header": {
        "backgroundImageSrc": _own(
            "data-kg-background-image", otherwise=_value("src", "kg-header-card-image")
        ),
        "header": _inside("kg-header-card-heading", "kg-header-card-header"),
        "subheader": _inside("kg-header-card-subheading", "kg-header-card-subheader"),
        "buttonEnabled": _yes,
        "buttonText": _text("kg-header-card-button"),
        "buttonUrl": _value("href", "kg-header-card-button"),
    },
    "cta": {
        "hasSponsorLabel": _yes,
        "sponsorLabel": _inside("kg-cta-sponsor-label"),
        "imageUrl": _value("src", "img"),
        "textValue": _inside("kg-cta-text"),
        "buttonText": _text("kg-cta-button"),
        "buttonUrl": _value("href", "kg-cta-button"),
    },
    "button": {"buttonText": _text("a"), "buttonUrl": _value("href", "a")},
    "signup": {"buttonText": _text("kg-signup-card-button-default", "kg-signup-card-button")},
    "email": {},
}
"""How the properties of each card are read from its HTML."""
