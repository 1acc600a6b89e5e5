"""A sound with a player."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from masthead.base.languages.words import words
from masthead.content.cards.card import Block, Box, Card, Imported, Mail, Platform, Values, Whole
from masthead.content.cards.elements import Parts, element, root
from masthead.content.cards.platforms import block_comment, text_of
from masthead.content.cards.values import LONGEST_TITLE, filled, required, source_in, text_in
from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import written


def read(given: Mapping[str, Any]) -> Values:
    source = required("src", source_in(given, "src"))
    return filled(src=source, title=text_in(given, "title", LONGEST_TITLE))


def opening(card: Values) -> str:
    player = f"{written('audio', {'src': card['src'], 'controls': ''})}</audio>"
    return root("audio", "figure") + player + element("figcaption", card.get("title", ""))


def parse(parts: Parts) -> Values:
    source = parts.attributes("audio").get("src") or parts.attributes("source").get("src")
    return {"src": source, "title": parts.text("figcaption")}


def mail(card: Values) -> Mail:
    return [Box(card["src"], words("Play the sound"), card.get("title") or file_name(card["src"]))]


def file_name(address: str) -> str:
    return address.rpartition("/")[2].partition("?")[0] or words("On the site")


def markdown(card: Values, _: str, whole: Whole) -> str:
    return f"[{escaped_text(card.get('title') or 'Audio')}](<{whole(card['src'])}>)"


def ghost(card: Values, _: str) -> str:
    player = written("audio", {"src": card["src"], "preload": "metadata"})
    title = element("div", card.get("title", ""), {"class": "kg-audio-title"})
    return (
        '<div class="kg-card kg-audio-card"><div class="kg-audio-player-container">'
        f"{player}</audio>{title}</div></div>"
    )


def from_ghost(card: Mapping[str, Any]) -> Imported | None:
    source = text_of(card, "src")
    title = text_of(card, "title")[:LONGEST_TITLE]
    return Imported({"src": source, "title": title}) if source else None


def wordpress(card: Values, _: str) -> str:
    player = f"{written('audio', {'controls': '', 'src': card['src']})}</audio>"
    caption = element("figcaption", card.get("title", ""), {"class": "wp-element-caption"})
    return block_comment("audio", {}, f'<figure class="wp-block-audio">{player}{caption}</figure>')


def from_wordpress(block: Block) -> Imported | None:
    found = parse(block.parts)
    return Imported(found) if found["src"] else None


CARD: Final = Card(
    name="audio",
    tag="figure",
    read=read,
    opening=opening,
    parse=parse,
    markdown=markdown,
    ghost=Platform(ghost, from_ghost, ("audio",)),
    wordpress=Platform(wordpress, from_wordpress, ("audio",)),
    mail=mail,
)
