"""A text that is stored as HTML, in the editor: its document where that loses nothing, otherwise
the document that it can be converted to, and what that changes.

What the editor can't hold becomes an HTML card of its own, so the source stays; an element around
words that the editor does not have is dropped, and its words stay."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from masthead.base.errors import Invalid, RateLimited, Unavailable
from masthead.base.languages.formats import Numeral
from masthead.base.languages.words import staff_counted, staff_words
from masthead.content.cards.catalog import CARDS, end_of
from masthead.content.cards.elements import rewritten
from masthead.content.cards.html import LONGEST
from masthead.content.cards.values import LONGEST_TEXT, WrongCard, one_line
from masthead.content.html.card_attributes import CARD
from masthead.content.html.clean_texts import clean, cleaned_or_plain_text
from masthead.content.html.markup import (
    PAYWALL_CLASS,
    PAYWALL_COMMENT,
    VOID,
    Attributes,
    Token,
    tokens_of,
)
from masthead.content.html.sanitizer import HEADINGS, INLINE, TooCostly
from masthead.content.texts.editor import render
from masthead.content.texts.from_html import to_document
from masthead.content.texts.same_text import features_of, is_same_text
from masthead.storage.cancelling import complete

MAX_OPENED: Final = 1_000_000
"""Characters of HTML. A longer text stays HTML: its document would be beyond its limits."""
_QUICK: Final = 10_000
"""Characters that are converted at once."""
_DEEPEST: Final = 12
"""Elements around a part, of which each is tried once more without it."""
_PAYWALL: Final = f'<hr class="{PAYWALL_CLASS}">'

Json = dict[str, Any]


class HtmlOpening(msgspec.Struct, frozen=True):
    """A text that is HTML, as the editor would have it."""

    document: Json | None = None
    """None where it can't be converted."""
    html: str = ""
    """The HTML of the document, for readers."""
    is_same: bool = False
    changes: tuple[str, ...] = ()
    """Sentences about what a conversion changes."""
    reason: str = ""
    """The reason why it can't be converted."""


async def open_html(html: str) -> HtmlOpening:
    if len(html) > MAX_OPENED:
        return HtmlOpening(
            reason=staff_words("it has more than %(number)s characters", number=Numeral(MAX_OPENED))
        )
    try:
        shown = await clean(html)
    except TooCostly:
        return HtmlOpening(reason=staff_words("its markup takes too long to read"))
    except (RateLimited, Unavailable):
        return HtmlOpening(reason=staff_words("the service is busy; try again in a moment"))
    if len(shown) <= _QUICK:
        return opening_of(shown)
    return await complete(asyncio.to_thread(opening_of, shown))


def opening_of(shown: str) -> HtmlOpening:
    """`shown` is the clean HTML."""
    tokens = tokens_of(shown.replace(PAYWALL_COMMENT, _PAYWALL))
    document, _ = to_document(tokens)
    opened = _rendered(document) if document else None
    if opened and is_same_text(tokens, tokens_of(opened.html)):
        return msgspec.structs.replace(opened, is_same=True)
    conversion = _Conversion()
    try:
        document = {"type": "doc", "content": [*conversion.blocks(tokens, 0)]}
    except _NotConverted as reason:
        return HtmlOpening(reason=str(reason))
    opened = _rendered(document)
    if opened is None:
        return HtmlOpening(reason=staff_words("it has more parts than a document may have"))
    changes = tuple(_changes(tokens, tokens_of(opened.html), conversion.cards))
    return msgspec.structs.replace(opened, changes=changes)


class _NotConverted(Exception):
    pass


def _rendered(document: Json) -> HtmlOpening | None:
    try:
        html = render(document)
    except Invalid:
        return None
    return HtmlOpening(document, cleaned_or_plain_text(html or ""))


class _Conversion:
    def __init__(self) -> None:
        self.cards: list[tuple[str, Sequence[Token]]] = []
        """The cards that it has made, each with the tokens in whose place it is."""

    def blocks(self, tokens: Sequence[Token], depth: int) -> Iterator[Json]:
        for part in _parts(tokens):
            document = to_document(part)[0] or to_document([*_simplified(part)])[0]
            if document:
                yield from document["content"]
            elif part[0].name in _AROUND and depth < _DEEPEST:
                yield from self.blocks(part[1:-1], depth + 1)
            elif part[0].name == "details" and depth < _DEEPEST:
                yield self._toggle(part, depth)
            else:
                yield self._recording(part) or self._html_card(part)

    def _toggle(self, part: Sequence[Token], depth: int) -> Json:
        summary = end_of(part, 1, len(part)) if part[1].name == "summary" else 1
        words = one_line("".join(each.name for each in part[1:summary] if each.kind == "text"))
        if not words or len(words) > LONGEST_TEXT:
            return self._html_card(part)
        self.cards.append(("toggle", [*part[:2], part[-1]]))
        inside = [*self.blocks(part[summary:-1], depth + 1)]
        content = inside or [{"type": "paragraph"}]
        return {"type": "toggle", "attrs": {"summary": words}, "content": content}

    def _recording(self, part: Sequence[Token]) -> Json | None:
        """The card of a part that is nothing but a player."""
        starts = [each for each in part if each.kind == "start" and each.name != "p"]
        has_words = any(each.kind == "text" and each.name.strip() for each in part)
        if has_words or len(starts) != 1 or starts[0].name not in _PLAYERS:
            return None
        name, attributes = starts[0].name, starts[0].attributes
        given = {key: attributes[key] for key in _PLAYERS[name] if key in attributes}
        try:
            values = CARDS[name].read(given)
        except WrongCard:
            return None
        self.cards.append((name, part))
        return {"type": name, "attrs": values}

    def _html_card(self, part: Sequence[Token]) -> Json:
        source = rewritten(part)
        if any(each.attributes.get("class") == PAYWALL_CLASS for each in part if each.name == "hr"):
            raise _NotConverted(
                staff_words(
                    "the start of the part for members is inside another part; "
                    "put it on its own line"
                )
            )
        if len(source) > LONGEST:
            raise _NotConverted(
                staff_words("<%(element)s> is too long for an HTML card", element=part[0].name)
            )
        self.cards.append(("html", part))
        return {"type": "html", "attrs": {"html": source}}


_PLAYERS: Final = {"audio": ("src",), "video": ("src", "poster")}


def _parts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The blocks of a text, one by one, and the words between them."""
    start = depth = 0
    for at, (kind, name, _) in enumerate(tokens):
        is_void = name in VOID
        if depth == 0 and kind == "start" and name not in INLINE:
            if at > start:
                yield tokens[start:at]
            start = at
        if kind == "start" and not is_void:
            depth += 1
        elif kind == "end":
            depth -= 1
        if depth == 0 and kind != "text" and name not in INLINE:
            yield tokens[start : at + 1]
            start = at + 1
    if start < len(tokens):
        yield tokens[start:]


_AROUND_NAMES: Final = "address article aside center div footer header main nav section"
_AROUND: Final = frozenset(_AROUND_NAMES.split())
"""Elements that only stand around blocks."""
_DROPPED_NAMES: Final = "abbr bdi bdo cite col colgroup dfn ins kbd q samp small span time var wbr"
_DROPPED: Final = frozenset(_DROPPED_NAMES.split())
"""Elements of which the words stay."""
_KEPT: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("p", *HEADINGS), frozenset({"style"})),
    **dict.fromkeys(("td", "th"), frozenset({"colspan", "rowspan"})),
    **dict.fromkeys(("pre", "code", "hr"), frozenset({"class"})),
    "a": frozenset({"href", "title", "target", "rel"}),
    "figure": frozenset({"data-width", "data-crop"}),
    "img": frozenset({"src", "alt", "title", "width", "height"}),
    "li": frozenset({"data-type", "data-checked"}),
    "ol": frozenset({"start"}),
    "ul": frozenset({"data-type"}),
}


def _simplified(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.name in _DROPPED and token.kind != "text":
            continue
        if not token.attributes or CARD in token.attributes:
            yield token
        else:
            yield Token("start", token.name, _kept(token.name, token.attributes))


def _kept(name: str, attributes: Attributes) -> Attributes:
    if name == "input":
        return attributes
    kept = _KEPT.get(name, frozenset())
    return {
        key: value
        for key, value in attributes.items()
        if key in kept and (key != "style" or value.startswith("text-align: "))
    }


def _changes(
    old: Sequence[Token], new: Sequence[Token], cards: Sequence[tuple[str, Sequence[Token]]]
) -> Iterator[str]:
    had, has = features_of(old), features_of(new)
    for name, part in cards:
        had -= features_of(part)
        # What a toggle holds is compared as the rest.
        shown = part[:1] if name == "toggle" else part
        yield staff_words(
            "%(card)s instead of %(source)s",
            card=_LABELS[name],
            source=_beginning(rewritten(shown)),
        )
    for (name, key), count in sorted((had - has).items()):
        what = staff_words("%(key)s on %(element)s", key=key, element=f"<{name}>")
        yield staff_counted(
            "Without %(what)s",
            "Without %(what)s (%(number)s times)",
            count,
            what=what if key else f"<{name}>",
        )


_LABELS: Final = {
    **{"html": staff_words("An HTML card"), "toggle": staff_words("A toggle")},
    **{"audio": staff_words("An audio card"), "video": staff_words("A video card")},
}


def _beginning(source: str) -> str:
    return source if len(source) <= _SHOWN else f"{source[:_SHOWN]}…"


_SHOWN: Final = 80
