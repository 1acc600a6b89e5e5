"""Filters of the list of collections. Collections are declared in the program, so no database can
compare them; the comparisons are those that SQLite makes for PocketBase."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from masthead.base.errors import BadRequest
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
from masthead.engine.records.filter.parser import parse
from masthead.engine.records.read.context import macro_value
from masthead.faces.record_api.schema import Shape
from masthead.storage.dialects import like_pattern
from masthead.storage.sqlite.patterns import is_like

NAMES: Final = ("id", "name", "type", "system", "created", "updated")


class _Value(NamedTuple):
    value: str | float | None
    is_field: bool = False


def matching(shapes: Sequence[Shape], text: str, now: datetime) -> list[Shape]:
    """Raises `BadRequest` for a filter that can't be read, or of anything but `NAMES`."""
    expression = parse(text)
    return [shape for shape in shapes if _holds(expression, shape, now)]


def _holds(node: Expression, shape: Shape, now: datetime) -> bool:
    if isinstance(node, And | Or):
        # All of them, so that a wrong name is refused wherever it is.
        parts = [_holds(each, shape, now) for each in node.items]
        return all(parts) if isinstance(node, And) else any(parts)
    return _compare(node, _value(node.left, shape, now), _value(node.right, shape, now))


def _value(node: Node, shape: Shape, now: datetime) -> _Value:
    if isinstance(node, Literal):
        return _Value(int(node.value) if isinstance(node.value, bool) else node.value)
    if isinstance(node, Macro):
        return _Value(macro_value(node.name.removeprefix("@"), now))
    if not isinstance(node, Identifier) or node.modifier or ".".join(node.path) not in NAMES:
        raise BadRequest(f"Filter collections by one of: {', '.join(NAMES)}.")
    found: Any = shape[node.path[0]]
    return _Value(int(found) if isinstance(found, bool) else found, is_field=True)


def _compare(node: Comparison, left: _Value, right: _Value) -> bool:
    sign = node.op.removeprefix("?")
    if sign in ("~", "!~"):
        if left.value is None or right.value is None:
            return False
        return is_like(str(left.value), like_pattern(str(right.value))) is (sign == "~")
    a: Any = _with_affinity(left, right)
    b: Any = _with_affinity(right, left)
    if sign in ("=", "!="):
        same: bool = ("" if a is None else a) == ("" if b is None else b)
        return same is (sign == "=")
    if a is None or b is None:
        return False
    # Any number comes before any text.
    first, second = ((isinstance(each, str), each) for each in (a, b))
    if first == second:
        return sign in ("<=", ">=")
    is_less: bool = first < second
    return is_less is sign.startswith("<")


def _with_affinity(value: _Value, other: _Value) -> str | float | None:
    """A literal next to a field is converted to the field's type, if it can be."""
    if value.is_field or not other.is_field or value.value is None:
        return value.value
    if isinstance(other.value, str):
        return str(value.value)
    try:
        return float(value.value)
    except ValueError:
        return value.value
