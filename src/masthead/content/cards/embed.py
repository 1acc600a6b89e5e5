"""A player or a post of another site: a still picture with a link, and the player at a press."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from masthead.content.cards.bookmark import host_of
from masthead.content.cards.card import Block, Box, Card, Imported, Mail, Platform, Values, Whole
from masthead.content.cards.elements import Parts, element, picture, root
from masthead.content.cards.platforms import block_comment, inline_text, own_values, text_of
from masthead.content.cards.providers import player_of
from masthead.content.cards.values import (
    LONGEST_TITLE,
    filled,
    link_in,
    required,
    source_in,
    text_in,
)
from masthead.content.html.foreign_html import watch_address
from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import written

_ADDRESS: Final = re.compile(r"https?://[^\s<>\"']+")
_FRAME: Final = re.compile(r"""<iframe[^<>]*?\ssrc=["']?([^"'\s<>]+)""", re.IGNORECASE)
_SLUGS: Final = {"video": "video", "sound": "rich", "album": "rich", "post": "rich"}


def read(given: Mapping[str, Any]) -> Values:
    """The provider follows from the address."""
    url = required("url", link_in(given, "url") or link_in(given, "src"))
    title = text_in(given, "title", LONGEST_TITLE)
    text_in(given, "provider", LONGEST_TITLE)
    player = player_of(url)
    return filled(
        url=url,
        title="" if title == url else title,
        image=source_in(given, "image"),
        provider=player.provider if player else "",
    )


def opening(card: Values) -> str:
    shown = picture(card.get("image", "")) + element("strong", card.get("title") or card["url"])
    link = f"{written('a', {'href': card['url']})}{shown}</a>"
    return root("embed", "figure") + link + element("figcaption", _where(card))


def _where(card: Values) -> str:
    return card.get("provider") or host_of(card["url"])


def parse(parts: Parts) -> Values:
    return {
        "url": parts.attributes("a").get("href"),
        "title": parts.text("strong"),
        "image": parts.attributes("img").get("src"),
    }


def mail(card: Values) -> Mail:
    return [Box(card["url"], card.get("title") or card["url"], _where(card), card.get("image", ""))]


def markdown(card: Values, _: str, whole: Whole) -> str:
    return f"[{escaped_text(card.get('title') or card['url'])}](<{whole(card['url'])}>)"


def ghost(card: Values, _: str) -> str:
    """A frame with the player, which Ghost reads as its card; what it has no place for is in
    attributes of our own."""
    player = player_of(card["url"])
    about = {
        "src": player.address if player else card["url"],
        "title": card.get("title", ""),
        "data-url": card["url"],
        "data-image": card.get("image", ""),
    }
    frame = written("iframe", {name: value for name, value in about.items() if value})
    return f'<figure class="kg-card kg-embed-card">{frame}</iframe></figure>'


def from_ghost(card: Mapping[str, Any]) -> Imported | None:
    given = card.get("metadata")
    about: Mapping[str, Any] = given if isinstance(given, dict) else card
    frame = _FRAME.search(text_of(card, "html"))
    url = text_of(card, "url") or watch_address(frame[1] if frame else "")
    if not url:
        return None
    title = (text_of(about, "title") or inline_text(card, "caption"))[:LONGEST_TITLE]
    return Imported({"url": url, "title": title, "image": text_of(about, "thumbnail_url")})


def wordpress(card: Values, _: str) -> str:
    player = player_of(card["url"])
    slug = player.provider.lower() if player else "embed-handler"
    kind = _SLUGS[player.look] if player else "rich"
    own = filled(title=card.get("title"), image=card.get("image"))
    given = {
        "url": card["url"],
        "type": kind,
        "providerNameSlug": slug,
        "responsive": True,
        "masthead": {"card": "embed", **own},
    }
    classes = f"wp-block-embed is-type-{kind} is-provider-{slug} wp-block-embed-{slug}"
    address = element("div", f"\n{card['url']}\n", {"class": "wp-block-embed__wrapper"})
    figure = f"{written('figure', {'class': classes})}{address}</figure>"
    return block_comment("embed", given, figure)


def from_wordpress(block: Block) -> Imported | None:
    given = block.attributes.get("url")
    found = _ADDRESS.search(block.html)
    url = given if isinstance(given, str) else found[0] if found else ""
    own = own_values(block.attributes)
    title = text_of(own, "title") or block.parts.text("figcaption")
    if not url:
        return None
    return Imported({"url": url, "title": title[:LONGEST_TITLE], "image": text_of(own, "image")})


CARD: Final = Card(
    name="embed",
    tag="figure",
    read=read,
    opening=opening,
    parse=parse,
    markdown=markdown,
    ghost=Platform(ghost, from_ghost, ("embed",)),
    wordpress=Platform(wordpress, from_wordpress, ("embed",)),
    mail=mail,
)
