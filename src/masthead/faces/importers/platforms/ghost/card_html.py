"""Converts cards that Ghost has rendered for its own styles and scripts to plain HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from masthead.faces.importers.convert.fragments import inner_html, parsed, replace
from masthead.faces.importers.platforms.ghost.cards import render_card

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_STARS: Final = 5


def simplified(html: str) -> str:
    """Without player controls, forms and icons. HTML without such cards is unchanged."""
    if "kg-" not in html or not any(f"kg-{kind}-card" in html for kind in _CARDS):
        return html
    root = parsed(html)
    if root is None:
        return html
    replaced: set[HtmlElement] = set()
    for kind, read in _CARDS.items():
        for element in root.xpath(_with_class(f"kg-{kind}-card")):
            # Ghost never nests cards.
            if element not in replaced:
                replace(element, render_card(kind, read(element)) or "")
                replaced.update(element.iter())
    return inner_html(root)


def _with_class(name: str) -> str:
    return f'.//*[contains(concat(" ", normalize-space(@class), " "), " {name} ")]'


def _first(card: HtmlElement, *names: str) -> HtmlElement | None:
    for name in names:
        path = _with_class(name) if name.startswith("kg-") else f".//{name}"
        found = card.xpath(path)
        if found:
            return found[0]
    return None


def _inside(card: HtmlElement, *names: str) -> str:
    found = _first(card, *names)
    return "" if found is None else inner_html(found)


def _text(card: HtmlElement, *names: str) -> str:
    found = _first(card, *names)
    return "" if found is None else str(found.text_content()).strip()


def _value(card: HtmlElement, attribute: str, *names: str) -> str:
    found = _first(card, *names)
    return "" if found is None else str(found.get(attribute) or "")


def _number(card: HtmlElement, attribute: str, name: str) -> int | None:
    value = _value(card, attribute, name)
    return int(value) if value.isascii() and value.isdigit() and len(value) < 6 else None


def _audio(card: HtmlElement) -> dict[str, Any]:
    return {"src": _value(card, "src", "audio"), "title": _text(card, "kg-audio-title")}


def _video(card: HtmlElement) -> dict[str, Any]:
    return {
        "src": _value(card, "src", "video"),
        # The player's own poster is an empty placeholder.
        "thumbnailSrc": card.get("data-kg-custom-thumbnail") or card.get("data-kg-thumbnail"),
        "width": _number(card, "width", "video"),
        "height": _number(card, "height", "video"),
        "caption": _inside(card, "figcaption"),
    }


def _file(card: HtmlElement) -> dict[str, Any]:
    return {
        "src": _value(card, "href", "a"),
        "fileTitle": _text(card, "kg-file-card-title"),
        "fileCaption": _text(card, "kg-file-card-caption"),
        "fileName": _text(card, "kg-file-card-filename"),
    }


def _bookmark(card: HtmlElement) -> dict[str, Any]:
    return {
        "url": _value(card, "href", "kg-bookmark-container", "a"),
        "metadata": {
            "title": _text(card, "kg-bookmark-title"),
            "description": _text(card, "kg-bookmark-description"),
        },
        "caption": _inside(card, "figcaption"),
    }


def _toggle(card: HtmlElement) -> dict[str, Any]:
    return {
        "heading": _inside(card, "kg-toggle-heading-text"),
        "content": _inside(card, "kg-toggle-content"),
    }


def _callout(card: HtmlElement) -> dict[str, Any]:
    return {
        "calloutEmoji": _text(card, "kg-callout-emoji"),
        "calloutText": _inside(card, "kg-callout-text"),
    }


def _product(card: HtmlElement) -> dict[str, Any]:
    stars = len(card.xpath(_with_class("kg-product-card-rating-active")))
    return {
        "productImageSrc": _value(card, "src", "kg-product-card-image"),
        "productTitle": _inside(card, "kg-product-card-title"),
        "productDescription": _inside(card, "kg-product-card-description"),
        "productRatingEnabled": 0 < stars <= _STARS,
        "productStarRating": stars,
        "productButtonEnabled": True,
        "productButton": _text(card, "kg-product-card-button"),
        "productUrl": _value(card, "href", "kg-product-card-button"),
    }


def _header(card: HtmlElement) -> dict[str, Any]:
    button = ("kg-header-card-button",)
    background = card.get("data-kg-background-image")
    return {
        "backgroundImageSrc": background or _value(card, "src", "kg-header-card-image"),
        "header": _inside(card, "kg-header-card-heading", "kg-header-card-header"),
        "subheader": _inside(card, "kg-header-card-subheading", "kg-header-card-subheader"),
        "buttonEnabled": True,
        "buttonText": _text(card, *button),
        "buttonUrl": _value(card, "href", *button),
    }


def _call_to_action(card: HtmlElement) -> dict[str, Any]:
    return {
        "hasSponsorLabel": True,
        "sponsorLabel": _inside(card, "kg-cta-sponsor-label"),
        "imageUrl": _value(card, "src", "img"),
        "textValue": _inside(card, "kg-cta-text"),
        "buttonText": _text(card, "kg-cta-button"),
        "buttonUrl": _value(card, "href", "kg-cta-button"),
    }


def _button(card: HtmlElement) -> dict[str, Any]:
    return {"buttonText": _text(card, "a"), "buttonUrl": _value(card, "href", "a")}


def _nothing(_: HtmlElement) -> dict[str, Any]:
    return {}


_CARDS: Final[Mapping[str, Callable[[HtmlElement], dict[str, Any]]]] = {
    "audio": _audio,
    "video": _video,
    "file": _file,
    "bookmark": _bookmark,
    "toggle": _toggle,
    "callout": _callout,
    "product": _product,
    "header": _header,
    "cta": _call_to_action,
    "button": _button,
    "signup": _nothing,
    "email": _nothing,
}
