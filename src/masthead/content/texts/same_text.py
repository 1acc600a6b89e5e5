"""Compares clean HTML with what the editor makes of it: whether both say the same, and which
elements and attributes only one of them has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from masthead.content.html.card_attributes import CARD
from masthead.content.html.markup import VOID, Attributes, Token
from masthead.content.html.sanitizer import HEADINGS
from masthead.content.texts.from_html_nodes import collapsed

_SAME: Final = {"b": "strong", "i": "em", "del": "s", "strike": "s"}
_MARKS: Final = frozenset({"strong", "em", "u", "s", "mark", "sub", "sup", "code", "a"})
_GROUPS: Final = frozenset({"div", "figure", "picture", "span", "tbody", "thead", "label", "input"})
"""Elements that say nothing themselves, as long as they have no attribute."""
_TEXTS: Final = frozenset({"p", "figcaption", "summary", "dt", *HEADINGS})
_USUAL: Final = {
    "ol": {"start": "1", "type": "1"},
    "td": {"colspan": "1", "rowspan": "1"},
    "th": {"colspan": "1", "rowspan": "1"},
}
"""Attributes that say what is so without them."""
_IGNORED: Final = {"input": frozenset({"type", "disabled", "checked"})}
"""The box of a task: its item has whether it is done."""
_EMPTY: Final = ("text", "p", (), ())
_FILLED: Final = frozenset({"li", "td", "th", "blockquote"})
"""Elements that have a paragraph in the editor, if they have nothing else."""

Marks = tuple[Hashable, ...]


def is_same_text(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether two texts differ in nothing but what no reader can tell: blanks between blocks, two
    names of one element, a paragraph that is not written around the words of an item."""
    return _Reader().read(one) == _Reader().read(other)


def features_of(tokens: Sequence[Token]) -> Counter[tuple[str, str]]:
    """How many there are of each element, with '', and of each of its attributes."""
    found: Counter[tuple[str, str]] = Counter()
    for kind, name, attributes in tokens:
        if kind != "start" or CARD in attributes:
            continue
        name, shown = _SAME.get(name, name), _shown(name, attributes)
        if name not in _GROUPS and name != "p":
            found[name, ""] += 1
        found.update((name, key) for key in shown)
    return found


def _shown(name: str, attributes: Attributes) -> Attributes:
    if not attributes:
        return {}
    usual, ignored = _USUAL.get(name, {}), _IGNORED.get(name, frozenset())
    shown = {
        key: value
        for key, value in attributes.items()
        if key not in ignored and usual.get(key) != value and (value or key not in ("alt", "title"))
    }
    if name == "a" and shown.get("target") == "_blank":
        # Added where it is missing.
        shown.setdefault("rel", "noopener")
    return shown


class _Reader:
    """Reads tokens as blocks with their words, letter by letter with their marks."""

    def __init__(self) -> None:
        self._found: list[Hashable] = []
        self._run: list[tuple[Hashable, Marks]] = []
        self._marks: list[tuple[str, Hashable]] = []
        self._block: tuple[str, Hashable] | None = None
        """The open text block; None where words stand alone."""
        self._code: list[str] | None = None

    def read(self, tokens: Sequence[Token]) -> list[Hashable]:
        for token in tokens:
            if self._code is not None:
                self._read_code(token, self._code)
            elif token.kind == "text":
                self._read_text(collapsed(token.name))
            elif token.kind == "start":
                self._start(_SAME.get(token.name, token.name), token.attributes)
            else:
                self._end(_SAME.get(token.name, token.name))
        self._flush()
        return self._found

    def _read_text(self, text: str) -> None:
        marks = self._now()
        for letter in text:
            if letter == " " and (not self._run or self._run[-1][0] in (" ", "br")):
                continue
            self._run.append((letter, marks))

    def _start(self, name: str, attributes: Attributes) -> None:
        shown = tuple(sorted(_shown(name, attributes).items()))
        if name == "pre":
            self._flush()
            self._code = [*_language(attributes)]
        elif name in VOID and name not in _GROUPS and name != "hr":
            self._run.append(((name, shown) if name != "br" else "br", self._now()))
        elif name in _MARKS or (name in ("span", "picture") and shown):
            self._marks.append((name, (name, shown)))
        elif name in _TEXTS:
            self._flush()
            self._block = (name, shown)
        elif name in _GROUPS and not shown:
            # A mark that is none: so that its end finds it.
            if name in ("span", "picture"):
                self._marks.append((name, ()))
            elif name != "input":
                self._flush()
        else:
            self._flush()
            self._found.append(("start", name, shown))

    def _now(self) -> Marks:
        return tuple(sorted({mark for _, mark in self._marks if mark}, key=repr))

    def _end(self, name: str) -> None:
        if name in _MARKS or name in ("span", "picture"):
            if self._marks and self._marks[-1][0] == name:
                self._marks.pop()
        elif name in _TEXTS:
            self._flush()
        else:
            self._flush()
            if name not in _GROUPS:
                self._close(name)

    def _close(self, name: str) -> None:
        last = self._found[-2:]
        is_empty = len(last) == 2 and last[1] == _EMPTY and _is_start(last[0], name)
        if is_empty and name in _FILLED:
            self._found.pop()
        self._found.append(("end", name))

    def _flush(self) -> None:
        run, block = self._run, self._block
        self._run, self._block = [], None
        while run and run[-1][0] == " ":
            run.pop()
        if block is not None:
            self._found.append(("text", *block, tuple(run)))
        elif run:
            self._found.append(("text", "p", (), tuple(run)))

    def _read_code(self, token: Token, code: list[str]) -> None:
        kind, name, attributes = token
        if kind == "text":
            code.append(name)
        elif name == "br":
            code.append("\n")
        elif name == "code" and kind == "start":
            code.extend(_language(attributes))
        elif kind == "end" and name == "pre":
            self._found.append(("pre", "".join(code)))
            self._code = None
        elif name != "code":
            code.append(f"\0{kind} {name}\0")


def _language(attributes: Attributes) -> Iterator[str]:
    if attributes.get("class"):
        yield f"\0{attributes['class']}\0"


def _is_start(part: Hashable, name: str) -> bool:
    return isinstance(part, tuple) and part[:2] == ("start", name)
