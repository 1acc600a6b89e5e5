"""The text of a post as the HTML of an email: what mail programs show, and nothing else.

Outlook has no players, Gmail strips ids, and an address needs its host. Styles come from the
letter's style sheet, which is inlined into the whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urljoin

import msgspec

from masthead.base.languages.words import words
from masthead.content.cards.card import MailPart, PostLink, Words
from masthead.content.cards.catalog import CardElement, element_at
from masthead.content.html.card_attributes import CARD
from masthead.content.html.embeds import find_embed
from masthead.content.html.markup import VOID, Attributes, Token, escaped, written
from masthead.features.media.signed_addresses import PARAMETER

WIDTH: Final = 536
"""The width of the text in CSS pixels: 600 less its margins."""
HALF: Final = 262
"""The width of a picture in a gallery: two of them in a row."""
RETINA: Final = 1200
"""Wider pictures are mailed in this width, which thumbs have."""

_RENAMED: Final[dict[str, str]] = {
    # The letter's own title is its only first heading.
    "h1": "h2",
    **dict.fromkeys(("address", "article", "aside", "details", "div", "figure"), "div"),
    **dict.fromkeys(("footer", "header", "main", "nav", "section"), "div"),
    **dict.fromkeys(("figcaption", "summary"), "p"),
    **dict.fromkeys(("bdi", "label", "time"), "span"),
}
_CLASSES: Final[dict[str, str]] = {
    "figure": "figure",
    "figcaption": "caption",
    "summary": "summary",
    "table": "data",
    "mark": "mark",
}
_FILE: Final = re.compile(r"/media/([a-z0-9]{15})/", re.ASCII)
_DROPPED: Final = frozenset({"picture", "source", "track", "wbr"})
_KEPT: Final[tuple[str, ...]] = (
    "title",
    "start",
    "reversed",
    "type",
    "value",
    "colspan",
    "rowspan",
    "span",
    "dir",
    "lang",
)


class MailedPicture(msgspec.Struct, frozen=True):
    """A picture of the site's media."""

    src: str
    alt: str
    width: int
    height: int


class Addresses(msgspec.Struct, frozen=True):
    """Turns addresses of the text into addresses that work in an email."""

    site: str
    page: str = ""
    """The address of the post; empty for one that has no page."""
    signatures: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Signatures by the ids of files that not everyone may open."""

    def whole(self, address: str) -> str:
        """Empty where it leads nowhere. Notes are on the post's page, because few programs jump
        within an email."""
        if not address:
            return ""
        if address.startswith("#"):
            return self.page + address if self.page else ""
        try:
            return self._signed(urljoin(self.page or f"{self.site}/", address))
        except ValueError:
            return ""

    def _signed(self, address: str) -> str:
        file = _FILE.match(address.removeprefix(self.site))
        signature = self.signatures.get(file[1]) if file else None
        if not signature:
            return address
        whole, mark, fragment = address.partition("#")
        return f"{whole}{'&' if '?' in whole else '?'}{PARAMETER}={signature}{mark}{fragment}"


class HtmlWriter:
    def __init__(
        self,
        tokens: Sequence[Token],
        pictures: Mapping[str, MailedPicture],
        addresses: Addresses,
    ) -> None:
        self._tokens = tokens
        self._pictures = pictures
        self._addresses = addresses
        self._pictures_until = -1
        """The index after the gallery that is open."""
        self._written_as: list[str] = []
        """The tags that were written for the elements that are open."""

    def run(self) -> str:
        pieces: list[str] = []
        at = 0
        while at < len(self._tokens):
            piece, at = self._piece(at)
            pieces.append(piece)
        return "".join(pieces)

    def _piece(self, at: int) -> tuple[str, int]:
        token = self._tokens[at]
        if token.kind == "text":
            return escaped(token.name), at + 1
        if token.kind == "end":
            return self._end(token.name), at + 1
        if CARD in token.attributes and (card := element_at(self._tokens, at)):
            return self._card(card, at)
        if token.name == "p" and (found := find_embed(self._tokens, at)):
            embed, after = found
            return box(embed.address, embed.kind, embed.where), after
        if token.name in ("audio", "video"):
            return self._player(token, at)
        return self._start(token, at), at + 1

    def _card(self, found: CardElement, at: int) -> tuple[str, int]:
        if found.card.mail:
            return "".join(map(self._part, found.card.mail(found.values))), found.after
        if found.card.name == "gallery" and len(found.values["images"]) > 1:
            self._pictures_until = found.after
        return self._start(self._tokens[at]), at + 1

    def _part(self, part: MailPart) -> str:
        if isinstance(part, Words):
            return part.html
        if isinstance(part, PostLink):
            page = self._addresses.page
            return box(page, part.label, _shown(page)) if page else ""
        address = self._addresses.whole(part.address)
        image = self._image(_image_token(part.picture), at=-1) if part.picture else ""
        return box(address, part.title, part.note, image) if address else ""

    def _start(self, token: Token, at: int = -1) -> str:
        if token.name == "img":
            return self._image(token, at)
        if token.name == "input":
            return "☑ " if "checked" in token.attributes else "☐ "
        if token.name in VOID:
            return "" if token.name in _DROPPED else written(token.name, {})
        name = "" if token.name in _DROPPED else _RENAMED.get(token.name, token.name)
        attributes = self._attributes(token)
        if token.name == "a" and "href" not in attributes:
            name, attributes = "span", {}
        self._written_as.append(name)
        if not name:
            return ""
        before = '<div class="wide">' if name == "table" else ""
        return before + written(name, attributes)

    def _end(self, _: str) -> str:
        name = self._written_as.pop() if self._written_as else ""
        if not name:
            return ""
        return "</table></div>" if name == "table" else f"</{name}>"

    def _attributes(self, token: Token) -> Attributes:
        given = token.attributes
        attributes: Attributes = {name: given[name] for name in _KEPT if name in given}
        if token.name == "bdi":
            # As a `span` it would no longer be set apart from the words around it.
            attributes.setdefault("dir", "auto")
        if token.name in _CLASSES:
            attributes["class"] = _CLASSES[token.name]
        if CARD in given:
            attributes["class"] = given["class"]
        if given.get("data-type", "") in ("taskList", "taskItem"):
            attributes["class"] = "tasks"
        if given.get("style", "").startswith("text-align: "):
            attributes["style"] = given["style"]
        if href := self._addresses.whole(given.get("href", "")):
            attributes["href"] = href
        return attributes

    def _image(self, token: Token, at: int) -> str:
        given = token.attributes
        address = given.get("src", "")
        picture = self._pictures.get(address)
        alt = given.get("alt") or (picture.alt if picture else "")
        if address.startswith("data:"):
            # Gmail and Outlook show no pictures that are within an email's text.
            return f"<em>{escaped(alt)}</em>" if alt else ""
        source = picture.src if picture else address
        # Pictures of a gallery are in pairs.
        sizes = _sizes(given, picture, HALF if at < self._pictures_until else WIDTH)
        return written("img", {"src": self._addresses.whole(source), "alt": alt, **sizes})

    def _player(self, token: Token, at: int) -> tuple[str, int]:
        """A link to the file: what stands in the player is for browsers without one."""
        address = token.attributes.get("src", "")
        after = at + 1
        while after < len(self._tokens) and self._tokens[after][:2] != ("end", token.name):
            inside = self._tokens[after]
            if inside.name == "source" and not address:
                address = inside.attributes.get("src", "")
            after += 1
        whole = self._addresses.whole(address) if address else self._addresses.page
        label = words("Play the video") if token.name == "video" else words("Play the sound")
        return (box(whole, label, _named(address)) if whole else ""), after + 1


def _named(address: str) -> str:
    return address.rpartition("/")[2].partition("?")[0] or words("On the site")


def _image_token(address: str) -> Token:
    return Token("start", "img", {"src": address})


def _shown(page: str) -> str:
    return page.partition("://")[2]


def _sizes(given: Attributes, picture: MailedPicture | None, most: int) -> Attributes:
    """Outlook needs a width, and other programs both, so that nothing moves. A picture of unknown
    size is at most as wide as the text in Outlook, and as it is elsewhere."""
    width, height = (int(given.get(name) or 0) for name in ("width", "height"))
    if picture and not (width and height):
        ratio = picture.height / picture.width
        width = width or (round(height / ratio) if height else picture.width)
        height = round(width * ratio)
    if not width:
        return {"width": str(most), "class": "unsized"}
    shown = min(width, most)
    tall = {"height": str(max(1, round(height * shown / width)))} if height else {}
    return {"width": str(shown), **tall}


def box(address: str, label: str, where: str, picture: str = "") -> str:
    """`picture`: the HTML of one above the words."""
    return (
        '<table class="box" role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr>'
        f'<td class="boxed">{written("a", {"href": address, "class": "boxlink"})}'
        f"{picture}<b>{escaped(str(label))}</b><br>"
        f'<span class="quiet">{escaped(str(where))}</span></a></td>'
        "</tr></table>"
    )
