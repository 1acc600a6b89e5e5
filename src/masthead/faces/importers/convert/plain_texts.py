"""Plain text of titles, names and comments, which are HTML at the source, and text that is cut."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from masthead.base.languages.words import staff_words
from masthead.engine.records.read.plain_text import plain_text

# fmt: off
_INLINE: Final = frozenset({
    "a", "abbr", "acronym", "audio", "b", "bdi", "bdo", "big", "canvas", "cite", "code", "data",
    "del", "dfn", "em", "embed", "font", "i", "iframe", "img", "input", "ins", "kbd", "label",
    "map", "mark", "math", "meter", "nobr", "object", "output", "picture", "progress", "q", "rp",
    "rt", "ruby", "s", "samp", "small", "source", "span", "strike", "strong", "sub", "sup", "svg",
    "time", "tt", "u", "var", "video", "wbr",
})
_SEPARATING: Final = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "button", "caption", "center", "dd",
    "details", "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form",
    "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html", "legend", "li",
    "link", "main", "menu", "meta", "nav", "noscript", "ol", "optgroup", "option", "p", "pre",
    "search", "section", "select", "slot", "summary", "table", "tbody", "td", "textarea", "tfoot",
    "th", "thead", "title", "tr", "ul",
})
# fmt: on
# `plain_text` removes them with their content.
_WITHOUT_TEXT: Final = frozenset({"script", "style", "template"})
_LESS_THAN: Final = re.compile(
    r"""<(?:/?(?P<name>[A-Za-z][A-Za-z0-9]*+)(?=[\s/>])[^<>]*+>|(?P<comment>!--))?"""
)


def title_text(html: str, enough: int) -> str:
    """The text with single blanks. A `<` that does not begin a tag of HTML is text."""
    if "<" not in html and "&" not in html:
        return " ".join(html[: 20 * enough].split())
    return plain_text(_LESS_THAN.sub(_without_tag, html), enough)


def _without_tag(found: re.Match[str]) -> str:
    name = (found["name"] or "").lower()
    if found["comment"] or name in _WITHOUT_TEXT:
        return found[0]
    if name in _INLINE:
        return ""
    return " " if name in _SEPARATING else "&lt;" + found[0][1:]


_JOINER: Final = "\u200d"
_LONGEST_CLUSTER: Final = 32


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, without blanks at the end."""
    if len(text) <= limit:
        return text
    end = limit
    lowest = max(0, limit - _LONGEST_CLUSTER)
    while end > lowest and (_continues(text[end]) or text[end - 1] == _JOINER):
        end -= 1
    return text[: end if end > lowest else limit].rstrip()


def _continues(character: str) -> bool:
    """Whether it modifies the character before: accents, joiners, variation selectors, skin
    tones."""
    return (
        character == _JOINER
        or unicodedata.category(character) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


MAX_NAME: Final = 100
MAX_BODY: Final = 5_000
CUT: Final = staff_words("A comment was cut to %(number)s characters.", number=f"{MAX_BODY:,}")
NAMELESS: Final = "Anonymous"
_MAX_HTML: Final = 4 * MAX_BODY
_LINE_BREAKS: Final = re.compile(
    r"<br\s*/?>\n?|</?(?:p|div|blockquote|li|ul|ol|pre|h[1-6])(?=[\s/>])[^<>]*>", re.IGNORECASE
)


def comment_text(html: str) -> str:
    """The text of a comment. WordPress has HTML with significant line breaks, Ghost has HTML."""
    lines = _LINE_BREAKS.sub("\n", html[:_MAX_HTML]).split("\n")
    text = "\n".join(title_text(line, MAX_BODY) for line in lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip()
