"""HTML of an author's own, such as a widget or a form of another service.

A page shows it in a sandboxed frame of its own origin. Its words are readable wherever there is no
such frame."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import Any, Final

from masthead.base.languages.words import words
from masthead.content.cards.card import (
    Block,
    Card,
    Imported,
    Mail,
    Platform,
    PostLink,
    Values,
    Whole,
    Words,
)
from masthead.content.cards.elements import Parts, element, root
from masthead.content.cards.platforms import text_of
from masthead.content.cards.values import WrongCard, one_line, required
from masthead.content.html.markdown_text import escaped_text

SOURCE: Final = "data-html"
LONGEST: Final = 100_000
OWN_MARK: Final = "<!--masthead:html-->"
"""Begins the source in an export, so that it comes back as this card, whatever is in it."""
LABEL: Final = words("See this part on the site")
_WORDS: Final = 5_000
"""Characters of its words that are shown."""
_END: Final = "kg-card-"
_UNSEEN: Final = re.compile(
    r"<(script|style|template|noscript|svg|title)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_TAG: Final = re.compile(r"<[^<>]*>")


def read(given: Mapping[str, Any]) -> Values:
    source = given.get("html")
    if not isinstance(source, str):
        raise WrongCard("html must be text.")
    if len(source) > LONGEST:
        raise WrongCard(f"html may have {LONGEST:,} characters.")
    # As a parser of HTML reads the value of an attribute.
    source = source.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return {"html": required("html", source.strip())}


def opening(card: Values) -> str:
    return root("html", "div", {SOURCE: card["html"]}) + element("p", words_of(card["html"]))


def words_of(source: str) -> str:
    return one_line(unescape(_TAG.sub(" ", _UNSEEN.sub(" ", source))))[:_WORDS].strip()


def parse(parts: Parts) -> Values:
    return {"html": parts.attributes("div").get(SOURCE)}


def mail(card: Values) -> Mail:
    return [Words(element("p", words_of(card["html"]))), PostLink(LABEL)]


def markdown(card: Values, _: str, __: Whole) -> str:
    return escaped_text(words_of(card["html"]))


def ghost(card: Values, _: str) -> str:
    source = card["html"]
    if _END in source:
        # It would end the card that it is in.
        return CARD.html(card)
    return f"<!--kg-card-begin: html-->{OWN_MARK}{source}<!--kg-card-end: html-->"


def from_ghost(card: Mapping[str, Any]) -> Imported | None:
    """Only one that our own export has written: others are cleaned as the rest of the text."""
    source = text_of(card, "html")
    if not source.startswith(OWN_MARK):
        return None
    return Imported({"html": source.removeprefix(OWN_MARK)})


def wordpress(card: Values, _: str) -> str:
    source = card["html"]
    # Block comments in it would be read as blocks.
    shown = CARD.html(card) if "wp:" in source else OWN_MARK + source
    return f"<!-- wp:html -->\n{shown}\n<!-- /wp:html -->"


def from_wordpress(block: Block) -> Imported | None:
    if not block.html.startswith(OWN_MARK):
        return None
    return Imported({"html": block.html.removeprefix(OWN_MARK)})


CARD: Final = Card(
    name="html",
    tag="div",
    read=read,
    opening=opening,
    parse=parse,
    markdown=markdown,
    ghost=Platform(ghost, from_ghost, ("html",)),
    wordpress=Platform(wordpress, from_wordpress, ("html",)),
    mail=mail,
    feed=mail,
)
