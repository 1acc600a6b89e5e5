"""Sanitizes HTML and returns it with its tokens, for the search of pictures, for the editor's
converter and for the pages of the site.

The output of the sanitizer is regular, so a regular expression can parse it: names in lower case,
values in double quotes, tags closed. Later steps only remove.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple
from urllib.parse import unquote

from masthead.content.html.card_attributes import (
    CARD,
    CROPS,
    WIDTHS,
    card_name,
    class_of,
    own_class,
)
from masthead.content.html.foreign_html import flattened, presanitized, without_tags
from masthead.content.html.sanitizer import ALIGNED, HEADINGS, TooCostly, sanitized
from masthead.content.html.srcset import parse_srcset, safe_srcset
from masthead.engine.records.safe_addresses import (
    safe_link,
    safe_picture,
    safe_relation,
    safe_source,
)

Attributes = dict[str, str]


class Token(NamedTuple):
    kind: Literal["start", "end", "text"]
    name: str
    """The name of a tag; for a text, the text itself with resolved entities."""
    attributes: Attributes = {}  # noqa: RUF012  (read only, and shared by all that have none)


VOID = frozenset({"br", "hr", "img", "input", "source", "track", "col", "wbr"})
PAYWALL_CLASS = "paywall"
"""The class of the rule that begins the part of a text for members. Unlike a comment, it survives
sanitizers and editors."""
PAYWALL_COMMENT = "<!--more-->"
PAYWALL_MARK = "\U000f4d57"
"""Stands for that comment while a text is sanitized, which drops comments. A character that no
script has."""
_TAG = re.compile(r'<(/?)([a-z0-9]+)((?: [^ =>"]+="[^"]*")*)>')
_ATTRIBUTE = re.compile(r' ([^ =>"]+)="([^"]*)"')


def cleaned(html: str) -> tuple[str, list[Token]]:
    """Safe HTML, and its tokens. What is nested too deeply is flattened. Raises TooCostly."""
    return restricted(sanitized(presanitized(flattened(html))))


def restricted(safe: str) -> tuple[str, list[Token]]:
    """The sanitizer's output with fewer attributes, and its tokens."""
    return _Tokenizer(safe).run()


def tokens_of(clean: str) -> list[Token]:
    """Splits clean HTML that was written here, or its beginning, into tokens. Elements that are
    still open are closed."""
    return list(iterate_tokens(clean))


def iterate_tokens(clean: str) -> Iterator[Token]:
    """Yields the same tokens one by one: where the reader stops, the rest of a long text costs
    nothing."""
    open_names: list[str] = []
    at = 0
    for tag in _TAG.finditer(clean):
        start, end = tag.span()
        if start > at:
            yield Token("text", _resolved(clean[at:start]))
        at = end
        slash, name, attributes = tag.groups()
        if slash:
            if open_names and open_names[-1] == name:
                open_names.pop()
            yield Token("end", name)
            continue
        if attributes:
            given = {key: _resolved(value) for key, value in _ATTRIBUTE.findall(attributes)}
            yield Token("start", name, given)
        else:
            yield Token("start", name)
        if name not in VOID:
            open_names.append(name)
    if at < len(clean):
        yield Token("text", _resolved(clean[at:]))
    for name in reversed(open_names):
        yield Token("end", name)


def depth_of(tokens: Sequence[Token]) -> int:
    depth = deepest = 0
    for kind, name, _ in tokens:
        if kind == "end":
            depth -= 1
        elif kind == "start" and name not in VOID:
            depth += 1
            deepest = max(deepest, depth)
    return deepest


def cleaned_or_plain(html: str) -> tuple[str, list[Token]]:
    """As `cleaned`. Of what is too costly only the text is left."""
    try:
        return cleaned(html)
    except TooCostly:
        text = without_tags(html)
        return escaped(text), [Token("text", text)] if text else []


def written(name: str, attributes: Attributes) -> str:
    """A start tag."""
    shown = "".join(f' {key}="{escaped(value)}"' for key, value in attributes.items())
    return f"<{name}{shown}>"


def escaped(text: str) -> str:
    if not _SPECIAL.search(text):
        return text
    for character, entity in _ENTITIES:
        text = text.replace(character, entity)
    return text


_SPECIAL = re.compile('[&"<>\xa0]')
_ENTITIES = (
    ("&", "&amp;"),
    ('"', "&quot;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    ("\xa0", "&nbsp;"),
)


class _Tokenizer:
    """One pass over the sanitizer's output, which also restricts the values of attributes."""

    def __init__(self, safe: str) -> None:
        self._safe = safe
        self._tokens: list[Token] = []
        self._pieces: list[str] = []
        self._in_tasks = False
        # Ids that the text links to are kept; others are leftovers of the theme.
        self._targets = frozenset(
            target for found in _FRAGMENT.findall(safe) for target in (found, unquote(found))
        )

    def run(self) -> tuple[str, list[Token]]:
        safe, at = self._safe, 0
        for tag in _TAG.finditer(safe):
            if tag.start() > at:
                self._text(safe[at : tag.start()])
            at = tag.end()
            if tag[1]:
                self._tokens.append(Token("end", tag[2]))
                self._pieces.append(tag[0])
                self._in_tasks = self._in_tasks and tag[2] not in _LISTS
            else:
                self._start(tag[2], tag[3], tag[0])
        if at < len(safe):
            self._text(safe[at:])
        return "".join(self._pieces), self._tokens

    def _text(self, text: str) -> None:
        if text[0] == "\n" and self._tokens and self._tokens[-1][:2] == ("start", "pre"):
            # HTML parsers ignore one line end here, as the sanitizer did.
            self._pieces.append("\n")
        if PAYWALL_MARK in text:
            self._pieces.append(text.replace(PAYWALL_MARK, PAYWALL_COMMENT))
            text = text.replace(PAYWALL_MARK, "")
        else:
            self._pieces.append(text)
        self._tokens.append(Token("text", _resolved(text)))

    def _start(self, name: str, attributes: str, whole: str) -> None:
        if not attributes:
            self._in_tasks = self._in_tasks and name not in _LISTS
            if name not in _NEED_A_SOURCE:
                self._tokens.append(Token("start", name))
                self._pieces.append(whole)
            return
        attributes = attributes.replace(PAYWALL_MARK, "")
        given = {key: _resolved(value) for key, value in _ATTRIBUTE.findall(attributes)}
        allowed = self._restricted(name, given)
        if self._shows_nothing(name, allowed):
            return
        self._tokens.append(Token("start", name, allowed))
        self._pieces.append(written(name, allowed))

    def _restricted(self, name: str, given: Attributes) -> Attributes:
        allowed = _card_attributes(given)
        part = own_class(given.get("class", ""))
        align = _alignment(name, given)
        if part:
            given["class"] = part
        for key, value in given.items():
            restrict = _paywall if name == "hr" and key == "class" else _RESTRICTED.get(key)
            if restrict is not None:
                value = restrict(value)
            elif key in ("id", "name"):
                # A link within the text, such as a footnote, which another link may point back to.
                is_pair = name == "a" and given.get("href", "")[:1] == "#"
                value = self._anchor(name, value, is_pair=is_pair)
            elif key in _ADDRESSES:
                value = _address(name, key, value)
            if value or key in _MAY_BE_EMPTY:
                allowed[key] = value
        if align:
            allowed["style"] = f"text-align: {align}"
        if name == "img" and "src" not in allowed and "srcset" in allowed:
            allowed["src"] = parse_srcset(allowed["srcset"])[-1][0]
        if name == "input":
            # The sanitizer adds attributes in an order that differs between processes.
            return {key: allowed[key] for key in ("type", "disabled", "checked") if key in allowed}
        if name in ("audio", "video"):
            # Autoplay is removed, so the player needs controls.
            allowed.setdefault("controls", "")
        return allowed

    def _anchor(self, name: str, value: str, *, is_pair: bool) -> str:
        """Headings keep theirs, because other sites may link to them."""
        is_wanted = is_pair or value in self._targets or name in HEADINGS
        return value if is_wanted and len(value) <= 200 else ""

    def _shows_nothing(self, name: str, allowed: Attributes) -> bool:
        """An element without a source, or a field of a removed form."""
        if name in _LISTS:
            self._in_tasks = "data-type" in allowed
        if name in _NEED_A_SOURCE:
            return not allowed.keys() & {"src", "srcset"}
        return name == "input" and not self._in_tasks


def _resolved(text: str) -> str:
    """Resolves the references that the sanitizer writes."""
    half = len(text) // 2
    if half > _AT_ONCE and (cut := max(text.find("&", half), text.rfind("&", 1, half))) > 0:
        # In parts, because no other thread runs during a replacement.
        return _resolved(text[:cut]) + _resolved(text[cut:])
    if "&" in text:
        # The ampersand last, so that its result is not resolved again.
        for character, entity in reversed(_ENTITIES):
            text = text.replace(entity, character)
    return text


_AT_ONCE = 100_000
"""Characters."""
_FRAGMENT = re.compile(r'href="#([^"]+)"')
_NEED_A_SOURCE = frozenset({"img", "source", "track"})
_LISTS = frozenset({"ul", "ol", "li"})
_ADDRESSES = frozenset({"href", "src", "srcset", "poster"})
_MAY_BE_EMPTY = frozenset(
    {"alt", "checked", "controls", "disabled", "loop", "muted", "open", "playsinline", "reversed"}
)


def _alignment(name: str, given: Attributes) -> str:
    """From a class, an attribute or a style."""
    if name not in ALIGNED or given.keys().isdisjoint(("class", "align", "style")):
        return ""
    if name == "div" and _BACKGROUND.search(given.get("style", "")):
        return ""
    found = _ALIGN_CLASS.search(given.pop("class", "")) or _ALIGN_STYLE.search(
        given.pop("style", "")
    )
    side = found[1] if found else given.get("align", "")
    given.pop("align", None)
    return side.lower() if side.lower() in _SIDES else ""


_SIDES = ("left", "center", "right", "justify")
_ALIGN_CLASS = re.compile(r"(?:\A|\s)has-text-align-(left|center|right)(?:\s|\Z)")
_ALIGN_STYLE = re.compile(r"(?:\A|;)\s*text-align\s*:\s*([a-z]+)", re.IGNORECASE)
_BACKGROUND = re.compile(
    r"""background(?:-image)?\s*:[^;]{0,200}?url\(\s*(?:"([^"]*)"|'([^']*)'|([^\s"')]*))\s*\)""",
    re.IGNORECASE,
)


def background_of(style: str) -> str:
    """The address of a background image; '' for none."""
    found = _BACKGROUND.search(style)
    return (found[1] or found[2] or found[3] or "") if found else ""


def with_background(style: str, url: str) -> str:
    """The style with another background image."""
    found = _BACKGROUND.search(style)
    if found is None:
        return style
    start, end = next(found.span(group) for group in (1, 2, 3) if found[group] is not None)
    # Percent-encoded, which is valid in CSS and in addresses.
    quoted = "".join(f"%{ord(each):02X}" if each in "\"'()\\ \n" else each for each in url)
    return style[:start] + quoted + style[end:]


def _style(value: str) -> str:
    url = safe_picture(background_of(value))
    return with_background("background-image: url()", url) if url else ""


def _address(name: str, key: str, value: str) -> str:
    if key == "srcset":
        return safe_srcset(value)
    if key == "href":
        return safe_link(value)
    if key == "poster" or name == "img":
        return safe_picture(value)
    return safe_source(value)


def _paywall(value: str) -> str:
    return PAYWALL_CLASS if PAYWALL_CLASS in value.split() else ""


def _card_attributes(given: Attributes) -> Attributes:
    """Those of a card's element, with the class that our style sheets know it by."""
    name = card_name(given.pop(CARD, ""))
    source = given.pop("data-html", "")
    if not name:
        return {}
    given.pop("class", None)
    card = {CARD: name, "class": class_of(name)}
    return {**card, "data-html": source} if name == "html" and source else card


def _class(value: str) -> str:
    return own_class(value) or _language(value)


def _language(value: str) -> str:
    found = re.search(r"(?:\A|\s)lang(?:uage)?-([\w.+#-]{1,40})(?:\s|\Z)", value, re.ASCII)
    return f"language-{found[1]}" if found else ""


def _number(value: str) -> str:
    found = re.fullmatch(r"\s*([0-9]{1,6})(?:px)?\s*", value)
    return str(int(found[1])) if found else ""


def _bytes(value: str) -> str:
    return str(int(value)) if re.fullmatch(r"[0-9]{1,13}", value) else ""


def _one_of(*values: str) -> Callable[[str], str]:
    return lambda value: value if value in values else ""


_RESTRICTED: dict[str, Callable[[str], str]] = {
    "class": _class,
    "style": _style,
    "target": _one_of("_blank"),
    "rel": safe_relation,
    "data-type": _one_of("taskList", "taskItem"),
    "data-checked": _one_of("true", "false"),
    "data-width": _one_of(*WIDTHS),
    "data-crop": _one_of(*CROPS),
    "data-size": _bytes,
    "dir": _one_of("ltr", "rtl", "auto"),
    **dict.fromkeys(("width", "height", "colspan", "rowspan", "span", "start", "value"), _number),
}
