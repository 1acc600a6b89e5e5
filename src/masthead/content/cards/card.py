"""Cards: blocks of a text with a look of their own, such as a gallery or a bookmark.

Each is declared in one file of this folder: its node in the editor's document, its element in
`content_html`, and its forms in emails, in Markdown and in the exports of other platforms. A new
card is such a file, and a line in `catalog.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from masthead.content.cards.elements import Parts
from masthead.content.cards.values import WrongCard
from masthead.content.html.markup import Token

Values = dict[str, Any]
"""The attributes of a card's node. Empty ones are left out."""
Whole = Callable[[str], str]
"""Makes an address whole, so that it leads somewhere outside of the site, too."""


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
Mail = Sequence[MailPart]


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
    mail: Callable[[Values], Mail] | None = None
    """None: as its element, whose parts emails can show."""
    feed: Callable[[Values], Mail] | None = None
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
