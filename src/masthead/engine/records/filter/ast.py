"""The tree of a parsed filter, which the compiler turns into a WHERE clause.

`And` and `Or` have at least two items and none of their own kind: redundant parentheses are
dropped.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

LiteralValue: TypeAlias = str | int | float | bool | None


class Literal(msgspec.Struct, frozen=True):
    value: LiteralValue

    # In Python 1, 1.0 and True are equal, but trees that hold them are not.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


class Identifier(msgspec.Struct, frozen=True):
    """A field, a relation path or an `@request` path; `modifier` is what follows the colon."""

    path: tuple[str, ...]
    modifier: str = ""


class Macro(msgspec.Struct, frozen=True):
    """A date or a part of one whose value is set when the query runs, such as `@now`."""

    name: str


class Function(msgspec.Struct, frozen=True):
    name: str
    arguments: tuple[Operand, ...]


class Comparison(msgspec.Struct, frozen=True):
    left: Operand
    op: str
    right: Operand


class And(msgspec.Struct, frozen=True):
    items: tuple[Expression, ...]


class Or(msgspec.Struct, frozen=True):
    items: tuple[Expression, ...]


Operand: TypeAlias = Literal | Identifier | Macro | Function
Expression: TypeAlias = Comparison | And | Or


def comparisons(expression: Expression) -> int:
    if isinstance(expression, Comparison):
        return 1
    return sum(map(comparisons, expression.items))


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """The conditions that must all hold, with nested `And`s flattened."""
    if not isinstance(expression, And):
        return (expression,)
    return tuple(part for item in expression.items for part in conjuncts(item))
