"""How much work a parser has with HTML, known before it begins: parsers of HTML repair what is
wrong, and for some texts that takes the square of their length, in time and in memory.

One pass over the tags, as the parser itself splits them. It keeps the elements that may be open:
one leaves the list only where the parser is sure to close it, too. So the list is never much
shorter than the parser's, and what it says is an upper bound of the work.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from masthead.base.html_tags import ATTRIBUTE, BLANK, MARKUP

MAX_TAGS: Final = 120_000
"""A table of many thousand rows has this many."""
MAX_ATTRIBUTES: Final = 100
"""The most attributes of one tag. A parser compares each with those before it."""
_LIGHT_STEPS: Final = 3_000_000
"""Tags times open elements: some hundredths of a second."""
_LIGHT_REPEATS: Final = 4_000_000
"""Characters of formatting that may be written again in each block."""
FEW_TAGS: Final = 60
"""Tags that are no work, whatever they are."""
_MANY_CHARACTERS: Final = 400
"""The attributes of a tag are counted if it has at least this many characters."""


class Effort(NamedTuple):
    is_light: bool
    refusal: str = ""
    """Why the text can't be taken at all."""


def effort_of(html: str) -> Effort:
    tags = html.count("<")
    if tags <= FEW_TAGS and len(html) <= 4_000:
        return Effort(is_light=True)
    if tags > MAX_TAGS:
        return Effort(
            is_light=False, refusal=f"It has more than {MAX_TAGS:,} tags or < characters."
        )
    return _scanned(html)


# As the parser splits a text.
_PIECE: Final = re.compile(MARKUP, re.VERBOSE | re.DOTALL)
_ATTRIBUTES: Final = re.compile(rf"(?=[^{BLANK}/>]){ATTRIBUTE}")

# fmt: off
_VOID: Final = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
})
_FORMATTING: Final = frozenset({
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
})
# Inside these the parser splits the text by other rules.
_OTHER_RULES: Final = frozenset({
    "frameset", "iframe", "math", "noembed", "noframes", "noscript", "plaintext", "script",
    "select", "style", "svg", "template", "textarea", "title", "xmp",
})
_CLOSES_P: Final = frozenset({
    "address", "article", "aside", "blockquote", "center", "dd", "details", "dialog", "dir", "div",
    "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5",
    "h6", "header", "hgroup", "hr", "li", "listing", "main", "menu", "nav", "ol", "p", "pre",
    "section", "summary", "table", "ul",
})
# fmt: on
_P: Final = frozenset({"p"})
_CELLS: Final = frozenset({"td", "th"})
_ROW: Final = frozenset({"tr"})
_SECTIONS: Final = frozenset({"tbody", "tfoot", "thead"})
_DEFINED: Final = frozenset({"dd", "dt"})
_ENDED_BY_START: Final[dict[str, tuple[frozenset[str], ...]]] = {
    "li": (frozenset({"li"}),),
    **dict.fromkeys(_DEFINED, (_DEFINED,)),
    **dict.fromkeys(_CELLS, (_P, _CELLS)),
    "tr": (_P, _CELLS, _ROW),
    **dict.fromkeys(_SECTIONS, (_P, _CELLS, _ROW, _SECTIONS)),
}
"""Start tags that end elements, in this order, where they are the innermost ones."""
_OPTIONAL_END: Final = _DEFINED | {"p", "li"}
_IN_TABLE: Final = _OPTIONAL_END | _CELLS | _SECTIONS | _ROW | {"caption", "colgroup"}
_RUBY_TEXT: Final = frozenset({"rt", "rp"})
_ENDED_BY_END: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(_CLOSES_P - _P, _OPTIONAL_END),
    **dict.fromkeys(_CELLS, _OPTIONAL_END),
    **dict.fromkeys(("table", "tr", *_SECTIONS), _IN_TABLE),
    "ruby": _RUBY_TEXT,
}
"""The elements that may be open in an element when its end tag comes. None of them can be open
twice, one in the other, without an element between them."""


class _Rule(NamedTuple):
    ended_by_start: tuple[frozenset[str], ...] = ()
    ended_by_end: frozenset[str] = frozenset()
    is_void: bool = False
    is_formatting: bool = False
    is_other: bool = False


def _rule(name: str) -> _Rule:
    ended = _ENDED_BY_START.get(name, ())
    return _Rule(
        (_P, *ended) if name in _CLOSES_P else ended,
        _ENDED_BY_END.get(name, frozenset()),
        name in _VOID,
        name in _FORMATTING,
        name in _OTHER_RULES,
    )


_NAMED: Final = (_VOID, _FORMATTING, _OTHER_RULES, _CLOSES_P, _ENDED_BY_START, _ENDED_BY_END)
_RULES: Final = {name: _rule(name) for names in _NAMED for name in names}
_NO_RULE: Final = _Rule()


def _scanned(html: str) -> Effort:
    open_names: list[str] = []
    weights: list[int] = []
    """The numbers of characters of the open formatting tags."""
    tags = deepest = weight = repeats = 0
    for piece in _PIECE.finditer(html):
        end, name, inside = piece.groups()
        if name is None:
            continue
        if name not in _RULES:
            # Other letters have lower forms that are ASCII.
            name = name.lower() if name.isascii() else name
        rule = _RULES.get(name, _NO_RULE)
        tags += 1
        if end:
            if _is_closed(open_names, name, rule) and rule.is_formatting:
                weight -= weights.pop()
            continue
        if rule.is_other:
            return Effort(is_light=False)
        if len(inside) > _MANY_CHARACTERS and _attributes(inside) > MAX_ATTRIBUTES:
            refusal = f"It has a tag with more than {MAX_ATTRIBUTES} attributes."
            return Effort(is_light=False, refusal=refusal)
        repeats += weight
        for ended in rule.ended_by_start:
            if open_names and open_names[-1] in ended:
                open_names.pop()
        if name in _RUBY_TEXT and open_names[-2:-1] == ["ruby"] and open_names[-1] in _RUBY_TEXT:
            open_names.pop()
        if rule.is_void:
            continue
        open_names.append(name)
        deepest = max(deepest, len(open_names))
        if rule.is_formatting:
            weights.append(len(inside) + 16)
            weight += len(inside) + 16
    return Effort(tags * deepest <= _LIGHT_STEPS and repeats <= _LIGHT_REPEATS)


def _is_closed(open_names: list[str], name: str, rule: _Rule) -> bool:
    """Closes the element, and those in it whose end tags may be left out. Where another one is
    open in it, who knows what the parser does."""
    at = len(open_names) - 1
    while at >= 0 and open_names[at] != name and open_names[at] in rule.ended_by_end:
        at -= 1
    if at < 0 or open_names[at] != name:
        return False
    del open_names[at:]
    return True


def _attributes(inside: str) -> int:
    return sum(1 for _ in _ATTRIBUTES.finditer(inside))
