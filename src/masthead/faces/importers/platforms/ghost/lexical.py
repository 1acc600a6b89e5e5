"""Renders Lexical, the document format of Ghost's editor since 5.x, as HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any, Final

from masthead.faces.importers.platforms.ghost.cards import attribute, render_card

MAX_DEPTH: Final = 100
# Bit and tag, the outermost tag first.
_FORMATS: Final = (
    (1, "strong"),
    (2, "em"),
    (8, "u"),
    (4, "s"),
    (128, "mark"),
    (32, "sub"),
    (64, "sup"),
    (16, "code"),
)
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

Node = Mapping[str, Any]


def render_lexical(document: object) -> tuple[str, frozenset[str]]:
    """The HTML, and the names of unknown cards. Raises ValueError for other JSON."""
    root = document.get("root") if isinstance(document, dict) else None
    if not isinstance(root, dict) or not isinstance(root.get("children"), list):
        raise ValueError("no root with children")
    renderer = _Renderer()
    return renderer.children(root, 0), frozenset(renderer.unknown)


class _Renderer:
    def __init__(self) -> None:
        self.unknown: set[str] = set()

    def children(self, node: Node, depth: int) -> str:
        if depth > MAX_DEPTH:
            return ""
        return "".join(self._node(child, depth + 1) for child in _children(node))

    def _node(self, node: Node, depth: int) -> str:
        name = node.get("type")
        name = name if isinstance(name, str) else ""
        render = _ELEMENTS.get(name)
        if render:
            return render(self, node, depth)
        card = render_card(name, node)
        if card is not None:
            return card
        inside = self.children(node, depth)
        if not inside and name not in _EMPTY:
            self.unknown.add(name[:40])
        return inside

    def text(self, node: Node, _: int) -> str:
        text, bits = node.get("text"), node.get("format")
        html = escape(text, quote=False) if isinstance(text, str) else ""
        if html and isinstance(bits, int):
            for bit, tag in reversed(_FORMATS):
                if bits & bit:
                    html = f"<{tag}>{html}</{tag}>"
        return html

    def link(self, node: Node, depth: int) -> str:
        inside = self.children(node, depth)
        url = node.get("url")
        if not inside or not isinstance(url, str) or not url:
            return inside
        attributes = attribute("href", url) + "".join(
            attribute(name, node.get(name)) for name in ("title", "target", "rel")
        )
        return f"<a{attributes}>{inside}</a>"

    def heading(self, node: Node, depth: int) -> str:
        tag = node.get("tag")
        tag = tag if tag in _HEADINGS else "h2"
        return _wrapped(tag, self.children(node, depth))

    def quote(self, node: Node, depth: int) -> str:
        return _wrapped("blockquote", _wrapped("p", self.children(node, depth)))

    def list(self, node: Node, depth: int) -> str:
        is_numbered = node.get("listType") == "number" or node.get("tag") == "ol"
        start = node.get("start")
        first = f' start="{start}"' if is_numbered and _is_number(start) and start != 1 else ""
        tag = "ol" if is_numbered else "ul"
        items = "".join(self._items(node, depth))
        return f"<{tag}{first}>{items}</{tag}>" if items else ""

    def _items(self, node: Node, depth: int) -> Iterator[str]:
        """Lexical has a nested list in an item of its own; HTML has it at the end of the item
        before."""
        item = ""
        for child in _children(node):
            if _holds_list(child):
                item += self.children(child, depth + 1)
                continue
            if item:
                yield f"<li>{item}</li>"
            item = self.children(child, depth + 1)
        if item:
            yield f"<li>{item}</li>"


def _children(node: Node) -> Iterator[Node]:
    given = node.get("children")
    for child in given if isinstance(given, list) else ():
        if isinstance(child, dict):
            yield child


def _holds_list(item: Node) -> bool:
    first = next(_children(item), None)
    return first is not None and first.get("type") == "list"


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1_000_000


def _wrapped(tag: str, inside: str) -> str:
    return f"<{tag}>{inside}</{tag}>" if inside else ""


def _inside(tag: str) -> Callable[[_Renderer, Node, int], str]:
    return lambda renderer, node, depth: _wrapped(tag, renderer.children(node, depth))


def _always(html: str) -> Callable[[_Renderer, Node, int], str]:
    return lambda _renderer, _node, _depth: html


# Nodes that may be empty without a warning.
_EMPTY: Final = frozenset({"listitem", "root", "zwnj", "at-link", "at-link-search"})

_ELEMENTS: Final[Mapping[str, Callable[[_Renderer, Node, int], str]]] = {
    "text": _Renderer.text,
    "extended-text": _Renderer.text,
    "tk": _Renderer.text,
    "linebreak": _always("<br>"),
    "tab": _always(" "),
    "link": _Renderer.link,
    "autolink": _Renderer.link,
    "paragraph": _inside("p"),
    "heading": _Renderer.heading,
    "extended-heading": _Renderer.heading,
    "quote": _Renderer.quote,
    "extended-quote": _Renderer.quote,
    "aside": _Renderer.quote,
    "list": _Renderer.list,
}
