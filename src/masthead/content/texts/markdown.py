"""Converts Markdown to the editor's document and to HTML: CommonMark with tables, strikethrough,
task lists and footnotes.

HTML within the text is kept. Where the editor can't show it, the text has its HTML only.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from masthead.base.errors import Invalid, Problem
from masthead.base.limited_process import limited
from masthead.content.texts.editor import render
from masthead.content.texts.footnotes import NOTES, REFERENCE, Notes, reference_rule, take_notes

MAX_SECONDS: Final = 2.0
"""Processor time for one text: some texts of special characters take the parser very long."""
MAX_DEPTH: Final = 100
"""The parser drops what is nested deeper, so such a text is refused."""
MAX_ADDRESSES: Final = 1_000_000
TOO_SLOW: Final = "The Markdown takes too long to read. Divide the text, or send content_html."

Json = dict[str, Any]


class Converted(NamedTuple):
    content_html: str
    content_json: Json | None
    """None where the text holds HTML that the editor can't show."""


def convert(markdown: str, *, keeps_lines: bool = False) -> Converted:
    """Raises Invalid for what is nested too deeply or has too many parts. May take very long:
    `content.py` knows when it does not.

    With `keeps_lines` the end of a line within a paragraph is one in the document, too."""
    text, notes = take_notes(markdown)
    parser = _Parser(notes, keeps_lines)
    blocks = parser.blocks(text)
    blocks += parser.noted()
    document: Json = {"type": "doc", "content": blocks}
    html = _rendered(document)
    if parser.raw.pieces:
        return Converted(parser.raw.put_into(html), None)
    return Converted(html, document)


def convert_in_process(markdown: str, keeps_lines: bool) -> Converted | str:
    """Or the reason why the text is refused."""
    # Before the time starts, because the first text makes it.
    _markdown()
    try:
        with limited(MAX_SECONDS):
            return convert(markdown, keeps_lines=keeps_lines)
    except Invalid as error:
        return error.problems["content_markdown"].message


def _rendered(document: Json) -> str:
    try:
        return render(document) or ""
    except Invalid as error:
        raise refused(error.problems["content_json"].message) from None


def refused(message: str) -> Invalid:
    return Invalid({"content_markdown": Problem("validation_document_limit", message)})


class _RawHtml:
    """HTML of the text: a placeholder in the document, put in place after it is rendered."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._mark = f"raw{secrets.token_hex(8)}"

    def add(self, html: str) -> str:
        self.pieces.append(html)
        return f"{self._mark}n{len(self.pieces) - 1}n"

    def put_into(self, rendered: str) -> str:
        found = re.compile(rf"<p>{self._mark}n(\d+)n</p>|{self._mark}n(\d+)n")
        return found.sub(lambda place: self.pieces[int(place[1] or place[2])], rendered)


class _Addresses:
    """Counts the characters of links: an address that is defined once may be used thousands of
    times."""

    def __init__(self) -> None:
        self._length = 0

    def add(self, *values: object) -> None:
        self._length += sum(len(str(each)) for each in values if each)
        if self._length > MAX_ADDRESSES:
            raise refused(f"The addresses have more than {MAX_ADDRESSES:,} characters in total.")


class _Parser:
    def __init__(self, notes: Notes, keeps_lines: bool) -> None:
        self._notes = notes
        self._keeps_lines = keeps_lines
        self.raw = _RawHtml()
        self._addresses = _Addresses()
        self._environment = {NOTES: notes}

    def blocks(self, text: str) -> list[Json]:
        tokens = _markdown().parse(text, self._environment)
        if any(token.level >= MAX_DEPTH - 1 for token in tokens):
            raise refused(f"The text is nested deeper than {MAX_DEPTH} levels. Flatten it.")
        if self._keeps_lines:
            for child in (each for token in tokens for each in token.children or ()):
                if child.type == "softbreak":
                    child.type = "hardbreak"
        return _Blocks(self.raw, self._addresses).of(iter(tokens))

    def noted(self) -> list[Json]:
        """The footnotes, as a list at the end. A note may refer to further ones."""
        notes, items = self._notes, list[Json]()
        # Notes without a reference come last.
        for label in ("", *notes.texts):
            if label:
                notes.number(label)
            while len(items) < len(notes.order):
                named = notes.order[len(items)]
                items.append(_note(notes, named, self.blocks(notes.texts[named])))
        if not items:
            return []
        return [{"type": "horizontalRule"}, {"type": "orderedList", "content": items}]


def _note(notes: Notes, label: str, content: list[Json]) -> Json:
    """A list item with the note and a link back to where the text refers to it."""
    number = notes.number(label)
    if not content or content[0]["type"] != "paragraph":
        content.insert(0, {"type": "paragraph"})
    if label in notes.references:
        last = content[-1] if content[-1]["type"] == "paragraph" else content[0]
        inline = last.setdefault("content", [])
        inline.append({"type": "text", "text": " "})
        inline.append(_linked("↩", {"href": f"#fnref-{number}"}))
    return {"type": "listItem", "attrs": {"id": f"fn-{number}"}, "content": content}


def _linked(text: str, attributes: Json, *marks: Json) -> Json:
    link = {"type": "link", "attrs": attributes}
    return {"type": "text", "text": text, "marks": [link, *marks]}


class _Blocks:
    """Builds the nodes of blocks from the parser's tokens, which come as opening and closing."""

    def __init__(self, raw: _RawHtml, addresses: _Addresses) -> None:
        self._raw = raw
        self._addresses = addresses

    def of(self, tokens: Iterator[Token], until: str = "") -> list[Json]:
        found: list[Json] = []
        for token in tokens:
            if token.type == until:
                break
            found += self._block(token, tokens)
        return found

    def _block(self, token: Token, rest: Iterator[Token]) -> list[Json]:
        kind = token.type
        if kind in ("fence", "code_block"):
            return [_code(token)]
        if kind == "hr":
            return [{"type": "horizontalRule"}]
        if kind == "html_block":
            return self._html(token.content)
        if kind == "inline":
            return _Inline(self._raw, self._addresses).of(token.children or ())
        if kind in ("thead_open", "tbody_open"):
            return self.of(rest, kind.replace("open", "close"))
        make = _NODES[kind]
        return make(token, self.of(rest, kind.replace("open", "close")))

    def _html(self, html: str) -> list[Json]:
        html = _without_comments(html).strip()
        if not html:
            return []
        if _PAYWALL.fullmatch(html):
            return [{"type": "paywall"}]
        return [_paragraph([{"type": "text", "text": self._raw.add(html)}])]


_PAYWALL: Final = re.compile(r"""<hr\s+class=["']?paywall["']?\s*/?>""")
_LINE_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TASK: Final = re.compile(r"\[([ xX])\](?:\s+|$)")


def _without_comments(html: str) -> str:
    kept, at = [], 0
    while (start := html.find("<!--", at)) >= 0 and (end := html.find("-->", start + 4)) >= 0:
        kept.append(html[at:start])
        at = end + 3
    return "".join((*kept, html[at:]))


def _paragraph(content: list[Json], **attributes: Any) -> Json:
    node: Json = {"type": "paragraph"}
    if attributes:
        node["attrs"] = attributes
    if content:
        node["content"] = content
    return node


def _code(token: Token) -> Json:
    node: Json = {"type": "codeBlock"}
    language = token.info.split()[0] if token.info.strip() else ""
    if language:
        node["attrs"] = {"language": language}
    if text := token.content.removesuffix("\n"):
        node["content"] = [{"type": "text", "text": text}]
    return node


def _of_paragraph(_: Token, content: list[Json]) -> list[Json]:
    return [_paragraph(content)]


def _heading(token: Token, content: list[Json]) -> list[Json]:
    node: Json = {"type": "heading", "attrs": {"level": int(token.tag[1])}}
    return [node | ({"content": content} if content else {})]


def _quote(_: Token, content: list[Json]) -> list[Json]:
    return [{"type": "blockquote", "content": content or [_paragraph([])]}]


def _item(_: Token, content: list[Json]) -> list[Json]:
    if not content or content[0]["type"] != "paragraph":
        # An item of the editor begins with text.
        content.insert(0, _paragraph([]))
    return [{"type": "listItem", "content": content}]


def _ordered(token: Token, items: list[Json]) -> list[Json]:
    node: Json = {"type": "orderedList", "content": items}
    start = token.attrGet("start")
    return [node if start is None else {**node, "attrs": {"start": int(start)}}]


def _bullets(_: Token, items: list[Json]) -> list[Json]:
    """Items that begin with [ ] or [x] are tasks, which have lists of their own."""
    lists: list[Json] = []
    for item in items:
        task = _as_task(item)
        kind = "taskList" if task else "bulletList"
        if not lists or lists[-1]["type"] != kind:
            lists.append({"type": kind, "content": []})
        lists[-1]["content"].append(task or item)
    return lists


def _as_task(item: Json) -> Json | None:
    first: list[Json] = item["content"][0].get("content", [])
    if not first or first[0]["type"] != "text" or first[0].get("marks"):
        return None
    box = _TASK.match(first[0]["text"])
    if box is None:
        return None
    words = first[0]["text"][box.end() :]
    inline = [{**first[0], "text": words}, *first[1:]] if words else first[1:]
    content = [_paragraph(inline), *item["content"][1:]]
    return {"type": "taskItem", "attrs": {"checked": box[1] != " "}, "content": content}


def _table(_: Token, rows: list[Json]) -> list[Json]:
    return [{"type": "table", "content": rows}]


def _row(_: Token, cells: list[Json]) -> list[Json]:
    return [{"type": "tableRow", "content": cells}]


def _cell(token: Token, content: list[Json]) -> list[Json]:
    kind = "tableHeader" if token.tag == "th" else "tableCell"
    side = str(token.attrGet("style") or "").removeprefix("text-align:")
    attributes = {"textAlign": side} if side else {}
    return [{"type": kind, "content": [_paragraph(content, **attributes)]}]


_NODES: Final[dict[str, Callable[[Token, list[Json]], list[Json]]]] = {
    "paragraph_open": _of_paragraph,
    "heading_open": _heading,
    "blockquote_open": _quote,
    "bullet_list_open": _bullets,
    "ordered_list_open": _ordered,
    "list_item_open": _item,
    "table_open": _table,
    "tr_open": _row,
    "th_open": _cell,
    "td_open": _cell,
}
_MARKS: Final = {"strong": "bold", "em": "italic", "s": "strike", "link": "link"}


class _Inline:
    """Builds the nodes of a paragraph's text."""

    def __init__(self, raw: _RawHtml, addresses: _Addresses) -> None:
        self._raw = raw
        self._addresses = addresses
        self._found: list[Json] = []
        self._marks: list[Json] = []

    def of(self, tokens: Sequence[Token]) -> list[Json]:
        for token in tokens:
            name, _, end = token.type.rpartition("_")
            self._addresses.add(*token.attrs.values())
            if end == "open":
                self._marks.append(_mark(_MARKS[name], token))
            elif end == "close":
                self._unmark(_MARKS[name])
            else:
                self._take(token)
        return self._found

    def _unmark(self, name: str) -> None:
        at = max(at for at, mark in enumerate(self._marks) if mark["type"] == name)
        del self._marks[at]

    def _take(self, token: Token) -> None:
        kind = token.type
        if kind == REFERENCE:
            target = {"href": f"#fn-{token.meta['number']}", "id": token.meta["id"]}
            sign = _linked(str(token.meta["number"]), target, {"type": "superscript"})
            self._found.append(sign)
        elif kind == "image":
            self._add({"type": "image", "attrs": _picture(token)})
        elif kind == "hardbreak" or (
            kind == "html_inline" and _LINE_BREAK.fullmatch(token.content)
        ):
            self._add({"type": "hardBreak"})
        elif kind == "html_inline":
            html = _without_comments(token.content)
            self._text(self._raw.add(html) if html else "")
        elif kind == "code_inline":
            self._text(token.content, {"type": "code"})
        else:
            self._text(" " if kind == "softbreak" else token.content)

    def _text(self, text: str, *marks: Json) -> None:
        if not text:
            return
        node: Json = {"type": "text", "text": text}
        last = self._found[-1] if self._found else None
        if marks or self._marks:
            node["marks"] = [*self._marks, *marks]
        if last and last["type"] == "text" and last.get("marks") == node.get("marks"):
            last["text"] += text
        else:
            self._found.append(node)

    def _add(self, node: Json) -> None:
        if self._marks:
            node["marks"] = list(self._marks)
        self._found.append(node)


def _mark(name: str, token: Token) -> Json:
    if name != "link":
        return {"type": name}
    title = token.attrGet("title")
    href = token.attrGet("href") or ""
    return {"type": name, "attrs": {"href": href} | ({"title": title} if title else {})}


def _picture(token: Token) -> Json:
    picture = {"src": token.attrGet("src"), "alt": token.content, "title": token.attrGet("title")}
    return {name: value for name, value in picture.items() if value}


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_DEPTH}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", "footnotes", reference_rule)
    return parser
