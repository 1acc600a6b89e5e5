"""A file to download, with its name and size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from masthead.base.languages.words import words
from masthead.content.cards.audio import file_name
from masthead.content.cards.card import Block, Box, Card, Imported, Mail, Platform, Values, Whole
from masthead.content.cards.elements import Parts, element, plain, root
from masthead.content.cards.platforms import block_comment, own_values, text_of
from masthead.content.cards.values import filled, number_in, required, source_in, text_in
from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import written

LONGEST: Final = 255
_LARGEST: Final = 10**12


def read(given: Mapping[str, Any]) -> Values:
    source = required("src", source_in(given, "src"))
    name = text_in(given, "name", LONGEST) or file_name(source)[:LONGEST]
    return filled(src=source, name=name, size=number_in(given, "size", _LARGEST))


def opening(card: Values) -> str:
    size = card.get("size", 0)
    start = root("file", "p", {"data-size": str(size)} if size else {})
    link = f"{written('a', {'href': card['src']})}{plain(card['name'])}</a>"
    return start + link + (f" {element('small', in_words(size))}" if size else "")


def in_words(size: int) -> str:
    """Such as "12 KB"."""
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= least:
            number = size / least
            return f"{number:.1f} {unit}" if number < 10 else f"{number:.0f} {unit}"
    return f"{size} bytes"


def parse(parts: Parts) -> Values:
    return {
        "src": parts.attributes("a").get("href"),
        "name": parts.text("a"),
        "size": parts.attributes("p").get("data-size"),
    }


def mail(card: Values) -> Mail:
    size = card.get("size", 0)
    return [Box(card["src"], card["name"], in_words(size) if size else words("Download"))]


def markdown(card: Values, _: str, whole: Whole) -> str:
    size = card.get("size", 0)
    link = f"[{escaped_text(card['name'])}](<{whole(card['src'])}>)"
    return f"{link} ({in_words(size)})" if size else link


def ghost(card: Values, _: str) -> str:
    size = card.get("size", 0)
    about = {"class": "kg-card kg-file-card", **({"data-size": str(size)} if size else {})}
    link = written("a", {"class": "kg-file-card-container", "href": card["src"], "download": ""})
    title = element("div", card["name"], {"class": "kg-file-card-title"})
    name = element("div", card["name"], {"class": "kg-file-card-filename"})
    shown = element("div", in_words(size), {"class": "kg-file-card-filesize"}) if size else ""
    return (
        f'{written("div", about)}{link}<div class="kg-file-card-contents">{title}'
        f'<div class="kg-file-card-metadata">{name}{shown}</div></div></a></div>'
    )


def from_ghost(card: Mapping[str, Any]) -> Imported | None:
    source = text_of(card, "src")
    name = text_of(card, "fileTitle") or text_of(card, "fileName")
    size = card.get("fileSize")
    known = {"size": size} if isinstance(size, int) and 0 < size <= _LARGEST else {}
    return Imported({"src": source, "name": name[:LONGEST], **known}) if source else None


def wordpress(card: Values, _: str) -> str:
    link = f"{written('a', {'href': card['src']})}{plain(card['name'])}</a>"
    classes = "wp-block-file__button wp-element-button"
    button = written("a", {"href": card["src"], "class": classes, "download": ""})
    size = card.get("size", 0)
    given = {"href": card["src"], "masthead": {"size": size} if size else None}
    file = f'<div class="wp-block-file">{link}{button}Download</a></div>'
    return block_comment("file", given, file)


def from_wordpress(block: Block) -> Imported | None:
    source = block.parts.attributes("a").get("href")
    size = own_values(block.attributes).get("size")
    known = {"size": size} if isinstance(size, int) and 0 < size <= _LARGEST else {}
    name = block.parts.text("a")[:LONGEST]
    return Imported({"src": source, "name": name, **known}) if source else None


CARD: Final = Card(
    name="file",
    tag="p",
    read=read,
    opening=opening,
    parse=parse,
    markdown=markdown,
    ghost=Platform(ghost, from_ghost, ("file",)),
    wordpress=Platform(wordpress, from_wordpress, ("file",)),
    mail=mail,
)
