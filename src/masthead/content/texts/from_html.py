"""Converts HTML to a document of the rich-text editor, where that loses nothing.

The editor's own parser drops what its schema (`masthead.content.texts.editor`) can't represent.
This one returns None and the reason instead, so that opening and saving a post loses nothing. It
works on tokens, because a DOM and the editor's parser take twenty times as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from masthead.content.cards.catalog import element_at
from masthead.content.html.card_attributes import CARD
from masthead.content.html.markup import PAYWALL_CLASS, VOID, Attributes, Token
from masthead.content.html.sanitizer import HEADINGS
from masthead.content.html.srcset import parse_srcset
from masthead.content.texts.from_html_nodes import (
    Figure,
    Json,
    Unsupported,
    allow,
    captioned,
    collapsed,
    ends_blank,
    language_of,
    span_of,
)

MAX_DEPTH = 100
MAX_NODES = 20_000
"""Both as in `masthead.content.texts.editor`."""


Original = Callable[[str], str]
"""The address of a picture in full size, for that of one of its sizes."""


def to_document(tokens: Sequence[Token], original_of: Original = str) -> tuple[Json | None, str]:
    """The document, or None and the reason."""
    try:
        return _Converter(_anchors(tokens), original_of).run(tokens), ""
    except Unsupported as reason:
        return None, str(reason)


_MARKS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "s": "strike",
    "strike": "strike",
    "del": "strike",
    "mark": "highlight",
    "sub": "subscript",
    "sup": "superscript",
    "code": "code",
}
_MARK_ORDER = {
    name: position
    for position, name in enumerate(
        (
            "link",
            "bold",
            "italic",
            "underline",
            "strike",
            "highlight",
            "subscript",
            "superscript",
            "code",
        )
    )
}
_FLOW, _TEXT, _CODE, _LIST, _TASKS, _TABLE, _ROW = range(7)
"""The kinds of content that may come next: blocks and text, only text, only items …"""

_DATA_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]+")
_SIDE = re.compile(r"text-align: ([a-z]+)")

Ending = Callable[[], None] | None


def _anchors(tokens: Sequence[Token]) -> frozenset[str]:
    """The targets of links within the document."""
    found = (each.attributes.get("href", "") for each in tokens if each.attributes)
    return frozenset(unquote(href[1:]) for href in found if href[:1] == "#")


class _Converter:
    """Walks over the tokens with a stack of open nodes and of functions that close them."""

    def __init__(self, anchors: frozenset[str], original_of: Original) -> None:
        self._anchors = anchors
        self._original_of = original_of
        self._room = _FLOW
        self._container = "doc"
        self._blocks: list[Json] = []
        self._inline: list[Json] | None = None
        """The content of the open paragraph or heading."""
        self._code: list[str] = []
        self._marks: list[Json] = []
        self._sources: list[str] = []
        self._figure: Figure | None = None
        self._endings: list[Ending] = []
        self._depth = self._nodes = 0

    def run(self, tokens: Sequence[Token]) -> Json:
        blocks = self._blocks
        after = 0
        for at, (kind, name, attributes) in enumerate(tokens):
            if at < after:
                continue
            if kind == "text":
                self._take_text(name)
            elif kind == "start" and attributes and CARD in attributes:
                after = self._open_card(tokens, at)
            elif kind == "start":
                opening = _OPENINGS.get(name)
                if opening is None:
                    raise Unsupported(f"<{name}>")
                ending = opening(self, name, attributes)
                if name not in VOID:
                    self._endings.append(ending)
            elif (ending := self._endings.pop()) is not None:
                ending()
        self._end_paragraph()
        return {"type": "doc", "content": blocks}

    def _node(self, kind: str, **attributes: Any) -> Json:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise Unsupported(f"more than {MAX_NODES:,} parts")
        node: Json = {"type": kind}
        shown = {name: value for name, value in attributes.items() if value is not None}
        if shown:
            node["attrs"] = shown
        return node

    def _take_text(self, text: str) -> None:
        if self._room == _CODE:
            self._code.append(text)
            return
        text = collapsed(text)
        if self._inline is None and text == " ":
            return
        inline = self._paragraph()
        last = inline[-1] if inline else None
        if text[0] == " " and (last is None or ends_blank(last)):
            text = text[1:]
            if not text:
                return
        if last is not None and last["type"] == "text" and last.get("marks", []) == self._marks:
            last["text"] += text
            return
        inline.append(self._marked(self._node("text")))
        inline[-1]["text"] = text

    def _marked(self, node: Json) -> Json:
        if self._marks:
            node["marks"] = self._marks
        return node

    def _paragraph(self) -> list[Json]:
        """The open text, or a new paragraph for text outside of blocks."""
        if self._inline is None:
            if self._room != _FLOW:
                raise Unsupported("text between the parts of a list or table")
            node = self._node("paragraph")
            self._inline = node["content"] = []
            self._blocks.append(node)
        return self._inline

    def _end_paragraph(self) -> None:
        inline, self._inline = self._inline, None
        if inline is None:
            return
        if inline and inline[-1].get("text", "").endswith(" "):
            inline[-1]["text"] = inline[-1]["text"][:-1]
            if not inline[-1]["text"]:
                inline.pop()
        if not inline:
            del self._blocks[-1]["content"]

    def _block(self, name: str) -> None:
        """Ends the open paragraph before a block; refuses a block where none may be."""
        if self._room != _FLOW:
            raise Unsupported(f"<{name}> inside another text")
        self._end_paragraph()

    def _enter(self, node: Json, room: int) -> Ending:
        self._depth += 1
        if self._depth >= MAX_DEPTH:
            raise Unsupported(f"nesting deeper than {MAX_DEPTH} levels")
        outer, was = self._blocks, (self._room, self._container)
        outer.append(node)
        self._blocks = node["content"] = []
        self._room, self._container = room, node["type"]

        def leave() -> None:
            self._end_paragraph()
            self._check(node)
            self._blocks = outer
            self._room, self._container = was
            self._depth -= 1

        return leave

    def _check(self, node: Json) -> None:
        """Fills or refuses empty nodes, which the editor does not have."""
        kind, content = node["type"], node["content"]
        if not content:
            if kind in _NEVER_EMPTY:
                raise Unsupported(f"a {kind} without content")
            content.append(self._node("paragraph"))
        if kind in ("listItem", "taskItem") and content[0]["type"] != "paragraph":
            raise Unsupported("a list item that does not begin with text")

    def _open_card(self, tokens: Sequence[Token], at: int) -> int:
        """The index after the card, or of the first block that it holds."""
        found = element_at(tokens, at)
        if found is None:
            raise Unsupported(f"a {tokens[at].attributes[CARD]} with other parts than the card has")
        self._block(tokens[at].name)
        node = self._node(found.card.name, **found.values)
        if found.card.head:
            self._endings.append(self._enter(node, _FLOW))
        else:
            self._blocks.append(node)
        return found.after

    def _open_text(self, name: str, attributes: Attributes) -> Ending:
        self._block(name)
        align = _SIDE.fullmatch(attributes.get("style", ""))
        side = align[1] if align else None
        if name == "p":
            allow(name, attributes, ("style",) if side else ())
            node = self._node("paragraph", textAlign=side)
        else:
            is_pointed_at = attributes.get("id") in self._anchors
            allow(name, attributes, ("style",) if side else (), () if is_pointed_at else ("id",))
            node = self._node("heading", level=int(name[1]), textAlign=side)
        self._inline = node["content"] = []
        self._blocks.append(node)
        self._room = _TEXT
        return self._close_text

    def _close_text(self) -> None:
        self._end_paragraph()
        self._room = _FLOW

    def _open_quote(self, name: str, attributes: Attributes) -> Ending:
        self._block(name)
        allow(name, attributes)
        return self._enter(self._node("blockquote"), _FLOW)

    def _open_wrapper(self, name: str, attributes: Attributes) -> Ending:
        """An element that only groups blocks."""
        self._block(name)
        allow(name, attributes)
        return self._end_paragraph

    def _open_figure(self, name: str, attributes: Attributes) -> Ending:
        """Without a caption it is a wrapper."""
        self._block(name)
        allow(name, attributes, _SHAPE)
        outer = self._figure
        shape = {_SHAPE[key]: value for key, value in attributes.items()}
        self._figure = figure = Figure(self._blocks, len(self._blocks), shape)

        def leave() -> None:
            self._end_paragraph()
            if (figure.has_caption or shape) and not figure.holds_one:
                raise Unsupported("a caption of several things")
            if shape and not figure.has_caption:
                self._blocks[-1] = self._node("figure", **captioned(self._blocks[-1]), **shape)
            self._figure = outer

        return leave

    def _open_caption(self, name: str, attributes: Attributes) -> Ending:
        """The paragraph with the picture becomes a figure node."""
        self._block(name)
        allow(name, attributes)
        figure = self._figure
        if figure is None or figure.blocks is not self._blocks or not figure.holds_one:
            raise Unsupported("a caption of something other than a picture")
        node = self._node("figure", **captioned(self._blocks[-1]), **figure.shape)
        self._inline = node["content"] = []
        self._blocks[-1] = node
        self._room = _TEXT
        figure.has_caption = True
        return self._close_text

    def _rule(self, name: str, attributes: Attributes) -> Ending:
        self._block(name)
        allow(name, attributes, ("class",))
        is_paywall = attributes.get("class") == PAYWALL_CLASS
        self._blocks.append(self._node("paywall" if is_paywall else "horizontalRule"))
        return None

    def _open_code(self, name: str, attributes: Attributes) -> Ending:
        self._block(name)
        allow(name, attributes, ("class",))
        if self._marks:
            raise Unsupported("a code block inside a link or other mark")
        node = self._node("codeBlock", language=language_of(attributes))
        self._blocks.append(node)
        self._code, self._room = [], _CODE

        def leave() -> None:
            self._room = _FLOW
            if text := "".join(self._code):
                node["content"] = [{"type": "text", "text": text}]

        return leave

    def _open_list(self, name: str, attributes: Attributes) -> Ending:
        self._block(name)
        if attributes.get("data-type"):
            allow(name, attributes, ("data-type",))
            return self._enter(self._node("taskList"), _TASKS)
        if name == "ul":
            allow(name, attributes)
            return self._enter(self._node("bulletList"), _LIST)
        allow(name, attributes, ("start",), ("type",) if attributes.get("type") == "1" else ())
        start = int(attributes.get("start", 1))
        return self._enter(self._node("orderedList", start=start if start != 1 else None), _LIST)

    def _open_item(self, name: str, attributes: Attributes) -> Ending:
        is_task = attributes.get("data-type") == "taskItem"
        if self._room != (_TASKS if is_task else _LIST):
            raise Unsupported("a list item outside of its list")
        allow(name, attributes, ("data-type", "data-checked") if is_task else ())
        if not is_task:
            return self._enter(self._node("listItem"), _FLOW)
        is_done = attributes.get("data-checked") == "true"
        return self._enter(self._node("taskItem", checked=is_done), _FLOW)

    def _task_box(self, name: str, attributes: Attributes) -> Ending:
        """The editor draws the box itself; the item has whether it is checked."""
        if self._container != "taskItem" or self._blocks:
            raise Unsupported(f"<{name}>")
        return None

    def _open_table(self, name: str, attributes: Attributes) -> Ending:
        self._block(name)
        allow(name, attributes)
        return self._enter(self._node("table"), _TABLE)

    def _open_rows(self, name: str, attributes: Attributes) -> Ending:
        if self._room != _TABLE:
            raise Unsupported(f"<{name}> outside of a table")
        allow(name, attributes)
        if name == "tbody":
            return None
        rows = self._blocks

        def leave() -> None:
            cells = (cell for row in rows for cell in row["content"])
            if any(cell["type"] != "tableHeader" for cell in cells):
                raise Unsupported("a table's head with plain cells")

        return leave

    def _open_row(self, name: str, attributes: Attributes) -> Ending:
        if self._room != _TABLE:
            raise Unsupported("<tr> outside of a table")
        allow(name, attributes)
        return self._enter(self._node("tableRow"), _ROW)

    def _open_cell(self, name: str, attributes: Attributes) -> Ending:
        if self._room != _ROW:
            raise Unsupported(f"<{name}> outside of a table")
        allow(name, attributes, ("colspan", "rowspan"))
        spans = {key: span_of(value) for key, value in attributes.items()}
        kind = "tableHeader" if name == "th" else "tableCell"
        return self._enter(self._node(kind, **spans), _FLOW)

    def _open_mark(self, name: str, attributes: Attributes) -> Ending:
        if self._room == _CODE:
            return self._in_code(name, attributes)
        allow(name, attributes)
        return self._mark({"type": _MARKS[name]})

    def _in_code(self, name: str, attributes: Attributes) -> Ending:
        if name != "code":
            raise Unsupported(f"<{name}> inside code")
        allow(name, attributes, ("class",))
        node = self._blocks[-1]
        language = language_of(attributes)
        if language and "attrs" not in node:
            node["attrs"] = {"language": language}
        return None

    def _open_link(self, name: str, attributes: Attributes) -> Ending:
        if self._room == _CODE:
            raise Unsupported("<a> inside code")
        allow(name, attributes, ("href", "title", "target", "rel"))
        if not attributes.get("href"):
            return None
        if any(mark["type"] == "link" for mark in self._marks):
            # In HTML this is possible only with a table between the two.
            raise Unsupported("a link inside a link")
        return self._mark({"type": "link", "attrs": dict(attributes)})

    def _mark(self, mark: Json) -> Ending:
        before = self._marks
        if any(each["type"] == mark["type"] for each in before):
            return None
        self._marks = sorted([*before, mark], key=lambda each: _MARK_ORDER[each["type"]])

        def leave() -> None:
            self._marks = before

        return leave

    def _open_plain(self, name: str, attributes: Attributes) -> Ending:
        allow(name, attributes)
        return None

    def _break(self, name: str, attributes: Attributes) -> Ending:
        allow(name, attributes)
        if self._room == _CODE:
            self._code.append("\n")
        else:
            self._paragraph().append(self._marked(self._node("hardBreak")))
        return None

    def _open_picture(self, name: str, attributes: Attributes) -> Ending:
        allow(name, attributes)
        self._sources = []

        def leave() -> None:
            self._sources = []

        return leave

    def _source(self, name: str, attributes: Attributes) -> Ending:
        self._sources += [url for url, _ in parse_srcset(attributes.get("srcset", ""))]
        return None

    def _image(self, name: str, attributes: Attributes) -> Ending:
        if self._room == _CODE:
            raise Unsupported("<img> inside code")
        allow(name, attributes, ("src", "alt", "title", "width", "height", "srcset", "sizes"))
        source = attributes.get("src", "")
        if source[:5].lower() == "data:" and not _DATA_PICTURE.fullmatch(source):
            raise Unsupported("a picture inside its own address")
        sizes = [url for url, _ in parse_srcset(attributes.get("srcset", ""))]
        self._check_one_picture(source, [*self._sources, *sizes])
        shown: dict[str, Any] = {
            key: attributes[key] for key in ("src", "alt", "title") if attributes.get(key)
        }
        for key in ("width", "height"):
            if attributes.get(key, "0") != "0":
                shown[key] = int(attributes[key])
        self._paragraph().append(self._marked(self._node("image", **shown)))
        return None

    def _check_one_picture(self, source: str, others: Sequence[str]) -> None:
        """The editor stores one address, so all addresses must be sizes of the same picture."""
        if others:
            original = self._original_of(source)
            if any(self._original_of(each) != original for each in others):
                raise Unsupported("a picture in several versions")


_SHAPE = {"data-width": "layout", "data-crop": "crop"}
_NEVER_EMPTY = frozenset({"bulletList", "orderedList", "taskList", "table", "tableRow"})

_OPENINGS: dict[str, Callable[[_Converter, str, Attributes], Ending]] = {
    **dict.fromkeys(("p", *HEADINGS), _Converter._open_text),
    **dict.fromkeys(("ul", "ol"), _Converter._open_list),
    **dict.fromkeys(("thead", "tbody"), _Converter._open_rows),
    **dict.fromkeys(("th", "td"), _Converter._open_cell),
    **dict.fromkeys(("label", "input"), _Converter._task_box),
    **dict.fromkeys(_MARKS, _Converter._open_mark),
    "a": _Converter._open_link,
    "blockquote": _Converter._open_quote,
    "br": _Converter._break,
    "div": _Converter._open_wrapper,
    "figcaption": _Converter._open_caption,
    "figure": _Converter._open_figure,
    "hr": _Converter._rule,
    "img": _Converter._image,
    "li": _Converter._open_item,
    "picture": _Converter._open_picture,
    "pre": _Converter._open_code,
    "source": _Converter._source,
    "span": _Converter._open_plain,
    "table": _Converter._open_table,
    "tr": _Converter._open_row,
}
