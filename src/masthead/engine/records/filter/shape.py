"""The shape of a filter: the filter without its values. Statements are cached by it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

from masthead.engine.records.filter.ast import (
    And,
    Comparison,
    Expression,
    Identifier,
    Literal,
    LiteralValue,
    Macro,
    Operand,
)
from masthead.storage.dialects import has_wildcard

Values: TypeAlias = tuple[str | int | float, ...]


def shape(expression: Expression) -> tuple[Hashable, Values]:
    """The expression with a slot for each text and number, and their values from left to right.

    A slot has the type of its value (`text`, `pattern`, `empty`, `integer`, `float`), because these
    compile differently: the empty text compares as null, and a wildcard needs LIKE.
    Booleans, nulls and macros belong to the shape and are not among the values.
    """
    values: list[str | int | float] = []
    return _of_expression(expression, values), tuple(values)


def _of_expression(node: Expression, values: list[str | int | float]) -> Hashable:
    if isinstance(node, Comparison):
        return (node.op, _of_operand(node.left, values), _of_operand(node.right, values))
    joined = "&&" if isinstance(node, And) else "||"
    return (joined, *[_of_expression(item, values) for item in node.items])


def _of_operand(node: Operand, values: list[str | int | float]) -> Hashable:
    if isinstance(node, Identifier):
        return ("field", node.path, node.modifier)
    if isinstance(node, Literal):
        return _of_literal(node.value, values)
    if isinstance(node, Macro):
        return ("macro", node.name)
    return ("call", node.name, *[_of_operand(argument, values) for argument in node.arguments])


def _of_literal(value: LiteralValue, values: list[str | int | float]) -> Hashable:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    values.append(value)
    if isinstance(value, str):
        if not value:
            return "empty"
        return "pattern" if has_wildcard(value) else "text"
    return "integer" if isinstance(value, int) else "float"
