"""Reads code with Pygments, in the process that `lexing_process` starts.

One expression of a lexer can take exponential time, and nothing else in its process runs
meanwhile. So the kernel ends the process where a block takes too long.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from masthead.base.limited_process import limited

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_SECONDS: Final = 0.5
"""Processor time, for one block and for all of a page. The first block of HTML takes a quarter of
it: the lexers of styles and scripts are made then."""
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
# What one of six hundred lexers may raise on text that no compiler would take.
_FAILURES: Final = (LookupError, ValueError, TypeError, AttributeError, RuntimeError)


class Run(NamedTuple):
    """A piece of the code, with its class of the style sheet or ""."""

    shown: str
    text: str


class Lexed(NamedTuple):
    runs: list[Run] | None
    """None where the code stays plain."""
    seconds: float
    """Processor time."""


@cache
def lexers() -> dict[str, tuple[str, str]]:
    """Module and class of each language by its names. For a name that it doesn't know, Pygments'
    own search loads the lexers of all installed packages."""
    # Imported here, because many sites show no code.
    from pygments.lexers import LEXERS

    return {
        alias.lower(): (module, name)
        for name, (module, _, aliases, _, _) in LEXERS.items()
        for alias in aliases
    }


def lexed(language: str, code: str) -> Lexed:
    # Before the time starts: the first block of a language imports its module.
    lexer = _lexer(language)
    start = time.process_time()
    try:
        with limited(MAX_SECONDS):
            runs = list(_runs(lexer, code))
    except _FAILURES:
        runs = []
    # Some lexers lose text that they don't expect.
    is_whole = "".join(run.text for run in runs) == code
    return Lexed(runs if is_whole else None, time.process_time() - start)


def _lexer(language: str) -> Lexer:
    module, name = lexers()[language]
    # A new one, because some have state.
    return getattr(import_module(module), name)(stripnl=False)


def _runs(lexer: Lexer, code: str) -> Iterator[Run]:
    open_class, pending = "", ""
    # Lexers of sessions need the end of the last line.
    for at, kind, text in lexer.get_tokens_unprocessed(f"{code}\n"):
        text = text[: max(0, len(code) - at)]
        shown = _class(kind)
        # Blanks have no colour, so they need not end a span.
        if shown != open_class and text.strip():
            yield Run(open_class, pending)
            open_class, pending = shown, ""
        pending += text
    yield Run(open_class, pending)


@lru_cache(maxsize=512)
def _class(kind: Any) -> str:
    name = str(kind)
    matching = [(len(each), shown) for each, shown in _CLASSES if f"{name}.".startswith(f"{each}.")]
    return max(matching)[1] if matching else ""
