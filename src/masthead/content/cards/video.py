"""A video of the site's own, with a player."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from masthead.base.languages.words import words
from masthead.content.cards.audio import file_name
from masthead.content.cards.card import Block, Box, Card, Imported, Mail, Platform, Values, Whole
from masthead.content.cards.elements import Parts, element, root
from masthead.content.cards.platforms import block_comment, inline_text, text_of
from masthead.content.cards.values import filled, required, source_in, text_in
from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import written


def read(given: Mapping[str, Any]) -> Values:
    return filled(
        src=required("src", source_in(given, "src")),
        poster=source_in(given, "poster"),
        caption=text_in(given, "caption"),
    )


def opening(card: Values) -> str:
    poster = {"poster": card["poster"]} if "poster" in card else {}
    about = {"src": card["src"], **poster, "controls": "", "playsinline": ""}
    player = f"{written('video', about)}</video>"
    return root("video", "figure") + player + element("figcaption", card.get("caption", ""))


def parse(parts: Parts) -> Values:
    about = parts.attributes("video")
    return {
        "src": about.get("src") or parts.attributes("source").get("src"),
        "poster": about.get("poster"),
        "caption": parts.text("figcaption"),
    }


def mail(card: Values) -> Mail:
    note = card.get("caption") or file_name(card["src"])
    return [Box(card["src"], words("Play the video"), note, card.get("poster", ""))]


def markdown(card: Values, _: str, whole: Whole) -> str:
    return f"[{escaped_text(card.get('caption') or 'Video')}](<{whole(card['src'])}>)"


def ghost(card: Values, _: str) -> str:
    poster = card.get("poster", "")
    start = written(
        "figure", {"class": "kg-card kg-video-card", "data-kg-custom-thumbnail": poster}
    )
    about = {"src": card["src"], "playsinline": "", "preload": "metadata"}
    player = f"{written('video', about)}</video>"
    caption = element("figcaption", card.get("caption", ""))
    return f'{start}<div class="kg-video-container">{player}</div>{caption}</figure>'


def from_ghost(card: Mapping[str, Any]) -> Imported | None:
    source = text_of(card, "src")
    poster = text_of(card, "customThumbnailSrc") or text_of(card, "thumbnailSrc")
    if not source:
        return None
    return Imported({"src": source, "poster": poster, "caption": inline_text(card, "caption")})


def wordpress(card: Values, _: str) -> str:
    poster = {"poster": card["poster"]} if "poster" in card else {}
    player = f"{written('video', {'controls': '', **poster, 'src': card['src']})}</video>"
    caption = element("figcaption", card.get("caption", ""), {"class": "wp-element-caption"})
    return block_comment("video", {}, f'<figure class="wp-block-video">{player}{caption}</figure>')


def from_wordpress(block: Block) -> Imported | None:
    found = parse(block.parts)
    return Imported(found) if found["src"] else None


CARD: Final = Card(
    name="video",
    tag="figure",
    read=read,
    opening=opening,
    parse=parse,
    markdown=markdown,
    ghost=Platform(ghost, from_ghost, ("video",)),
    wordpress=Platform(wordpress, from_wordpress, ("video",)),
    mail=mail,
)
