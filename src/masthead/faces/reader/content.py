"""A post's clean HTML as its page shows it: without inline styles, with pictures in the size of the
screen, coloured code, and links in place of players of other sites.

It was cleaned when it was saved; every page and feed renders it through this module."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final, NamedTuple

from markupsafe import Markup

from masthead.base.caller import Audience
from masthead.content.cards.card import Box, MailPart, Values, Words
from masthead.content.cards.catalog import CardElement, element_at
from masthead.content.cards.elements import element
from masthead.content.cards.html import words_of
from masthead.content.html.card_attributes import CARD
from masthead.content.html.embeds import find_embed
from masthead.content.html.markup import Attributes, Token, escaped, tokens_of, written
from masthead.faces.reader import card_views
from masthead.faces.reader.card_views import Frames
from masthead.faces.reader.code_blocks import Coloured, coloured_block
from masthead.faces.reader.pictures import pictures_of
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.views import Picture
from masthead.features.media.hidden_files import private_files, without_files
from masthead.features.posts.site import without_paywall
from masthead.features.site.design import PLAIN

_LONG: Final = 50_000
"""Characters from which a text is read and written in a thread."""
_VERY_LONG: Final = 500_000
"""Characters from which others don't wait for a text: writing it takes a second and more."""
_FIRST_SCREEN: Final = 600
"""Characters of text. A picture after more of it is below what a screen shows first."""
_MEASURE: Final = 640
"""The widest that a text is, in CSS pixels."""
_WIDEST: Final = {"wide": 896, "full": 1600}
"""Pictures may be wider."""
_ALIGN: Final = re.compile(r"text-align: (left|center|right|justify)")


async def display(
    request: SiteRequest, html: str, *, starts_page: bool = False, html_cards: str = ""
) -> Markup:
    """`starts_page`: no picture is above the text, so the first in it is loaded first.
    `html_cards`: the beginning of the addresses of its own HTML."""
    if not html:
        return Markup("")
    html = await for_reader(request, html)
    async with one_at_a_time(html):
        text = await _read(html)
        pictures = await pictures_of(request, text.addresses)
        frames = _frames(request, html_cards)
        writer = _PageWriter(text.tokens, pictures, frames, starts_page=starts_page)
        # Colours of code come from another process, which the event loop must not wait for.
        if len(html) > _LONG or text.has_code:
            return await asyncio.to_thread(writer.run)
        return writer.run()


def _frames(request: SiteRequest, html_cards: str) -> Frames:
    joins = request.audience is Audience.GUEST and request.site_record["members_enabled"]
    if request.is_preview:
        return Frames(joins=joins)
    assets = request.services.themes.assets[PLAIN]
    styles = tuple(map(assets.url, ("tokens.css", "player.css")))
    return Frames(styles, html_cards, request.path, joins=joins, origins=request.frame_origins)


async def for_reader(request: SiteRequest, html: str) -> str:
    """Without private files, which don't open for guests."""
    if request.audience is not Audience.GUEST:
        return html
    return without_files(html, await private_files(request.records, request.tenant_id, [html]))


async def in_a_feed(html: str, site_url: str, page: str) -> str:
    """With whole addresses, and nothing that needs the site's style sheet. No `Markup`: in XML it
    is a text, which is escaped."""
    if not html:
        return ""
    async with one_at_a_time(html):
        writer = _FeedWriter((await _read(html)).tokens, site_url, page)
        return str(await asyncio.to_thread(writer.run) if len(html) > _LONG else writer.run())


class _Text(NamedTuple):
    tokens: list[Token]
    addresses: list[str]
    """The addresses of its pictures."""
    has_code: bool


async def _read(html: str) -> _Text:
    return await asyncio.to_thread(_text_of, html) if len(html) > _LONG else _text_of(html)


def _text_of(html: str) -> _Text:
    tokens = tokens_of(without_paywall(html))
    shown = [each.attributes["src"] for each in tokens if each.name == "img" and each.attributes]
    return _Text(tokens, shown, any(each.name == "pre" for each in tokens))


def one_at_a_time(html: str) -> AbstractAsyncContextManager[None]:
    """Several long texts would compete with the event loop for the interpreter, and the parts of
    each need ten times the memory of the text: the next one is read when this one is written."""
    if len(html) <= _LONG:
        return nullcontext()
    return _very_long_text if len(html) > _VERY_LONG else _long_text


_long_text, _very_long_text = asyncio.Semaphore(1), asyncio.Semaphore(1)


class _Writer:
    """Writes clean tokens as HTML."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens

    def run(self) -> Markup:
        pieces: list[str] = []
        at = 0
        while at < len(self._tokens):
            piece, at = self._piece(at)
            pieces.append(piece)
        return Markup("".join(pieces))  # noqa: S704  (clean, and written anew)

    def _piece(self, at: int) -> tuple[str, int]:
        """The HTML for the tokens from `at`, and the index after them."""
        token = self._tokens[at]
        if token.kind == "text":
            return escaped(token.name), at + 1
        # The page's own title is its only first heading.
        name = "h2" if token.name == "h1" else token.name
        if token.kind == "end":
            return f"</{name}>", at + 1
        return self._start(token, name), at + 1

    def _start(self, token: Token, name: str) -> str:
        return written(name, self._attributes(token))

    def _attributes(self, token: Token) -> Attributes:
        attributes = dict(token.attributes)
        # The site's policy forbids inline styles; alignment is a class of the style sheet.
        align = _ALIGN.search(attributes.pop("style", ""))
        if align:
            attributes["class"] = f"align-{align[1]}"
        if token.name == "a" and attributes.get("target") == "_blank":
            attributes["rel"] = f"{attributes.get('rel', '')} noopener".strip()
        return attributes


class _PageWriter(_Writer):
    def __init__(
        self,
        tokens: Sequence[Token],
        pictures: Mapping[str, Picture],
        frames: Frames,
        *,
        starts_page: bool,
    ) -> None:
        super().__init__(tokens)
        self._pictures = pictures
        self._frames = frames
        self._most = _MEASURE
        """The widest that a picture is shown, in CSS pixels."""
        self._is_cropped = False
        self._coloured = Coloured()
        self._may_be_first = starts_page
        self._characters = 0
        self._in_picture = False
        self._tables = 0

    def _piece(self, at: int) -> tuple[str, int]:
        kind, name, attributes = self._tokens[at]
        if kind == "text":
            self._characters += len(name)
        elif CARD in attributes and (card := element_at(self._tokens, at)):
            shown = self._card(card)
            return (shown, card.after) if shown is not None else super()._piece(at)
        elif name == "figure":
            self._most = _WIDEST.get(attributes.get("data-width", ""), _MEASURE)
            self._is_cropped = "data-crop" in attributes
        elif name == "picture":
            self._in_picture = kind == "start"
        elif name == "table":
            return self._table(kind, at)
        elif kind == "start" and name == "pre":
            if block := coloured_block(self._coloured, self._tokens, at):
                return block
        elif kind == "start" and name == "p" and (link := _embed_card(self._tokens, at)):
            return link
        return super()._piece(at)

    def _card(self, found: CardElement) -> str | None:
        """None for a card that is shown as its element."""
        values, frames = found.values, self._frames
        match found.card.name:
            case "gallery":
                return card_views.gallery(values, self._gallery_image)
            case "bookmark":
                return card_views.bookmark(values, self._still(values))
            case "embed":
                return card_views.embed(values, frames)
            case "html":
                return card_views.html(values, element("p", words_of(values["html"])), frames)
            case "join":
                return card_views.join(values, frames)
        return None

    def _still(self, card: Values) -> str:
        source = card.get("image", "")
        return self._image(Token("start", "img", {"src": source, "alt": ""})) if source else ""

    def _gallery_image(self, image: Values, ratio: str, share: float) -> str:
        self._most = round(_WIDEST["wide"] * share)
        shown = self._image(Token("start", "img", card_views.attributes_of(ratio, image)))
        self._most = _MEASURE
        return shown

    def _table(self, kind: str, at: int) -> tuple[str, int]:
        """As wide as the text, or wider than the screen: then the box around it scrolls."""
        before, after = "", ""
        if kind == "start":
            before = written("div", _TABLE) if self._tables == 0 else ""
            self._tables += 1
        else:
            self._tables -= 1
            after = "</div>" if self._tables == 0 else ""
        piece, at = super()._piece(at)
        return f"{before}{piece}{after}", at

    def _start(self, token: Token, name: str) -> str:
        return self._image(token) if name == "img" else super()._start(token, name)

    def _attributes(self, token: Token) -> Attributes:
        attributes = super()._attributes(token)
        if token.name == "pre":
            attributes["tabindex"] = "0"
        if token.name in ("audio", "video") and not attributes.get("src", "").startswith("/"):
            # Otherwise another site would learn who reads before anyone has pressed Play.
            attributes["preload"] = "none"
        return attributes

    def _image(self, token: Token) -> str:
        picture = self._pictures.get(token.attributes["src"])
        attributes = {"alt": picture.alt if picture else "", **self._attributes(token)}
        if picture and picture.width:
            attributes |= {"src": picture.src, **_size(picture, attributes)}
        if picture and picture.focus and (self._is_cropped or "class" in attributes):
            attributes["class"] = f"{attributes.get('class', '')} {picture.focus}".strip()
        if self._may_be_first and self._characters < _FIRST_SCREEN:
            attributes["fetchpriority"] = "high"
        else:
            attributes["loading"] = "lazy"
        self._may_be_first = False
        attributes["decoding"] = "async"
        if not picture or not picture.sources:
            return written("img", attributes)
        # The copies take the place of the sizes that another site had.
        attributes = {name: attributes[name] for name in attributes if name not in _SIZES}
        sources = "".join(
            written(
                "source",
                {"type": kind, "srcset": srcset, "sizes": _shown_at(attributes, self._most)},
            )
            for kind, srcset in picture.sources
        )
        shown = sources + written("img", attributes)
        return shown if self._in_picture else f"<picture>{shown}</picture>"


# What may be wider than the screen can be scrolled by the keyboard.
_TABLE: Final = {"class": "table", "tabindex": "0"}
_SIZES = ("srcset", "sizes")
_OF_PAGES: Final = ("class", CARD, "data-html", "data-size", "data-width", "data-crop")


def _size(picture: Picture, given: Attributes) -> Attributes:
    """Both sides, so that nothing moves when the picture arrives; the author's where given."""
    width, height = int(given.get("width", 0)), int(given.get("height", 0))
    if not width and not height:
        width, height = picture.width, picture.height
    width = width or max(1, round(height * picture.width / picture.height))
    height = height or max(1, round(width * picture.height / picture.width))
    return {"width": str(width), "height": str(height)}


def _shown_at(attributes: Attributes, most: int) -> str:
    width = min(int(attributes["width"]), most)
    # With the margins of a page.
    return f"(min-width: {width + 72}px) {width}px, 100vw"


class _FeedWriter(_Writer):
    def __init__(self, tokens: Sequence[Token], site_url: str, page: str) -> None:
        super().__init__(tokens)
        self._site_url = site_url
        self._page = page

    def _piece(self, at: int) -> tuple[str, int]:
        if CARD in self._tokens[at].attributes:
            card = element_at(self._tokens, at)
            if card and card.card.feed:
                return "".join(map(self._part, card.card.feed(card.values))), card.after
        return super()._piece(at)

    def _part(self, part: MailPart) -> str:
        if isinstance(part, Words):
            return part.html
        url = part.address if isinstance(part, Box) else self._page
        label = part.title if isinstance(part, Box) else part.label
        return f"<p>{written('a', {'href': url})}{escaped(str(label))}</a></p>"

    def _attributes(self, token: Token) -> Attributes:
        attributes = super()._attributes(token)
        for name in _OF_PAGES:
            attributes.pop(name, None)
        for name in ("src", "href", "poster"):
            value = attributes.get(name, "")
            if value.startswith("/") and not value.startswith("//"):
                attributes[name] = self._site_url + value
        if token.name == "img":
            attributes.setdefault("alt", "")
        return {name: value for name, value in attributes.items() if name not in _SIZES}


def _embed_card(tokens: Sequence[Token], at: int) -> tuple[str, int] | None:
    """The card with a link in place of the paragraph at `at`, if that is a player or a post of
    another site, and the index after it; None for any other paragraph."""
    found = find_embed(tokens, at)
    if found is None:
        return None
    embed, after = found
    card = (
        f'<p class="embed">{written("a", {"href": embed.address, "rel": "noopener"})}'
        f"<b>{escaped(embed.kind)}</b><span>{escaped(embed.where)}</span></a></p>"
    )
    return card, after
