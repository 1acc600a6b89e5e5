"""Conditions that the service writes itself, built as trees: no text is parsed."""

from __future__ import annotations

from collections.abc import Sequence

from masthead.engine.records.filter.ast import And, Comparison, Expression, Identifier, Literal, Or

_HIGHEST_CHARACTER = "\U0010ffff"


def equals(name: str, value: str | bool) -> Expression:
    return Comparison(Identifier((name,)), "=", Literal(value))


def newer(name: str, moment: str) -> Expression:
    return Comparison(Identifier((name,)), ">", Literal(moment))


def begins_with(name: str, value: str) -> Expression:
    last = Comparison(Identifier((name,)), "<", Literal(f"{value}{_HIGHEST_CHARACTER}"))
    return And((Comparison(Identifier((name,)), ">=", Literal(value)), last))


def has_item(name: str, value: str) -> Expression:
    return Comparison(Identifier((name,)), "?=", Literal(value))


def all_of(conditions: Sequence[Expression]) -> Expression | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return And(tuple(conditions))


def any_of(conditions: Sequence[Expression]) -> Expression | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return Or(tuple(conditions))
