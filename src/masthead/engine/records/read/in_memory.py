"""Filters of values that no database holds: the declared collections, the payload of an event. The
comparisons are those that SQLite makes for PocketBase."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from masthead.engine.records.filter.ast import (
    And,
    Comparison,
    Expression,
    Identifier,
    Literal,
    Macro,
    Or,
)
from masthead.engine.records.filter.ast import Operand as Node
from masthead.engine.records.read.context import macro_value
from masthead.storage.dialects import like_pattern
from masthead.storage.sqlite.patterns import is_like

ValueOf = Callable[[Identifier], Any]
"""The value of a field as JSON has it; None where there is none."""


class _Value(NamedTuple):
    value: Any
    is_field: bool = False
    is_flag: bool = False
    """A literal `true` or `false`, which is stored as a digit."""


def holds(node: Expression, value_of: ValueOf, now: datetime) -> bool:
    """Raises `TimeoutError` for a pattern that takes too long."""
    if isinstance(node, And):
        return all(holds(each, value_of, now) for each in node.items)
    if isinstance(node, Or):
        return any(holds(each, value_of, now) for each in node.items)
    left, right = _value(node.left, value_of, now), _value(node.right, value_of, now)
    if node.op.startswith("?"):
        sign = node.op[1:]
        return any(_test(a, sign, b) for a in _elements(left) for b in _elements(right))
    return _test(left, node.op, right)


def operands(node: Expression) -> Iterator[Node]:
    """All of a filter, from left to right, so that a wrong name is refused wherever it is."""
    if isinstance(node, Comparison):
        yield from (node.left, node.right)
        return
    for each in node.items:
        yield from operands(each)


def _value(node: Node, value_of: ValueOf, now: datetime) -> _Value:
    if isinstance(node, Literal):
        if isinstance(node.value, bool):
            return _Value(int(node.value), is_flag=True)
        return _Value(node.value)
    if isinstance(node, Macro):
        return _Value(macro_value(node.name.removeprefix("@"), now))
    assert isinstance(node, Identifier)
    return _Value(value_of(node), is_field=True)


def _elements(value: _Value) -> list[_Value]:
    """`tags ?= 'news'` compares the elements of a list; without `?` a list is its JSON text."""
    if not isinstance(value.value, list):
        return [value]
    return [value._replace(value=each) for each in value.value]


def _test(left: _Value, sign: str, right: _Value) -> bool:
    left, right = _plain(left), _plain(right)
    if sign in ("~", "!~"):
        return _is_like(left, right) is (sign == "~")
    a, b = _with_affinity(left, right), _with_affinity(right, left)
    if sign in ("=", "!="):
        same: bool = _or_empty(a, right) == _or_empty(b, left)
        return same is (sign == "=")
    if a is None or b is None:
        return False
    # Any number comes before any text.
    first, second = ((isinstance(each, str), each) for each in (a, b))
    if first == second:
        return sign in ("<=", ">=")
    is_less: bool = first < second
    return is_less is sign.startswith("<")


def _plain(value: _Value) -> _Value:
    if isinstance(value.value, bool):
        return value._replace(value=int(value.value))
    if isinstance(value.value, list | dict):
        return value._replace(value=msgspec.json.encode(value.value).decode())
    return value


def _is_like(left: _Value, right: _Value) -> bool | None:
    if left.value is None or right.value is None:
        return None
    text = str(right.value)
    if right.is_field:
        # Only a literal may hold wildcards.
        text = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return is_like(str(left.value), f"%{text}%")
    return is_like(str(left.value), like_pattern(text))


def _or_empty(value: Any, other: _Value) -> Any:
    """A missing value is the empty text, and false."""
    return (0 if other.is_flag else "") if value is None else value


def _with_affinity(value: _Value, other: _Value) -> Any:
    """A literal next to a field is converted to the field's type, if it can be."""
    if value.is_field or not other.is_field or value.value is None or other.value is None:
        return value.value
    if isinstance(other.value, str):
        return str(value.value)
    try:
        return float(value.value)
    except ValueError:
        return value.value
