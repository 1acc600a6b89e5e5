"""Writes clean HTML as Markdown, for programs that read texts. Every element gives either a part of
a line or blocks, so one pass over the tokens with a stack of the open elements is enough."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from masthead.content.cards.card import Whole
from masthead.content.cards.catalog import CardElement, element_at
from masthead.content.html.card_attributes import CARD
from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import PAYWALL_CLASS, Attributes, Token

_MARKS: Final = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}
_HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS: Final = frozenset(
    (
        *("address", "article", "aside", "caption", "dd", "details", "div", "dl", "dt"),
        *("figcaption", "figure", "footer", "header", "main", "nav", "p", "section", "summary"),
    )
)
_BOXES: Final = ("[x]", "[ ]")
_BLOCK_START: Final = re.compile(r"^([#+=-]|\d{1,9}(?=[.)](?:\s|$)))", re.MULTILINE)
_BLANKS: Final = re.compile(r"[ \t\r\n\f]+")
_OUTER: Final = re.compile(r"^(\s*)(.*?)(\s*)$", re.DOTALL)
_TICKS: Final = re.compile("`+")


def markdown_of(tokens: Sequence[Token], whole: Whole) -> str:
    """The text in blocks, with a line end after the last."""
    writer = _Writer(whole)
    after = 0
    for at, token in enumerate(tokens):
        if at < after:
            continue
        if token.attributes and CARD in token.attributes and (card := element_at(tokens, at)):
            writer.open_card(token.name, card)
            after = card.after
        elif token.kind == "text":
            writer.write(token.name)
        elif token.kind == "start":
            writer.open(token.name, token.attributes)
        else:
            writer.close(token.name)
    return writer.run_out()


class _Element(msgspec.Struct):
    """An open element, with what it has so far."""

    name: str
    attributes: Attributes
    blocks: list[str] = msgspec.field(default_factory=list)
    line: list[str] = msgspec.field(default_factory=list)
    rows: list[list[str]] = msgspec.field(default_factory=list)
    """The cells of a table, or those of its one row."""
    card: CardElement | None = None

    def finish_line(self) -> None:
        text = "".join(self.line).strip()
        self.line.clear()
        if text:
            # A number or a mark at the beginning of a line would begin a list, a rule or a heading.
            self.blocks.append(_BLOCK_START.sub(_escaped_start, text))

    def text(self) -> str:
        self.finish_line()
        return "\n\n".join(self.blocks)


def _escaped_start(found: re.Match[str]) -> str:
    start = found[0]
    return f"{start}\\" if start.isdigit() else f"\\{start}"


class _Writer:
    def __init__(self, whole: Whole) -> None:
        self._whole = whole
        self._open = [_Element("", {})]
        self._code = 0
        """How many of the open elements keep their text as it is."""

    def run_out(self) -> str:
        while len(self._open) > 1:
            self.close(self._open[-1].name)
        text = self._open[0].text()
        return f"{text}\n" if text else ""

    def write(self, text: str) -> None:
        if self._code:
            self._open[-1].line.append(text)
        else:
            self._open[-1].line.append(escaped_text(_BLANKS.sub(" ", text)))

    def open(self, name: str, attributes: Attributes) -> None:
        top = self._open[-1]
        match name:
            case "br":
                top.line.append("\n" if self._code else "  \n")
            case "hr":
                if attributes.get("class") != PAYWALL_CLASS:
                    top.finish_line()
                    top.blocks.append("---")
            case "img":
                alt = escaped_text(attributes.get("alt", ""))
                top.line.append(f"![{alt}]({self._address(attributes.get('src', ''))})")
            case "input":
                top.line.append("[x] " if "checked" in attributes else "[ ] ")
            case "source" | "track" | "col" | "wbr":
                pass
            case _:
                self._code += name in ("pre", "code")
                self._open.append(_Element(name, attributes))

    def open_card(self, name: str, card: CardElement) -> None:
        if card.card.head:
            self._open.append(_Element(name, {}, card=card))
        else:
            self._put_card(self._open[-1], card, "")

    def _put_card(self, parent: _Element, found: CardElement, inside: str) -> None:
        parent.finish_line()
        if text := found.card.markdown(found.values, inside, self._whole):
            parent.blocks.append(text)

    def close(self, name: str) -> None:
        if len(self._open) == 1 or self._open[-1].name != name:
            return
        element = self._open.pop()
        self._code -= name in ("pre", "code")
        self._put(self._open[-1], element)

    def _put(self, parent: _Element, element: _Element) -> None:
        """Adds an element that has ended to the one around it."""
        match element.name:
            case "code":
                text = "".join(element.line)
                parent.line.append(text if self._code else _code(text))
                if self._code:
                    parent.attributes = {**parent.attributes, **element.attributes}
            case "a":
                self._link(parent, element)
            case name if name in _MARKS:
                _mark(parent, element, _MARKS[name])
            case "audio" | "video":
                address = self._address(element.attributes.get("src", ""))
                parent.finish_line()
                parent.blocks.append(f"[{element.name.title()}]({address})")
            case "tr":
                parent.rows.append([each[0] for each in element.rows])
            case "td" | "th":
                parent.rows.append([element.text().replace("\n\n", " ").replace("  \n", " ")])
            case "thead" | "tbody" | "tfoot":
                parent.rows += element.rows
            case _:
                self._block(parent, element)

    def _block(self, parent: _Element, element: _Element) -> None:
        if element.card:
            self._put_card(parent, element.card, element.text())
            return
        text = _block_text(element)
        if text is None:
            parent.line += [*element.blocks, *element.line]
            return
        parent.finish_line()
        if text:
            parent.blocks.append(text)

    def _link(self, parent: _Element, element: _Element) -> None:
        text = element.text()
        href = element.attributes.get("href", "")
        # A link around a picture has no text of its own, and one within the page no page.
        is_link = bool(text and href) and not href.startswith("#")
        parent.line.append(f"[{text}]({self._address(href)})" if is_link else text)

    def _address(self, address: str) -> str:
        whole = self._whole(address)
        return f"<{whole}>" if re.search(r"[\s()]", whole) else whole


def _block_text(element: _Element) -> str | None:
    """None for what is a part of a line."""
    name = element.name
    if name in _HEADINGS:
        text = element.text().replace("  \n", " ").replace("\n\n", " ")
        return f"{_HEADINGS[name]} {text}" if text else ""
    match name:
        case "blockquote":
            return "\n".join(f"> {line}".rstrip() for line in element.text().splitlines())
        case "pre":
            return _fenced("".join(element.line), element.attributes.get("class", ""))
        case "li":
            return _item(element)
        case "ul" | "ol":
            return _list(element)
        case "table":
            return "\n\n".join([*element.blocks, _table(element.rows)]).strip()
    return element.text() if name in _BLOCKS else None


def _item(element: _Element) -> str:
    element.finish_line()
    if len(element.blocks) > 1 and element.blocks[0] in _BOXES:
        element.blocks[:2] = [" ".join(element.blocks[:2])]
    # A list within an item follows its text directly.
    tight = [
        f"{'' if at == 0 else chr(10) if _is_list(block) else chr(10) * 2}{block}"
        for at, block in enumerate(element.blocks)
    ]
    return "".join(tight)


def _is_list(block: str) -> bool:
    return re.match(r"(?:- |\d+\. )", block) is not None


def _list(element: _Element) -> str:
    first = int(element.attributes.get("start") or 1)
    items = []
    for number, item in enumerate(element.blocks, first):
        bullet = f"{number}. " if element.name == "ol" else "- "
        lines = item.split("\n")
        indented = [f"{' ' * len(bullet)}{line}" if line else "" for line in lines[1:]]
        items.append("\n".join([bullet + lines[0], *indented]))
    return "\n".join(items)


def _table(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    width = max(map(len, rows))
    first, *others = [list(row) + [""] * (width - len(row)) for row in rows]
    lines = [first, ["---"] * width, *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _fenced(text: str, language: str) -> str:
    fence = "`" * max(3, 1 + _longest_ticks(text))
    return f"{fence}{language.removeprefix('language-')}\n{text.rstrip(chr(10))}\n{fence}"


def _code(text: str) -> str:
    text = text.replace("\n", " ")
    if not text.strip():
        return text
    ticks = "`" * (1 + _longest_ticks(text))
    blank = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{blank}{text}{blank}{ticks}"


def _longest_ticks(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def _mark(parent: _Element, element: _Element, mark: str) -> None:
    """Blanks at the ends of what is marked stand outside: marks count only at a word."""
    found = _OUTER.match("".join([*element.blocks, *element.line]))
    assert found is not None
    before, text, after = found.groups()
    parent.line.append(f"{before}{mark}{text}{mark}{after}" if text else before + after)
