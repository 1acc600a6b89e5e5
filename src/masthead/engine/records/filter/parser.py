"""Parses PocketBase's filter language into a tree.

Open groups are in a list instead of on the call stack, so that parentheses can't exhaust it. The
limits are PocketBase's where it has any.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Final

import msgspec

from masthead.base.errors import BadRequest
from masthead.engine.records.filter.ast import (
    And,
    Comparison,
    Expression,
    Function,
    Identifier,
    Literal,
    LiteralValue,
    Macro,
    Operand,
    Or,
)
from masthead.engine.records.filter.lexer import Token, tokenize, unquote
from masthead.engine.records.filter.shape import Values, shape

MAX_CHARACTERS: Final = 3_500
MAX_COMPARISONS: Final = 200
MAX_READERS_COMPARISONS: Final = 30
"""For guests and members: each comparison of a new filter takes nearly a millisecond."""
MAX_GROUP_DEPTH: Final = 100
MAX_RELATIONS: Final = 6
"""In a path. The compiler counts them, because names don't tell a relation from a document."""
MAX_PATH_STEPS: Final = MAX_RELATIONS + 1 + 128
"""Also the steps into a document, which has no deeper ones."""
MAX_CALL_DEPTH: Final = 3

# fmt: off
SIGNS: Final = frozenset({
    "=", "!=", ">", ">=", "<", "<=", "~", "!~",
    "?=", "?!=", "?>", "?>=", "?<", "?<=", "?~", "?!~",
})
MODIFIERS: Final = frozenset({"isset", "changed", "length", "each", "lower"})
MACROS: Final = frozenset({
    "@now", "@second", "@minute", "@hour", "@weekday", "@day", "@month", "@year",
    "@yesterday", "@tomorrow", "@todayStart", "@todayEnd",
    "@monthStart", "@monthEnd", "@yearStart", "@yearEnd",
})
# fmt: on

_WORDS: Final[dict[str, LiteralValue]] = {"true": True, "false": False, "null": None}
_CACHED_CHARACTERS: Final = 500
_ECHOED_CHARACTERS: Final = 40
_INTEGERS: Final = range(-(2**63), 2**63)
_OPERAND: Final = "a field, a quoted text, a number, true, false or null"


class FilterError(BadRequest):
    """`position` is the index of the first character that does not fit."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"Invalid filter at position {position}: {message}")
        self.position = position


class ParsedFilter(msgspec.Struct, frozen=True):
    """A filter with its `shape` and the `values` that fill it, as `shape()` gives them."""

    expression: Expression
    shape: Hashable
    values: Values


def parse(text: str, max_comparisons: int = MAX_COMPARISONS) -> Expression:
    """Raises `FilterError`, also for a blank text and for one over a limit."""
    if len(text) > MAX_CHARACTERS:
        raise FilterError(f"it is longer than {MAX_CHARACTERS} characters.", MAX_CHARACTERS)
    return _Parser(tokenize(text), max_comparisons).expression()


def parse_cached(text: str, max_comparisons: int = MAX_COMPARISONS) -> ParsedFilter:
    """As `parse`, with a cache for short filters."""
    if len(text) > _CACHED_CHARACTERS:
        return _parse_with_shape(text, max_comparisons)
    return _parse_with_cache(text, max_comparisons)


def parse_given(given: str | Expression, *, for_admin: bool) -> ParsedFilter | None:
    """A filter as text, or as a tree that a face has built itself; None without conditions."""
    if isinstance(given, str):
        most = MAX_COMPARISONS if for_admin else MAX_READERS_COMPARISONS
        return parse_cached(given, most) if given else None
    return ParsedFilter(given, *shape(given))


def _parse_with_shape(text: str, max_comparisons: int) -> ParsedFilter:
    expression = parse(text, max_comparisons)
    return ParsedFilter(expression, *shape(expression))


_parse_with_cache = lru_cache(maxsize=1_024)(_parse_with_shape)


class _Group(msgspec.Struct):
    """The conditions since an opening parenthesis. `||` starts an alternative."""

    alternatives: list[Expression] = msgspec.field(default_factory=list)
    conditions: list[Expression] = msgspec.field(default_factory=list)

    def start_alternative(self) -> None:
        self.alternatives.append(_joined(And, self.conditions))
        self.conditions = []

    def expression(self) -> Expression:
        self.start_alternative()
        return _joined(Or, self.alternatives)


def _joined(kind: type[And] | type[Or], items: list[Expression]) -> Expression:
    if len(items) == 1:
        return items[0]
    flat: list[Expression] = []
    for item in items:
        if isinstance(item, kind):
            flat.extend(item.items)
        else:
            flat.append(item)
    return kind(tuple(flat))


class _Parser:
    def __init__(self, tokens: list[Token], max_comparisons: int) -> None:
        self._tokens = tokens
        self._max_comparisons = max_comparisons
        self._next = 0
        self._comparisons = 0

    def expression(self) -> Expression:
        group, outer = _Group(), list[_Group]()
        while True:
            while self._tokens[self._next].kind == "open":
                outer.append(group)
                group = self._opened(len(outer))
            group.conditions.append(self._comparison())
            while outer and self._tokens[self._next].kind == "close":
                self._next += 1
                inner, group = group, outer.pop()
                group.conditions.append(inner.expression())
            token = self._take()
            if token.kind == "end" and not outer:
                return group.expression()
            if token.text == "||":
                group.start_alternative()
            elif token.text != "&&":
                raise _refusal(token, "&&, || or )" if outer else "&& or ||")

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _opened(self, depth: int) -> _Group:
        token = self._take()
        if depth > MAX_GROUP_DEPTH:
            raise FilterError(
                f"parentheses are nested more than {MAX_GROUP_DEPTH} deep.", token.position
            )
        return _Group()

    def _comparison(self) -> Comparison:
        start = self._tokens[self._next]
        left = self._operand()
        sign = self._take()
        if sign.text not in SIGNS:
            raise _refusal(sign, "an operator such as =, != or ~")
        right = self._operand()
        self._comparisons += 1
        if self._comparisons > self._max_comparisons:
            raise FilterError(
                f"it has more than {self._max_comparisons} comparisons.", start.position
            )
        return Comparison(left, sign.text, right)

    def _operand(self, call_depth: int = 0) -> Operand:
        token = self._take()
        if token.kind == "name":
            return _named(token)
        if token.kind == "text":
            return Literal(unquote(token.text))
        if token.kind == "number":
            return Literal(_number(token))
        if token.kind == "call":
            return self._function(token, call_depth + 1)
        raise _refusal(token, _OPERAND)

    def _function(self, name: Token, depth: int) -> Function:
        if depth > MAX_CALL_DEPTH:
            raise FilterError(
                f"functions are nested more than {MAX_CALL_DEPTH} deep.", name.position
            )
        _check_steps(name, name.text.split("."))
        self._next += 1
        arguments: list[Operand] = []
        while self._tokens[self._next].kind != "close":
            arguments.append(self._operand(depth))
            separator = self._tokens[self._next]
            if separator.kind == "comma":
                self._next += 1
            elif separator.kind != "close":
                raise _refusal(separator, "a comma or )")
        self._next += 1
        return Function(name.text, tuple(arguments))


def _refusal(found: Token, expected: str) -> FilterError:
    if found.kind == "end":
        message = f"expected {expected}, but the filter ends."
    elif found.kind == "unclosed":
        message = f"the text that starts with {_echo(found)} is never closed."
    else:
        message = f"expected {expected}, found {_echo(found)}."
    return FilterError(message, found.position)


def _named(token: Token) -> Operand:
    name = token.text
    if name in MACROS:
        return Macro(name)
    if name.lower() in _WORDS:
        return Literal(_WORDS[name.lower()])
    steps = name.split(".")
    # Only the last step can have a modifier. A colon further left is the alias of PocketBase's
    # `@collection.posts:alias.title`, which the compiler checks.
    steps[-1], colon, modifier = steps[-1].partition(":")
    if colon and modifier not in MODIFIERS:
        raise FilterError(f"unknown modifier in {_echo(token)}.", token.position)
    _check_steps(token, steps)
    return Identifier(tuple(steps), modifier)


def _check_steps(token: Token, steps: list[str]) -> None:
    if not all(steps) or steps[-1] in ("@", "#") or steps == ["_"]:
        raise FilterError(f"{_echo(token)} is not a name.", token.position)
    # `@request` and `@collection` do not count as steps.
    length = len(steps) - steps[0].startswith("@")
    if length > MAX_PATH_STEPS:
        raise FilterError(
            f"the path {_echo(token)} has more than {MAX_PATH_STEPS} steps.", token.position
        )


def _number(token: Token) -> int | float:
    if "." not in token.text:
        whole = int(token.text)
        if whole in _INTEGERS:
            return whole
    number = float(token.text)
    if number in (float("inf"), float("-inf")):
        raise FilterError(f"the number {_echo(token)} is too large.", token.position)
    return number


def _echo(token: Token) -> str:
    text = token.text
    if len(text) > _ECHOED_CHARACTERS:
        text = text[: _ECHOED_CHARACTERS - 1] + "…"
    return repr(text)
