"""Renders the rich-text editor's document (ProseMirror or TipTap JSON) to HTML.

Unknown nodes of an editor's extensions keep their text; script URLs are removed. What readers see
of the result is cleaned as any other HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from prosemirror.model import DOMSerializer, Fragment, Mark, Node, Schema
from prosemirror.model.to_dom import DocumentFragment

from masthead.base.errors import Invalid, Problem
from masthead.content.cards.card import Card
from masthead.content.cards.catalog import CARDS
from masthead.content.cards.values import WrongCard
from masthead.content.html.card_attributes import CROPS, WIDTHS
from masthead.engine.records.safe_addresses import safe_link, safe_relation

MAX_DEPTH = 100
MAX_NODES = 20_000
"""About two hundred printed pages. Rendering blocks the event loop for a third of a second."""
MAX_HTML = 5_000_000

Attributes = Mapping[str, Any]


def render(content_json: object) -> str | None:
    """The document's HTML; None for other JSON. Raises Invalid if a limit is exceeded."""
    if not isinstance(content_json, dict) or content_json.get("type") != "doc":
        return None
    content = content_json.get("content", [])
    if not isinstance(content, list):
        return None
    blocks = _Builder().children(content, 1, is_inline=False)
    rendered = str(_serializer.serialize_fragment(Fragment.from_array(blocks)))
    if len(rendered) > MAX_HTML:
        raise _too_large(f"makes more than {MAX_HTML:,} characters of HTML")
    return rendered


def check_cards(document: Mapping[str, Any]) -> None:
    """Raises Invalid for a card that is not valid."""
    rest: list[object] = [document]
    while rest:
        part = rest.pop()
        if isinstance(part, list):
            rest += part
        elif isinstance(part, dict):
            name = node_name(part.get("type"))
            if card := CARDS.get(CARD_NAMES.get(name, name)):
                given = part.get("attrs")
                _values(card, given if isinstance(given, dict) else {})
            rest.append(part.get("content"))


def _values(card: Card, attributes: Attributes) -> Mapping[str, Any]:
    try:
        return card.read(attributes)
    except WrongCard as error:
        raise _wrong(f"The {card.name} in the document is not valid: {error}") from None


class _Builder:
    """Builds the document's nodes from untrusted JSON."""

    def __init__(self) -> None:
        self._nodes = 0

    def children(self, content: object, depth: int, *, is_inline: bool) -> list[Node]:
        """`is_inline`: the parent is a paragraph or the like, which can't hold blocks."""
        if depth > MAX_DEPTH:
            raise _too_large(f"is nested deeper than {MAX_DEPTH} levels")
        found: list[Node] = []
        for item in content if isinstance(content, list) else ():
            self._nodes += 1
            if self._nodes > MAX_NODES:
                raise _too_large(f"has more than {MAX_NODES:,} parts")
            if isinstance(item, dict):
                found += self._node(item, depth, is_inline)
        return found

    def _node(self, item: Mapping[str, Any], depth: int, is_inline: bool) -> list[Node]:
        name = node_name(item.get("type"))
        attributes = item.get("attrs")
        attributes = attributes if isinstance(attributes, dict) else {}
        if name == "text":
            text = item.get("text")
            return [_schema.text(text, _marks(item))] if text and isinstance(text, str) else []
        if name in _INLINE:
            return _INLINE[name](attributes, _marks(item))
        card = CARDS.get(CARD_NAMES.get(name, name))
        if card:
            return self._card(card, attributes, item.get("content"), depth, is_inline=is_inline)
        is_text_block = name in _TEXT_BLOCKS
        children = self.children(
            item.get("content"), depth + 1, is_inline=is_inline or is_text_block
        )
        if name == "figure":
            return _figure(attributes, children, is_inline)
        if is_inline:
            return children
        if name in _RULES:
            return [_schema.nodes[name].create(), *children]
        if name in _BLOCKS:
            return [_schema.nodes[name].create(_BLOCKS[name](attributes), children)]
        return _unknown_block(children)

    def _card(
        self,
        card: Card,
        attributes: Attributes,
        content: object,
        depth: int,
        *,
        is_inline: bool,
    ) -> list[Node]:
        values = _values(card, attributes)
        children = self.children(content, depth + 1, is_inline=is_inline) if card.head else []
        if is_inline:
            return [*_linked(values), *children]
        return [_schema.nodes[card.name].create({"card": values}, _unknown_block(children))]


def _linked(card: Mapping[str, Any]) -> list[Node]:
    """A card where no block can be: its address."""
    link = _link({"href": card.get("url") or card.get("src")})
    if link is None:
        return []
    return [_schema.text(str(link["href"]), [_schema.marks["link"].create(link)])]


def _unknown_block(children: list[Node]) -> list[Node]:
    """An unknown block is replaced by its own blocks, or by a paragraph of its text. What a card
    holds is blocks, too."""
    if children and all(node.is_inline for node in children):
        return [_schema.nodes["paragraph"].create(None, children)]
    return children


def _too_large(how: str) -> Invalid:
    advice = "Divide it, or send content_html along with it."
    return _wrong(f"The document {how}. {advice}", "validation_document_limit")


def _wrong(message: str, code: str = "validation_card") -> Invalid:
    return Invalid({"content_json": Problem(code, message)})


def node_name(name: object) -> str:
    """ProseMirror's own names are `bullet_list` and `strong`, TipTap's `bulletList` and `bold`."""
    if not isinstance(name, str):
        return ""
    camel = re.sub(r"_([a-z])", lambda match: match[1].upper(), name) if "_" in name else name
    return _ALIASES.get(camel, camel)


_ALIASES = {"strong": "bold", "em": "italic", "strikethrough": "strike", "s": "strike"}


def _marks(item: Mapping[str, Any]) -> list[Mark]:
    given = item.get("marks")
    if not given or not isinstance(given, list):
        return []
    found: dict[str, Mark] = {}
    for each in given:
        name = node_name(each.get("type")) if isinstance(each, dict) else ""
        if name == "link":
            attributes = _link(each.get("attrs"))
            if attributes:
                found.setdefault(name, _schema.marks[name].create(attributes))
        elif name in _MARKS:
            found.setdefault(name, _schema.marks[name].create())
    return Mark.set_from(list(found.values()))


def _link(attributes: object) -> dict[str, str | None] | None:
    attributes = attributes if isinstance(attributes, dict) else {}
    href = _safe_address(attributes.get("href"))
    if href is None:
        return None
    target = attributes.get("target")
    target = target if target in ("_blank", "_self", "_parent", "_top") else None
    given = attributes.get("rel")
    # Otherwise a page in a new window could control the page that opened it.
    usual = "noopener" if target == "_blank" else None
    rel = (safe_relation(given) if isinstance(given, str) else "") or usual
    title, anchor = _text(attributes.get("title")), _matching(_ANCHOR, attributes.get("id"))
    return {"id": anchor, "href": href, "title": title, "target": target, "rel": rel}


def _safe_address(value: object) -> str | None:
    """A URL that can't run a script: with a known scheme, or without one."""
    return (safe_link(value) or None) if isinstance(value, str) else None


# Of a footnote, and of the references to it.
_ANCHOR = re.compile(r"fn(?:ref)?-[0-9]{1,6}(?:-[0-9]{1,6})?", re.ASCII)
_LANGUAGE = re.compile(r"[\w.+#-]{1,40}", re.ASCII)
_DATA_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]+")


def _matching(pattern: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _one_of(values: Sequence[str], value: object) -> str | None:
    return value if isinstance(value, str) and value in values else None


def _number(value: object, lowest: int, highest: int) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        return None
    return value


def _hard_break(_: Attributes, marks: list[Mark]) -> list[Node]:
    return [_schema.nodes["hardBreak"].create(None, None, marks)]


def _image(attributes: Attributes, marks: list[Mark]) -> list[Node]:
    shown = _picture(attributes)
    if shown is not None:
        return [_schema.nodes["image"].create(shown, None, marks)]
    alt = _text(attributes.get("alt"))
    return [_schema.text(alt, marks)] if alt else []


def _picture(attributes: Attributes) -> dict[str, Any] | None:
    given = attributes.get("src")
    source = _safe_address(given) or _matching(_DATA_PICTURE, given)
    if source is None:
        return None
    return {
        "src": source,
        "alt": _text(attributes.get("alt")),
        "title": _text(attributes.get("title")),
        "width": _number(attributes.get("width"), 1, 100_000),
        "height": _number(attributes.get("height"), 1, 100_000),
    }


def _figure(attributes: Attributes, caption: list[Node], is_inline: bool) -> list[Node]:
    """A picture with a caption, as in TipTap: the picture in the attributes, the caption as text.
    `href` is the link of the picture."""
    shown = _picture(attributes)
    if shown is None or is_inline:
        children = [*_image(attributes, []), *caption]
        return children if is_inline else _unknown_block(children)
    shown["href"] = _safe_address(attributes.get("href"))
    shown["layout"] = _one_of(WIDTHS, attributes.get("layout"))
    shown["crop"] = _one_of(CROPS, attributes.get("crop"))
    return [_schema.nodes["figure"].create(shown, caption)]


def _mention(attributes: Attributes, marks: list[Mark]) -> list[Node]:
    label = _text(attributes.get("label")) or _text(attributes.get("id"))
    return [_schema.text(f"@{label}", marks)] if label else []


_INLINE: dict[str, Callable[[Attributes, list[Mark]], list[Node]]] = {
    "hardBreak": _hard_break,
    "image": _image,
    "mention": _mention,
}

CARD_NAMES = dict.fromkeys(("youtube", "iframe", "twitter", "vimeo"), "embed")
"""Names that other editors have for one of our cards."""


def _no_attributes(_: Attributes) -> Attributes:
    return {}


def _alignment(attributes: Attributes) -> dict[str, Any]:
    align = attributes.get("textAlign")
    return {"align": align if align in ("left", "center", "right", "justify") else None}


def _heading(attributes: Attributes) -> Attributes:
    return {"level": _number(attributes.get("level"), 1, 6) or 1, **_alignment(attributes)}


def _code_block(attributes: Attributes) -> Attributes:
    language = attributes.get("language") or attributes.get("params")
    return {"language": _matching(_LANGUAGE, language)}


def _ordered_list(attributes: Attributes) -> Attributes:
    start = _number(attributes.get("start", attributes.get("order")), 0, 1_000_000)
    return {"start": None if start == 1 else start}


def _list_item(attributes: Attributes) -> Attributes:
    return {"id": _matching(_ANCHOR, attributes.get("id"))}


def _task_item(attributes: Attributes) -> Attributes:
    return {"checked": attributes.get("checked") is True}


def _cell(attributes: Attributes) -> Attributes:
    return {name: _number(attributes.get(name), 2, 1_000) for name in ("colspan", "rowspan")}


_BLOCKS: dict[str, Callable[[Attributes], Attributes]] = {
    "paragraph": _alignment,
    "heading": _heading,
    "blockquote": _no_attributes,
    "codeBlock": _code_block,
    "bulletList": _no_attributes,
    "orderedList": _ordered_list,
    "listItem": _list_item,
    "taskList": _no_attributes,
    "taskItem": _task_item,
    "table": _no_attributes,
    "tableRow": _no_attributes,
    "tableHeader": _cell,
    "tableCell": _cell,
}
_RULES = frozenset({"horizontalRule", "paywall"})
_TEXT_BLOCKS = frozenset({"paragraph", "heading", "codeBlock", "figure"})

# From the outermost to the innermost, if a text has several.
_MARKS = {
    "bold": "strong",
    "italic": "em",
    "underline": "u",
    "strike": "s",
    "highlight": "mark",
    "subscript": "sub",
    "superscript": "sup",
    "code": "code",
}


_PICTURE = ("src", "alt", "title", "width", "height")
_SHAPE = {"layout": "data-width", "crop": "data-crop"}


def _style(node: Node) -> dict[str, Any]:
    align = node.attrs["align"]
    return {"style": f"text-align: {align}" if align else None}


def _code(node: Node) -> list[Any]:
    language = node.attrs["language"]
    return ["pre", ["code", {"class": f"language-{language}" if language else None}, 0]]


def _task(node: Node) -> list[Any]:
    checked = node.attrs["checked"]
    box = {"type": "checkbox", "disabled": "", "checked": "" if checked else None}
    shown = {"data-type": "taskItem", "data-checked": str(checked).lower()}
    return ["li", shown, ["label", ["input", box]], ["div", 0]]


def _captioned(node: Node) -> list[Any]:
    picture: list[Any] = ["img", {name: node.attrs[name] for name in _PICTURE}]
    href = node.attrs["href"]
    shown = ["a", {"href": href}, picture] if href else picture
    return ["figure", {_SHAPE[name]: node.attrs[name] for name in _SHAPE}, shown, ["figcaption", 0]]


class _CardHtml(DocumentFragment):
    """The element of a card, around the blocks that it holds."""

    def __init__(self, card: Card, values: Mapping[str, Any]) -> None:
        super().__init__([])
        self._opening, self._end = card.opening({**values}), f"</{card.tag}>"

    def __str__(self) -> str:
        return f"{self._opening}{super().__str__()}{self._end}"


def _shown_card(card: Card) -> Callable[[Node], dict[str, Any]]:
    def shown(node: Node) -> dict[str, Any]:
        element = _CardHtml(card, cast("Mapping[str, Any]", node.attrs["card"]))
        return {"dom": element, "contentDOM": element if card.head else None}

    return shown


def _plain(node: Node) -> dict[str, Any]:
    # Between tags quotes need no escape.
    return {"dom": html.escape(str(node.text), quote=False)}


def _attributes(*names: str) -> dict[str, Any]:
    return {name: {"default": None} for name in names}


def _block(tag: str, content: str = "block*") -> dict[str, Any]:
    return {"group": "block", "content": content, "toDOM": lambda _: [tag, 0]}


def _table_cell(tag: str) -> dict[str, Any]:
    return {
        **_block(tag),
        "attrs": _attributes("colspan", "rowspan"),
        "toDOM": lambda node: [tag, node.attrs, 0],
    }


def _leaf(tag: str, *attributes: str, group: str = "inline") -> dict[str, Any]:
    return {
        "group": group,
        "inline": group == "inline",
        "attrs": _attributes(*attributes),
        "toDOM": lambda node: [tag, node.attrs],
    }


_SCHEMA_SPEC: Any = {
    "nodes": {
        "doc": {"content": "block*"},
        "paragraph": {
            **_block("p", "inline*"),
            "attrs": _attributes("align"),
            "toDOM": lambda node: ["p", _style(node), 0],
        },
        "heading": {
            **_block("h1", "inline*"),
            "attrs": _attributes("level", "align"),
            "toDOM": lambda node: [f"h{node.attrs['level']}", _style(node), 0],
        },
        "blockquote": _block("blockquote"),
        "codeBlock": {
            **_block("pre", "inline*"),
            "attrs": _attributes("language"),
            "toDOM": _code,
        },
        "bulletList": _block("ul"),
        "orderedList": {
            **_block("ol"),
            "attrs": _attributes("start"),
            "toDOM": lambda node: ["ol", node.attrs, 0],
        },
        "listItem": {
            **_block("li"),
            "attrs": _attributes("id"),
            "toDOM": lambda node: ["li", node.attrs, 0],
        },
        "taskList": {
            **_block("ul"),
            "toDOM": lambda _: ["ul", {"data-type": "taskList"}, 0],
        },
        "taskItem": {**_block("li"), "attrs": _attributes("checked"), "toDOM": _task},
        "horizontalRule": _leaf("hr", group="block"),
        # The start of the part that the post's visibility protects.
        "paywall": {"group": "block", "toDOM": lambda _: ["hr", {"class": "paywall"}]},
        "table": {**_block("table"), "toDOM": lambda _: ["table", ["tbody", 0]]},
        "tableRow": _block("tr"),
        "tableHeader": _table_cell("th"),
        "tableCell": _table_cell("td"),
        "figure": {
            **_block("figure", "inline*"),
            "attrs": _attributes(*_PICTURE, "href", *_SHAPE),
            "toDOM": _captioned,
        },
        **{
            card.name: {
                "group": "block",
                "content": "block*" if card.head else "",
                "attrs": _attributes("card"),
                "toDOM": _shown_card(card),
            }
            for card in CARDS.values()
        },
        "text": {"group": "inline", "toDOM": _plain},
        "image": _leaf("img", *_PICTURE),
        "hardBreak": _leaf("br"),
    },
    "marks": {
        "link": {
            "attrs": _attributes("id", "href", "title", "target", "rel"),
            "toDOM": lambda mark, _: ["a", mark.attrs, 0],
        },
        **{name: {"toDOM": lambda _, __, tag=tag: [tag, 0]} for name, tag in _MARKS.items()},
    },
}
_schema: Schema[Any, Any] = Schema(_SCHEMA_SPEC)
_serializer = DOMSerializer.from_schema(_schema)
