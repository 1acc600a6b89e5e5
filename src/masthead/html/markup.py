"""Sanitizes HTML and returns it with its tokens, for the search of pictures, for the editor's
converter and for the pages of the site.

The output of the sanitizer is regular, so a regular expression can parse it: names in lower case,
values in double quotes, tags closed. Later steps only remove.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple
from urllib.parse import unquote

import nh3

from masthead.html.foreign_html import presanitized
from masthead.html.srcset import parse_srcset, safe_srcset
from masthead.records.safe_addresses import (
    LINK_SCHEMES,
    safe_link,
    safe_picture,
    safe_relation,
    safe_source,
)

Attributes = dict[str, str]


class Token(NamedTuple):
    kind: Literal["start", "end", "text"]
    name: str
    """Of a tag. Of a text it is the text, with resolved entities."""
    attributes: Attributes = {}  # noqa: RUF012  (read only, and shared by all that have none)


VOID = frozenset({"br", "hr", "img", "input", "source", "track", "col", "wbr"})
PAYWALL_CLASS = "paywall"
"""Of the rule that begins the part of a text for members."""
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = (
    "address article aside blockquote dd details div dl dt figcaption figure footer h1 h2 h3 h4 h5"
    " h6 header hr li main nav ol p pre section summary ul"
)
_TABLES = "caption col colgroup table tbody td tfoot th thead tr"
_INLINE = (
    "a abbr b bdi bdo br cite code del dfn em i ins kbd label mark q rp rt ruby s samp small span"
    " strike strong sub sup time u var wbr"
)
_MEDIA = "audio img input picture source track video"
TAGS = frozenset(f"{_BLOCKS} {_TABLES} {_INLINE} {_MEDIA}".split())
INLINE = frozenset(f"{_INLINE} {_MEDIA}".split())
"""Tags that do not begin another block of the text."""

_ALIGNED = {name: {"class", "align"} for name in (*HEADINGS, "p", "td", "th", "div")}
_ATTRIBUTES = {
    **_ALIGNED,
    "*": {"id", "lang", "dir", "style"},
    "a": {"href", "title", "target", "rel", "name"},
    "abbr": {"title"},
    "audio": {"src", "controls", "loop"},
    "code": {"class"},
    "col": {"span"},
    "colgroup": {"span"},
    "details": {"open"},
    "dfn": {"title"},
    "hr": {"class"},
    "img": {"src", "srcset", "sizes", "alt", "title", "width", "height"},
    "input": {"checked"},
    "li": {"value", "data-type", "data-checked"},
    "ol": {"start", "reversed", "type"},
    "pre": {"class"},
    "source": {"src", "srcset", "sizes", "type", "media"},
    "td": {*_ALIGNED["td"], "colspan", "rowspan"},
    "th": {*_ALIGNED["th"], "colspan", "rowspan"},
    "time": {"datetime"},
    "track": {"src", "kind", "srclang", "label"},
    "ul": {"data-type"},
    "video": {"src", "poster", "controls", "loop", "muted", "playsinline", "width", "height"},
}
# Removed with their content.
_DROPPED = {"script", "style", "svg", "template", "select", "textarea", "button", "title"}

_cleaner = nh3.Cleaner(
    tags=set(TAGS),
    clean_content_tags=_DROPPED,
    attributes=_ATTRIBUTES,
    set_tag_attribute_values={"input": {"type": "checkbox", "disabled": ""}},
    link_rel=None,
    url_schemes={*LINK_SCHEMES, "data"},
    filter_style_properties={"text-align", "background-image", "background"},
)

_TAG = re.compile(r'<(/?)([a-z0-9]+)((?: [^ =>"]+="[^"]*")*)>')
_ATTRIBUTE = re.compile(r' ([^ =>"]+)="([^"]*)"')


def cleaned(html: str) -> tuple[str, list[Token]]:
    """Safe HTML, and its tokens."""
    return _Tokenizer(_cleaner.clean(presanitized(html))).run()


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
        self._pieces.append(text)
        self._tokens.append(Token("text", _resolved(text)))

    def _start(self, name: str, attributes: str, whole: str) -> None:
        if not attributes:
            self._in_tasks = self._in_tasks and name not in _LISTS
            if name not in _NEED_A_SOURCE:
                self._tokens.append(Token("start", name))
                self._pieces.append(whole)
            return
        given = {key: _resolved(value) for key, value in _ATTRIBUTE.findall(attributes)}
        allowed = self._restricted(name, given)
        if self._shows_nothing(name, allowed):
            return
        self._tokens.append(Token("start", name, allowed))
        self._pieces.append(written(name, allowed))

    def _restricted(self, name: str, given: Attributes) -> Attributes:
        align = _alignment(name, given)
        allowed: Attributes = {}
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
    if "&" in text:
        # The ampersand last, so that its result is not resolved again.
        for character, entity in reversed(_ENTITIES):
            text = text.replace(entity, character)
    return text


_FRAGMENT = re.compile(r'href="#([^"]+)"')
_NEED_A_SOURCE = frozenset({"img", "source", "track"})
_LISTS = frozenset({"ul", "ol", "li"})
_ADDRESSES = frozenset({"href", "src", "srcset", "poster"})
_MAY_BE_EMPTY = frozenset(
    {"alt", "checked", "controls", "disabled", "loop", "muted", "open", "playsinline", "reversed"}
)


def _alignment(name: str, given: Attributes) -> str:
    """From a class, an attribute or a style."""
    if name not in _ALIGNED or given.keys().isdisjoint(("class", "align", "style")):
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


def _language(value: str) -> str:
    found = re.search(r"(?:\A|\s)lang(?:uage)?-([\w.+#-]{1,40})(?:\s|\Z)", value, re.ASCII)
    return f"language-{found[1]}" if found else ""


def _number(value: str) -> str:
    found = re.fullmatch(r"\s*([0-9]{1,6})(?:px)?\s*", value)
    return str(int(found[1])) if found else ""


def _one_of(*values: str) -> Callable[[str], str]:
    return lambda value: value if value in values else ""


_RESTRICTED: dict[str, Callable[[str], str]] = {
    "class": _language,
    "style": _style,
    "target": _one_of("_blank"),
    "rel": safe_relation,
    "data-type": _one_of("taskList", "taskItem"),
    "data-checked": _one_of("true", "false"),
    "dir": _one_of("ltr", "rtl", "auto"),
    **dict.fromkeys(("width", "height", "colspan", "rowspan", "span", "start", "value"), _number),
}
