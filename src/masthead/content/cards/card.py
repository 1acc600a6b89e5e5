"""Cards: blocks of a text with a look of their own, such as a gallery or a bookmark.

Each is declared in one file of this folder: its node in the editor's document, its element in
`content_html`, and its forms in emails, in Markdown and in the exports of other platforms. A new
card is such a file, and a line in `catalog.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from masthead.content.html.card_attributes import class_of
from masthead.content.html.markup import Attributes, Token, written
from masthead.engine.records.safe_addresses import safe_link, safe_source

Values = dict[str, Any]
"""The attributes of a card's node. Empty ones are left out."""
Whole = Callable[[str], str]
"""Makes an address whole, so that it leads somewhere outside of the site, too."""

LONGEST_TITLE: Final = 500
LONGEST_TEXT: Final = 2_000
LONGEST_ADDRESS: Final = 4_000


class WrongCard(Exception):
    """An attribute can't be taken. The message is a sentence for the author."""


class Box(msgspec.Struct, frozen=True):
    """A card in an email: a link with a title, a line below it, and a picture."""

    address: str
    title: str
    note: str = ""
    picture: str = ""


class Words(msgspec.Struct, frozen=True):
    """A card in an email, as clean HTML that is written as the rest of the text."""

    html: str


class PostLink(msgspec.Struct, frozen=True):
    """A link to the text on the site, for what an email can't show."""

    label: str


MailPart = Box | Words | PostLink


class Imported(msgspec.Struct, frozen=True):
    """The values that an importer found for a card."""

    values: Values
    inside: str = ""
    """HTML of the blocks that it holds."""


class Block(msgspec.Struct, frozen=True):
    """A block of WordPress: the attributes of its comment, and its HTML."""

    name: str
    attributes: Mapping[str, Any]
    html: str
    parts: Parts


Foreign = TypeVar("Foreign")


class Platform(msgspec.Struct, Generic[Foreign], frozen=True):
    """A card's form on another platform."""

    write: Callable[[Values, str], str]
    """Its HTML, around that of the blocks that it holds."""
    read: Callable[[Foreign], Imported | None] | None = None
    names: tuple[str, ...] = ()
    """The platform's own names for the cards or blocks that become this card."""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    tag: str
    """The name of its element."""
    read: Callable[[Mapping[str, Any]], Values]
    """The attributes of a node, from untrusted JSON. Raises WrongCard."""
    opening: Callable[[Values], str]
    """The element's HTML without its end tag, up to the blocks that it holds."""
    parse: Callable[[Parts], Values]
    """The attributes of its element; `element_of` checks that nothing is lost."""
    head: Callable[[Sequence[Token]], int] | None = None
    """For a card that holds blocks: the number of its tokens before them."""
    mail: Callable[[Values], Sequence[MailPart]] | None = None
    """None: as its element, whose parts emails can show."""
    feed: Callable[[Values], Sequence[MailPart]] | None = None
    """None: as its element."""
    markdown: Callable[[Values, str, Whole], str]
    """Its block of Markdown, from that of the blocks that it holds and a function that makes
    addresses whole."""
    ghost: Platform[Mapping[str, Any]]
    wordpress: Platform[Block]

    def html(self, values: Values, inside: str = "") -> str:
        return f"{self.opening(values)}{inside}</{self.tag}>"

    def made(self, given: Mapping[str, Any], inside: str = "") -> str:
        """The element of what an importer found; '' if it can't be one."""
        try:
            return self.html(self.read(given), inside)
        except WrongCard:
            return ""


def root(name: str, tag: str, more: Attributes | None = None) -> str:
    return written(tag, {"data-card": name, "class": class_of(name), **(more or {})})


class Parts:
    """The parts of an element, found by the names of the tags."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens

    def attributes(self, tag: str) -> Attributes:
        """Those of the first element of this name; none if there is none."""
        return next((each.attributes for each in self.tokens if each[:2] == ("start", tag)), {})

    def all(self, tag: str) -> list[Attributes]:
        return [each.attributes for each in self.tokens if each[:2] == ("start", tag)]

    def text(self, tag: str) -> str:
        """The words in the first element of this name."""
        pieces: list[str] = []
        depth = 0
        for token in self.tokens:
            if token[:2] == ("start", tag):
                depth += 1
            elif token[:2] == ("end", tag):
                depth -= 1
                if depth == 0:
                    break
            elif depth and token.kind == "text":
                pieces.append(token.name)
        return one_line("".join(pieces))


def one_line(text: str) -> str:
    """As browsers show it, without characters that HTML can't hold."""
    return " ".join("".join(each if each >= " " else " " for each in text).split())


def text_in(given: Mapping[str, Any], name: str, most: int = LONGEST_TEXT) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongCard(f"{name} must be text.")
    if len(value) > most:
        raise WrongCard(f"{name} may have {most:,} characters.")
    return one_line(value)


def link_in(given: Mapping[str, Any], name: str) -> str:
    return _address(given, name, safe_link, "an address, such as https://example.org")


def source_in(given: Mapping[str, Any], name: str) -> str:
    """The address of a file that a page loads."""
    return _address(given, name, safe_source, "the address of a file, with https or of this site")


def _address(given: Mapping[str, Any], name: str, safe: Callable[[str], str], what: str) -> str:
    value = given.get(name)
    if value is None or value == "":
        return ""
    address = safe(value) if isinstance(value, str) and len(value) <= LONGEST_ADDRESS else ""
    if not address:
        raise WrongCard(f"{name} must be {what}.")
    return one_line(address).replace(" ", "%20")


def number_in(given: Mapping[str, Any], name: str, most: int) -> int:
    """0 for none."""
    value = given.get(name)
    if value is None:
        return 0
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise WrongCard(f"{name} must be a whole number up to {most:,}.")
    return value


def required(name: str, value: str) -> str:
    if not value:
        raise WrongCard(f"{name} is missing.")
    return value


def filled(**values: Any) -> Values:
    """Without those that are empty."""
    return {name: value for name, value in values.items() if value}


def plain(text: str) -> str:
    """Text between tags, as the sanitizer writes it: quotes stay."""
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\xa0", "&nbsp;")
    )


def element(tag: str, text: str, attributes: Attributes | None = None) -> str:
    """'' without text."""
    return f"{written(tag, attributes or {})}{plain(text)}</{tag}>" if text else ""


def picture(source: str, alt: str = "", width: int = 0, height: int = 0) -> str:
    if not source:
        return ""
    sizes = {name: str(each) for name, each in (("width", width), ("height", height)) if each}
    return written("img", {"src": source, "alt": alt, **sizes})


def rewritten(tokens: Sequence[Token]) -> str:
    """Clean tokens as clean HTML."""
    pieces: list[str] = []
    for token in tokens:
        if token.kind == "text":
            pieces.append(plain(token.name))
        elif token.kind == "end":
            pieces.append(f"</{token.name}>")
        else:
            pieces.append(written(token.name, token.attributes))
    return "".join(pieces)
