"""A link that looks like a button."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from masthead.content.cards.card import Block, Card, Imported, Platform, Values, Whole
from masthead.content.cards.elements import Parts, plain, root
from masthead.content.cards.platforms import block_comment, own_values, text_of
from masthead.content.cards.values import filled, link_in, required, text_in
from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import written

LONGEST: Final = 200


def read(given: Mapping[str, Any]) -> Values:
    url = required("url", link_in(given, "url"))
    return filled(url=url, label=required("label", text_in(given, "label", LONGEST)))


def opening(card: Values) -> str:
    return f"{root('button', 'p')}{written('a', {'href': card['url']})}{plain(card['label'])}</a>"


def parse(parts: Parts) -> Values:
    return {"url": parts.attributes("a").get("href"), "label": parts.text("a")}


def markdown(card: Values, _: str, whole: Whole) -> str:
    return f"[{escaped_text(card['label'])}](<{whole(card['url'])}>)"


def ghost(card: Values, _: str) -> str:
    link = written("a", {"href": card["url"], "class": "kg-btn kg-btn-accent"})
    label = plain(card["label"])
    return f'<div class="kg-card kg-button-card kg-align-center">{link}{label}</a></div>'


def from_ghost(card: Mapping[str, Any]) -> Imported | None:
    return Imported({"url": text_of(card, "buttonUrl"), "label": text_of(card, "buttonText")})


def wordpress(card: Values, _: str) -> str:
    classes = "wp-block-button__link wp-element-button"
    link = f"{written('a', {'class': classes, 'href': card['url']})}{plain(card['label'])}</a>"
    button = block_comment("button", {}, f'<div class="wp-block-button">{link}</div>')
    return block_comment("buttons", {}, f'<div class="wp-block-buttons">{button}</div>')


def from_wordpress(block: Block) -> Imported | None:
    # Ours writes a call to join as a button, too.
    is_own = own_values(block.attributes).get("card", CARD.name) == CARD.name
    return Imported(parse(block.parts)) if is_own else None


CARD: Final = Card(
    name="button",
    tag="p",
    read=read,
    opening=opening,
    parse=parse,
    markdown=markdown,
    ghost=Platform(ghost, from_ghost, ("button",)),
    wordpress=Platform(wordpress, from_wordpress, ("button",)),
)
