"""Titles and names of tags: HTML in WordPress, text here, with all in them that is no tag."""

from __future__ import annotations

import re
from typing import Final

from masthead.records.read.plain_text import plain_text

# fmt: off
_INLINE: Final = frozenset({
    "a", "abbr", "acronym", "audio", "b", "bdi", "bdo", "big", "canvas", "cite", "code", "data",
    "del", "dfn", "em", "embed", "font", "i", "iframe", "img", "input", "ins", "kbd", "label",
    "map", "mark", "math", "meter", "nobr", "object", "output", "picture", "progress", "q", "rp",
    "rt", "ruby", "s", "samp", "small", "source", "span", "strike", "strong", "sub", "sup", "svg",
    "time", "tt", "u", "var", "video", "wbr",
})
_PARTING: Final = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "button", "caption", "center", "dd",
    "details", "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form",
    "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html", "legend", "li",
    "link", "main", "menu", "meta", "nav", "noscript", "ol", "optgroup", "option", "p", "pre",
    "search", "section", "select", "slot", "summary", "table", "tbody", "td", "textarea", "tfoot",
    "th", "thead", "title", "tr", "ul",
})
# fmt: on
# Their content is nothing to read; the reader of text knows where they end.
_UNREAD: Final = frozenset({"script", "style", "template"})
_SIGN: Final = re.compile(
    r"""<(?:/?(?P<name>[A-Za-z][A-Za-z0-9]*+)(?=[\s/>])[^<>]*+>|(?P<comment>!--))?"""
)


def title_text(html: str, enough: int) -> str:
    """The words with single blanks. A `<` that begins no tag of HTML is one of them."""
    if "<" not in html and "&" not in html:
        return " ".join(html[: 20 * enough].split())
    return plain_text(_SIGN.sub(_without_tag, html), enough)


def _without_tag(sign: re.Match[str]) -> str:
    name = (sign["name"] or "").lower()
    if sign["comment"] or name in _UNREAD:
        return sign[0]
    if name in _INLINE:
        return ""
    return " " if name in _PARTING else "&lt;" + sign[0][1:]
