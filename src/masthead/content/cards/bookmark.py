"""A link to a page elsewhere, with its title, what it is about, and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from masthead.content.cards.card import Box, Card, Imported, Mail, Platform, Values, Whole
from masthead.content.cards.elements import Parts, element, picture, plain, root
from masthead.content.cards.platforms import inline_text, text_of
from masthead.content.cards.values import (
    LONGEST_TITLE,
    filled,
    link_in,
    required,
    source_in,
    text_in,
)
from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import written


def read(given: Mapping[str, Any]) -> Values:
    url = required("url", link_in(given, "url"))
    title = text_in(given, "title", LONGEST_TITLE)
    return filled(
        url=url,
        title="" if title == url else title,
        description=text_in(given, "description"),
        image=source_in(given, "image"),
    )


def opening(card: Values) -> str:
    shown = picture(card.get("image", "")) + element("strong", card.get("title") or card["url"])
    link = f"{written('a', {'href': card['url']})}{shown}</a>"
    return root("bookmark", "figure") + link + element("figcaption", card.get("description", ""))


def parse(parts: Parts) -> Values:
    return {
        "url": parts.attributes("a").get("href"),
        "title": parts.text("strong"),
        "description": parts.text("figcaption"),
        "image": parts.attributes("img").get("src"),
    }


def host_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def mail(card: Values) -> Mail:
    note = " · ".join(filter(None, (card.get("description"), host_of(card["url"]))))
    return [Box(card["url"], card.get("title") or card["url"], note, card.get("image", ""))]


def markdown(card: Values, _: str, whole: Whole) -> str:
    title = escaped_text(card.get("title") or card["url"])
    about = escaped_text(card.get("description", ""))
    return f"[{title}](<{whole(card['url'])}>)" + (f"  \n{about}" if about else "")


def ghost(card: Values, _: str) -> str:
    title = plain(card.get("title") or card["url"])
    about = element("div", card.get("description", ""), {"class": "kg-bookmark-description"})
    image = card.get("image", "")
    thumbnail = f'<div class="kg-bookmark-thumbnail">{picture(image)}</div>' if image else ""
    link = written("a", {"class": "kg-bookmark-container", "href": card["url"]})
    return (
        f'<figure class="kg-card kg-bookmark-card">{link}<div class="kg-bookmark-content">'
        f'<div class="kg-bookmark-title">{title}</div>{about}</div>{thumbnail}</a></figure>'
    )


def from_ghost(card: Mapping[str, Any]) -> Imported | None:
    given = card.get("metadata")
    about: Mapping[str, Any] = given if isinstance(given, dict) else card
    return Imported(
        {
            "url": text_of(card, "url") or text_of(about, "url"),
            "title": text_of(about, "title")[:LONGEST_TITLE],
            "description": text_of(about, "description") or inline_text(card, "caption"),
            "image": text_of(about, "thumbnail"),
        }
    )


def wordpress(card: Values, _: str) -> str:
    """WordPress has no such block: the element, as it is."""
    return f"<!-- wp:html -->\n{CARD.html(card)}\n<!-- /wp:html -->"


CARD: Final = Card(
    name="bookmark",
    tag="figure",
    read=read,
    opening=opening,
    parse=parse,
    markdown=markdown,
    ghost=Platform(ghost, from_ghost, ("bookmark",)),
    wordpress=Platform(wordpress),
    mail=mail,
)
