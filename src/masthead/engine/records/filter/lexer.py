"""Splits a filter into tokens in linear time."""

from __future__ import annotations

import re
from typing import NamedTuple

# Quantifiers are possessive (`*+`), and an unclosed text or comment matches the rest, so that each
# character is read a fixed number of times.
_TOKEN = re.compile(
    r"""
    (?:[ \t\n]++|//[^\n]*+)*+
    (?:
      (?P<call>[A-Za-z@_\#][\w.:]*+(?=\())
    | (?P<name>[A-Za-z@_\#][\w.:]*+)
    | (?P<sign>[=?!<>~]++)
    | (?P<text>'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+")
    | (?P<number>-?\d++(?:\.\d++)?|-\.\d++)
    | (?P<join>[&|]++)
    | (?P<open>\()
    | (?P<close>\))
    | (?P<comma>,)
    | (?P<unclosed>['"].*+)
    | (?P<end>\Z)
    | (?P<unknown>.)
    )
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)

_KINDS = ("", *_TOKEN.groupindex)

_ESCAPES = {quote: re.compile(rf"\\([\\{quote}])") for quote in "'\""}


class Token(NamedTuple):
    """`kind` is the name of the group that matched; a `call` is a name directly before `(`."""

    kind: str
    text: str
    position: int


def tokenize(text: str) -> list[Token]:
    """All tokens, the last of kind `end`. Any other character is a token of kind `unknown`."""
    tokens = []
    for match in _TOKEN.finditer(text):
        index = match.lastindex or 0
        tokens.append(Token(_KINDS[index], match[index], match.start(index)))
    return tokens


def unquote(quoted: str) -> str:
    """The text between the quotes. A backslash escapes that quote and itself; before any other
    character it stays, so that `~ '50\\_off'` keeps it for the pattern."""
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPES[quoted[0]].sub(r"\1", inner)
