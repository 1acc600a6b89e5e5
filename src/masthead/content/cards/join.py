"""A call to join the site."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from masthead.content.cards.card import Block, Card, Imported, Mail, Platform, Values, Whole
from masthead.content.cards.elements import Parts, plain, root
from masthead.content.cards.platforms import block_comment, own_values, text_of
from masthead.content.cards.values import text_in
from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import written

ADDRESS: Final = "/member/sign-up"
LABEL: Final = "Join"
LONGEST: Final = 200


def read(given: Mapping[str, Any]) -> Values:
    return {"label": text_in(given, "label", LONGEST) or LABEL}


def opening(card: Values) -> str:
    return f"{root('join', 'p')}{written('a', {'href': ADDRESS})}{plain(card['label'])}</a>"


def parse(parts: Parts) -> Values:
    return {"label": parts.text("a")}


def mail(_: Values) -> Mail:
    """Nothing: people who get the email have joined."""
    return ()


def markdown(card: Values, _: str, whole: Whole) -> str:
    return f"[{escaped_text(card['label'])}](<{whole(ADDRESS)}>)"


def ghost(card: Values, _: str) -> str:
    label = plain(card["label"])
    return (
        '<div class="kg-card kg-signup-card kg-width-regular">'
        '<form class="kg-signup-card-form" data-members-form="signup">'
        '<button class="kg-signup-card-button" type="submit">'
        f'<span class="kg-signup-card-button-default">{label}</span></button></form></div>'
    )


def from_ghost(card: Mapping[str, Any]) -> Imported | None:
    label = text_of(card, "buttonText")
    return Imported({"label": label if len(label) <= LONGEST else LABEL})


def wordpress(card: Values, _: str) -> str:
    classes = "wp-block-button__link wp-element-button"
    link = f"{written('a', {'class': classes, 'href': ADDRESS})}{plain(card['label'])}</a>"
    own = {"masthead": {"card": "join"}}
    button = block_comment("button", own, f'<div class="wp-block-button">{link}</div>')
    return block_comment("buttons", {}, f'<div class="wp-block-buttons">{button}</div>')


def from_wordpress(block: Block) -> Imported | None:
    if block.name == "button" and own_values(block.attributes).get("card") != "join":
        return None
    return Imported({"label": block.parts.text("a")})


CARD: Final = Card(
    name="join",
    tag="p",
    read=read,
    opening=opening,
    parse=parse,
    markdown=markdown,
    ghost=Platform(ghost, from_ghost, ("signup",)),
    wordpress=Platform(wordpress, from_wordpress, ("button", "jetpack/subscriptions")),
    mail=mail,
)
