"""Values of Ghost's cards and block comments of WordPress, which several cards read and write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import unescape
from typing import Any, Final

from masthead.content.cards.values import LONGEST_TEXT, one_line

_TAG: Final = re.compile(r"<[^<>]*>")
_ENCLOSED: Final = re.compile(r"<p(?:\s[^>]*)?>(.*)</p>", re.IGNORECASE | re.DOTALL)
_SPANS: Final = re.compile(r"</?span[^<>]*>", re.IGNORECASE)
_BLOCK: Final = re.compile(r"<(?:p|h[1-6]|ul|ol|blockquote|div|figure|pre|table|hr)\b", re.I)


def text_of(card: Mapping[str, Any], name: str) -> str:
    value = card.get(name)
    return value.strip() if isinstance(value, str) else ""


def markup_of(card: Mapping[str, Any], name: str) -> str:
    """A value that holds HTML. Ghost's editor wraps text in spans for white space."""
    return _SPANS.sub("", text_of(card, name)).strip()


def inline_text(card: Mapping[str, Any], name: str) -> str:
    """The words of a value that holds HTML."""
    return words_of(markup_of(card, name))


def words_of(html: str) -> str:
    return one_line(unescape(_TAG.sub(" ", html)))[:LONGEST_TEXT]


def blocks_of(markup: str) -> str:
    """HTML as blocks: text that is none becomes a paragraph."""
    return markup if not markup or _BLOCK.search(markup) else f"<p>{markup}</p>"


def block_comment(name: str, attributes: Mapping[str, Any], html: str) -> str:
    """A block of WordPress. Its comment holds JSON that can't end it."""
    given = {key: value for key, value in attributes.items() if value not in ("", None)}
    shown = f" {_safe_json(given)}" if given else ""
    return f"<!-- wp:{name}{shown} -->\n{html}\n<!-- /wp:{name} -->"


def _safe_json(given: Mapping[str, Any]) -> str:
    text = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    for raw, written in (("--", "\\u002d\\u002d"), ("<", "\\u003c"), (">", "\\u003e")):
        text = text.replace(raw, written)
    return text.replace("&", "\\u0026").replace('\\"', "\\u0022")


def own_values(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values that our own export has put into a block's comment: the block has no place for
    them."""
    found = attributes.get("masthead")
    return found if isinstance(found, dict) else {}
