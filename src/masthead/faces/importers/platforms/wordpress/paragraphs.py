"""Renders text of the classic editor as HTML, like `wpautop` of WordPress.

A blank line separates paragraphs, a line break becomes `<br>`, and block elements are not wrapped.
Unlike WordPress, every `<p>` has an end tag.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from masthead.faces.importers.platforms.wordpress.pieces import BLOCKS_ONLY, Piece, pieces_of

# fmt: off
_BLOCKS: Final = frozenset({
    "table", "thead", "tfoot", "caption", "col", "colgroup", "tbody", "tr", "td", "th", "div", "dl",
    "dd", "dt", "ul", "ol", "li", "pre", "form", "map", "area", "blockquote", "address", "style",
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "fieldset", "legend", "section", "article",
    "aside", "hgroup", "header", "footer", "nav", "figure", "figcaption", "details", "menu",
    "summary", "main", "center",
})
_VOID_BLOCKS: Final = frozenset({"hr", "col", "area"})
_SHOWN_ALONE: Final = frozenset({"img", "input", "embed", "br", "wbr", "source"})
# Elements without paragraphs as children.
_NO_PARAGRAPHS: Final = frozenset({
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "dt", "caption", "legend", "summary", "figcaption",
    "ul", "ol", "dl", "table", "thead", "tbody", "tfoot", "tr", "colgroup", "menu", "map",
})
# Text after the last block in these is a paragraph; in a list item or a cell it is not.
_SECTIONS: Final = frozenset({
    "div", "address", "form", "section", "article", "aside", "details", "main", "header", "footer",
})
# fmt: on
_BLANK_LINE: Final = re.compile(r"\n[ \t\f\v\u00a0]*\n\s*")
_TWO_BREAKS: Final = re.compile(r"<br\s*/?>\s*<br\s*/?>", re.IGNORECASE)
_ADDRESS_LINE: Final = re.compile(r"^[ \t]*+(https?://[^\s<>\"]++)[ \t]*+$", re.MULTILINE)
_ADDRESS_PARAGRAPH: Final = re.compile(
    r"(<p(?:\s[^<>]*+)?>)\s*+(https?://[^\s<>\"]++)\s*+(</p>)", re.IGNORECASE
)
_BREAK: Final = "<br />"
_LEADING: Final = re.compile(rf"(?:\s|{_BREAK})*+")


def paragraphs(text: str) -> str:
    if not text.strip():
        return ""
    if BLOCKS_ONLY.fullmatch(text):
        return text
    writer = _Writer()
    for piece in pieces_of(_TWO_BREAKS.sub("\n\n", text)):
        writer.write(piece)
    return writer.finished()


def linked_addresses(html: str) -> str:
    """Links addresses that are a line of their own, which WordPress would embed."""
    if "http" not in html:
        return html
    html = _ADDRESS_LINE.sub(r'<a href="\1">\1</a>', html)
    return _ADDRESS_PARAGRAPH.sub(r'\1<a href="\2">\2</a>\3', html)


class _Writer:
    """Collects the pieces between two block tags, and writes them before the next one."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._run: list[Piece] = []
        self._open: list[str] = []
        self._open_counts: Counter[str] = Counter()
        self._is_separate = True
        """Whether a paragraph may begin here, or the text still belongs to an opening tag."""

    def write(self, piece: Piece) -> None:
        if piece.placeholder == "b":
            self._finish_run(is_separate=True)
            self._done.append(piece.text + "\n")
            self._is_separate = True
        elif piece.tag in _BLOCKS:
            is_caption = piece.tag == "figcaption"
            self._finish_run(is_separate=not piece.is_end and not is_caption)
            is_closed = piece.is_end or piece.tag in _VOID_BLOCKS
            self._done.append(piece.text + "\n" if is_closed else piece.text)
            self._is_separate = is_closed and not is_caption
            self._track(piece)
        else:
            self._run.append(piece)

    def finished(self) -> str:
        self._finish_run(is_separate=True)
        return "".join(self._done).strip()

    def _track(self, piece: Piece) -> None:
        tag = piece.tag
        if not piece.is_end:
            # The start of a block ends a paragraph, also without an end tag.
            if self._open and self._open[-1] == "p":
                self._open_counts[self._open.pop()] -= 1
            if tag not in _VOID_BLOCKS and not piece.text.endswith("/>"):
                self._open.append(tag)
                self._open_counts[tag] += 1
        elif self._open_counts[tag]:
            while True:
                closed = self._open.pop()
                self._open_counts[closed] -= 1
                if closed == tag:
                    return

    def _finish_run(self, *, is_separate: bool) -> None:
        run, self._run = self._run, []
        if not run:
            return
        paragraphs, begins_separate, ends_separate = _split(run)
        if not paragraphs:
            return
        container = self._open[-1] if self._open else ""
        before = self._is_separate or begins_separate
        after = is_separate or ends_separate
        texts = [paragraph.text for paragraph in paragraphs]
        if container == "p":
            self._done.append("</p>\n<p>".join(texts))
        elif container in _NO_PARAGRAPHS:
            self._done.append(f"{_BREAK}\n".join(texts))
        elif (
            len(texts) > 1
            or (before and after)
            or container == "blockquote"
            or (before and container in _SECTIONS)
        ):
            for each in paragraphs:
                self._done.append(f"<p>{each.text}</p>\n" if each.is_shown else each.text)
        else:
            self._done.extend(texts)


class _Paragraph:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.text = ""
        self.is_shown = False
        """Whether it has more than tags of elements that span several blocks."""

    def add(self, piece: Piece) -> None:
        self.parts.append(_BREAK if piece.tag == "br" else piece.text)
        if piece.placeholder or piece.tag in _SHOWN_ALONE:
            self.is_shown = True

    def add_text(self, text: str) -> None:
        if not text:
            return
        follows_break = bool(self.parts) and self.parts[-1] == _BREAK
        self.parts.append(_with_breaks(text, follows_break) if "\n" in text else text)
        if not text.isspace():
            self.is_shown = True

    def finish(self) -> None:
        self.text = _trimmed("".join(self.parts))


def _split(run: list[Piece]) -> tuple[list[_Paragraph], bool, bool]:
    """The paragraphs of a run, and whether it begins and ends with a blank line."""
    found = [_Paragraph()]
    for piece in run:
        if piece.tag or piece.placeholder:
            found[-1].add(piece)
            continue
        first, *others = _BLANK_LINE.split(piece.text)
        found[-1].add_text(first)
        for text in others:
            found.append(_Paragraph())
            found[-1].add_text(text)
    for paragraph in found:
        paragraph.finish()
    begins_separate = len(found) > 1 and not found[0].text
    ends_separate = len(found) > 1 and not found[-1].text
    return [paragraph for paragraph in found if paragraph.text], begins_separate, ends_separate


def _with_breaks(text: str, follows_break: bool) -> str:
    if "http" in text:
        text = _ADDRESS_LINE.sub(r'<a href="\1">\1</a>', text)
    if follows_break:
        text = text.lstrip(" \t").removeprefix("\n")
    *lines, last = text.split("\n")
    # The last line keeps its trailing blank, because a tag may follow it.
    return f"{_BREAK}\n".join([*(line.rstrip(" \t") for line in lines), last])


def _trimmed(text: str) -> str:
    start = _LEADING.match(text)
    begin, end = start.end() if start else 0, len(text)
    while end > begin:
        if text.endswith(_BREAK, begin, end):
            end -= len(_BREAK)
        elif text[end - 1].isspace():
            end -= 1
        else:
            break
    return text[begin:end]
