"""Code blocks with colours, by Pygments. A block says its language in its class, as in
`<pre><code class="language-python">`; one without stays as it is.

Pygments' expressions can be slow on hostile text, so long blocks and long lines stay plain, and all
blocks of a page share a time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from masthead.html.markup import Token, escaped, written

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_CHARACTERS: Final = 20_000
MAX_LINE: Final = 1_000
MAX_SECONDS: Final = 0.25
"""Of the processor, for all blocks of a page; the rest of them stay plain."""
_CLASSES: Final = (
    ("Token.Comment", "c"),
    ("Token.Keyword", "k"),
    ("Token.Operator.Word", "k"),
    ("Token.Name.Tag", "k"),
    ("Token.Literal.Number", "m"),
    ("Token.Keyword.Constant", "m"),
    ("Token.Literal", "s"),
    ("Token.Name.Attribute", "s"),
    ("Token.Name.Function", "f"),
    ("Token.Name.Class", "f"),
    ("Token.Name.Decorator", "f"),
    ("Token.Generic.Deleted", "d"),
    ("Token.Generic.Inserted", "s"),
    ("Token.Generic.Heading", "k"),
)


class Coloured:
    """Colours the blocks of one page."""

    def __init__(self) -> None:
        self._seconds = MAX_SECONDS

    def block(self, language: str, code: str) -> str:
        """Spans for the code; without any where it is too long, or its language unknown."""
        is_long = len(code) > MAX_CHARACTERS or max(map(len, code.split("\n"))) > MAX_LINE
        if is_long or self._seconds <= 0:
            return escaped(code)
        # Read before the time starts: the first block of a language imports its module.
        _lexer(language)
        start = time.thread_time()
        shown = _coloured(language, code)
        self._seconds -= time.thread_time() - start
        return shown


def coloured_block(coloured: Coloured, tokens: Sequence[Token], at: int) -> tuple[str, int] | None:
    """The `<pre>` at `at` with colours, and the index after it; None where it holds anything but
    code of a named language."""
    after = at + 1
    language = _language(tokens[at])
    code = tokens[after] if after < len(tokens) else None
    has_code = code is not None and code[:2] == ("start", "code")
    if has_code:
        assert code is not None
        language = language or _language(code)
        after += 1
    texts: list[str] = []
    while after < len(tokens) and tokens[after].kind == "text":
        texts.append(tokens[after].name)
        after += 1
    ends = [("end", "code"), ("end", "pre")] if has_code else [("end", "pre")]
    if (
        not language
        or not texts
        or [each[:2] for each in tokens[after : after + len(ends)]] != ends
    ):
        return None
    inside = coloured.block(language, "".join(texts))
    start = written("pre", {"tabindex": "0"}) + written("code", {"class": f"language-{language}"})
    return f"{start}{inside}</code></pre>", after + len(ends)


def _language(token: Token) -> str:
    return token.attributes.get("class", "").removeprefix("language-")


@lru_cache(maxsize=128)
def _coloured(language: str, code: str) -> str:
    """Plain where it takes too long, which is remembered, too."""
    known = _lexer(language)
    if known is None:
        return escaped(code)
    # A new one, because some have state, and other threads use theirs.
    lexer = type(known)(stripnl=False)
    try:
        runs = list(_runs(lexer, code, time.thread_time() + MAX_SECONDS))
    except _FAILURES:
        return escaped(code)
    # Some lexers lose text that they don't expect.
    if "".join(text for _, text in runs) != code:
        return escaped(code)
    return "".join(_span(*run) for run in runs)


class _TooSlow(Exception):
    pass


# Besides, what one of five hundred lexers may raise on text that no compiler would take.
_FAILURES = (_TooSlow, LookupError, ValueError, TypeError, AttributeError, RuntimeError)


def _runs(lexer: Lexer, code: str, end: float) -> Iterator[tuple[str, str]]:
    """Pieces of the code, each with its class."""
    open_class, pending = "", ""
    # Lexers of sessions need the end of the last line.
    for at, kind, text in lexer.get_tokens_unprocessed(f"{code}\n"):
        if time.thread_time() > end:
            raise _TooSlow
        text = text[: max(0, len(code) - at)]
        shown = _class(kind)
        # Blanks have no colour, so they need not end a span.
        if shown != open_class and text.strip():
            yield open_class, pending
            open_class, pending = shown, ""
        pending += text
    yield open_class, pending


def _span(shown: str, text: str) -> str:
    if not shown or not text:
        return escaped(text)
    return f'<span class="{shown}">{escaped(text)}</span>'


@lru_cache(maxsize=512)
def _class(kind: Any) -> str:
    name = str(kind)
    matching = [(len(each), shown) for each, shown in _CLASSES if f"{name}.".startswith(f"{each}.")]
    return max(matching)[1] if matching else ""


@lru_cache(maxsize=256)
def _lexer(language: str) -> Lexer | None:
    # Imported here, because many sites show no code.
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None
