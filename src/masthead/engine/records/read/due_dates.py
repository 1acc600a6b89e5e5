"""How long a guest's answer stays right while no record changes.

A rule such as `published_at <= @now` lets a record in at its date, without a change of any row. All
other conditions on the record's own fields hold until a row changes.
"""

from __future__ import annotations

from functools import lru_cache

from masthead.engine.records.filter.ast import (
    Comparison,
    Expression,
    Identifier,
    Literal,
    Macro,
    Operand,
    conjuncts,
)
from masthead.engine.records.filter.conditions import all_of
from masthead.engine.records.filter.parser import parse

_NOW = Macro("@now")


@lru_cache(maxsize=256)
def due_date(rule: str) -> str | None:
    """The field with the date at which the rule lets a record in; '' if it has no such condition.
    None if the rule depends on more than the record and such a date."""
    dates = []
    for part in conjuncts(parse(rule)) if rule else ():
        if isinstance(part, Comparison) and _is_due(part):
            assert isinstance(part.left, Identifier)
            dates.append(part.left.path[0])
        elif not is_timeless(part):
            return None
    if len(dates) > 1:
        return None
    return dates[0] if dates else ""


def without_date(rule: str) -> Expression | None:
    """The other conditions of a rule with such a date."""
    return all_of([each for each in conjuncts(parse(rule)) if is_timeless(each)])


def is_timeless(expression: Expression) -> bool:
    """Whether only the record's own fields decide. For guests, whose `@request.auth` is empty."""
    if isinstance(expression, Comparison):
        return _is_constant(expression.left) and _is_constant(expression.right)
    return all(map(is_timeless, expression.items))


def _is_constant(operand: Operand) -> bool:
    if isinstance(operand, Identifier):
        # A path may enter another collection, whose rule has a date of its own.
        return len(operand.path) == 1 or operand.path[:2] == ("@request", "auth")
    return isinstance(operand, Literal)


def _is_due(part: Comparison) -> bool:
    is_field = isinstance(part.left, Identifier) and len(part.left.path) == 1
    return is_field and part.op == "<=" and part.right == _NOW
