"""A box around some blocks that stands out, with a sign such as 💡."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from masthead.content.cards.card import Block, Card, Imported, Platform, Values, Whole
from masthead.content.cards.elements import Parts, element, plain, root
from masthead.content.cards.platforms import (
    block_comment,
    blocks_of,
    markup_of,
    own_values,
    text_of,
)
from masthead.content.cards.values import filled, text_in
from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import Token

_SIGN: Final = {"class": "mh-emoji"}
LONGEST: Final = 20
"""Characters of the sign. A flag or a family is a single one that has many."""


def read(given: Mapping[str, Any]) -> Values:
    return filled(emoji=text_in(given, "emoji", LONGEST))


def opening(card: Values) -> str:
    return root("callout", "aside") + element("p", card.get("emoji", ""), _SIGN)


def head(tokens: Sequence[Token]) -> int:
    has_sign = len(tokens) > 3 and tokens[1][:2] == ("start", "p") and tokens[1].attributes == _SIGN
    return 4 if has_sign else 1


def parse(parts: Parts) -> Values:
    return {"emoji": parts.text("p")}


def markdown(card: Values, inside: str, _: Whole) -> str:
    sign = card.get("emoji", "")
    text = f"{escaped_text(sign)} {inside}" if sign else inside
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def ghost(card: Values, inside: str) -> str:
    sign = element("div", card.get("emoji", ""), {"class": "kg-callout-emoji"})
    return (
        f'<div class="kg-card kg-callout-card kg-callout-card-grey">{sign}'
        f'<div class="kg-callout-text">{inside}</div></div>'
    )


def from_ghost(card: Mapping[str, Any]) -> Imported | None:
    inside = blocks_of(markup_of(card, "calloutText"))
    if not inside:
        return None
    sign = text_of(card, "calloutEmoji")
    return Imported({"emoji": sign if len(sign) <= LONGEST else ""}, inside)


def wordpress(card: Values, inside: str) -> str:
    sign = card.get("emoji", "")
    shown = f"<!-- wp:paragraph -->\n<p>{plain(sign)}</p>\n<!-- /wp:paragraph -->\n" if sign else ""
    given = {"className": "mh-callout", "masthead": {"card": "callout", "emoji": sign}}
    group = f'<div class="wp-block-group mh-callout">{shown}{inside}</div>'
    return block_comment("group", given, group)


def from_wordpress(block: Block) -> Imported | None:
    """Only a group that our own export has written."""
    own = own_values(block.attributes)
    if own.get("card") != "callout":
        return None
    sign = str(own.get("emoji") or "")
    inside = block.html.removeprefix(f"<p>{plain(sign)}</p>") if sign else block.html
    return Imported({"emoji": sign}, inside.strip())


CARD: Final = Card(
    name="callout",
    tag="aside",
    read=read,
    opening=opening,
    parse=parse,
    head=head,
    markdown=markdown,
    ghost=Platform(ghost, from_ghost, ("callout",)),
    wordpress=Platform(wordpress, from_wordpress, ("group",)),
)
