"""The content of a piece of HTML, in a form that two spellings of the same share: it measures
whether a conversion has lost anything. Written against a parser of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = {"br", "hr", "img", "input", "source"}
SAME = {"b": "strong", "i": "em", "del": "s", "strike": "s"}
MARKS = {"strong", "em", "u", "s", "mark", "sub", "sup", "code", "a"}
WRAPPERS = {"div", "figure", "span", "picture", "tbody", "thead", "label"}
IDLE = {"input", "source"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("doc", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(SAME.get(tag, tag), {key: value or "" for key, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def said(html: str) -> Any:
    """Nested tuples; equal for two documents that say the same."""
    tree = _Tree()
    tree.feed(html)
    tree.close()
    return _flow(tree.root)


Inline = tuple[Any, frozenset[Any]]


def _flow(element: Element, marks: frozenset[Any] = frozenset()) -> Any:
    """The blocks of an element; bare text in it is a paragraph."""
    blocks: list[Any] = []
    run: list[Inline] = []

    def end_run() -> None:
        if (text := _trimmed(run)) or run_is_wanted():
            blocks.append(("p", "", text))
        run.clear()

    def run_is_wanted() -> bool:
        return any(part == "br" for part, _ in run)

    def walk(part: Element | str, marks: frozenset[Any]) -> None:
        if isinstance(part, str):
            run.append((part, marks))
        elif part.name in IDLE:
            pass
        elif part.name in WRAPPERS or part.name in MARKS:
            is_block = part.name in ("div", "figure")
            if is_block:
                end_run()
            for child in part.children:
                walk(child, marks | _mark(part))
            if is_block:
                end_run()
        elif part.name in ("br", "img"):
            run.append((_leaf(part), marks))
        else:
            end_run()
            blocks.append(_block(part, marks))

    for child in element.children:
        walk(child, marks)
    end_run()
    return tuple(blocks)


def _block(element: Element, marks: frozenset[Any]) -> Any:
    name = element.name
    if name == "p" or re.fullmatch("h[1-6]", name):
        run: list[Inline] = []
        for child in element.children:
            _inline(child, marks, run)
        return (name, element.attributes.get("style", ""), _trimmed(run))
    if name == "pre":
        return (name, marks, *_code(element))
    inside = tuple(_flow(element, marks))
    if name in ("li", "td", "th", "blockquote"):
        inside = inside or (("p", "", ()),)
    keys = ("colspan", "rowspan", "start", "data-type", "data-checked")
    shown = {
        key: element.attributes[key] for key in keys if element.attributes.get(key, "1") != "1"
    }
    return (name, tuple(sorted(shown.items())), inside)


def _inline(part: Element | str, marks: frozenset[Any], run: list[Inline]) -> None:
    if isinstance(part, str):
        run.append((part, marks))
    elif part.name in ("br", "img"):
        run.append((_leaf(part), marks))
    elif part.name not in IDLE:
        for child in part.children:
            _inline(child, marks | _mark(part), run)


def _mark(element: Element) -> frozenset[Any]:
    if element.name == "a":
        if "href" not in element.attributes:
            return frozenset()
        shown = {key: value for key, value in element.attributes.items() if value}
        if shown.get("target") == "_blank":
            # Added where it is missing.
            shown.setdefault("rel", "noopener")
        return frozenset({("a", tuple(sorted(shown.items())))})
    return frozenset({element.name}) if element.name in MARKS else frozenset()


def _leaf(element: Element) -> Any:
    if element.name == "br":
        return "br"
    keys = ("src", "alt", "title", "width", "height")
    return (
        "img",
        tuple((key, element.attributes[key]) for key in keys if element.attributes.get(key)),
    )


def _code(element: Element) -> tuple[str, str]:
    language, text = element.attributes.get("class", ""), ""
    for child in element.children:
        if isinstance(child, str):
            # A line end right behind the tag is not part of the text.
            is_first = element.name == "pre" and child is element.children[0]
            text += child.removeprefix("\n") if is_first else child
        elif child.name == "br":
            text += "\n"
        else:
            inner_language, inner_text = _code(child)
            language, text = language or inner_language, text + inner_text
    return language, text


def _trimmed(run: list[Inline]) -> tuple[Any, ...]:
    """Blanks collapse across the parts of a text, and vanish at its ends."""
    letters: list[tuple[Any, frozenset[Any]]] = []
    for part, marks in run:
        if part == "br" or isinstance(part, tuple):
            letters.append((part, marks))
            continue
        for letter in re.sub(r"[ \t\n\r\f]", " ", part):
            is_first = not letters or letters[-1][0] in (" ", "br")
            if letter != " " or not is_first:
                letters.append((letter, marks))
    while letters and letters[-1][0] == " ":
        letters.pop()
    # What is marked is the words: whether a blank between two of them is, can't be seen.
    return tuple(letters)
