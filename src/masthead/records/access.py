"""Access checks that need no record: whether a rule is locked, or excludes the caller by id."""

from __future__ import annotations

from functools import lru_cache

from masthead.caller import Caller, Kind
from masthead.errors import Forbidden, NotFound, Unauthenticated
from masthead.records.filter.ast import Comparison, Identifier, Literal, Operand, conjuncts
from masthead.records.filter.parser import parse


def allow(caller: Caller, rule: str | None) -> None:
    """Refuses where the rule is locked."""
    if rule is not None:
        return
    if caller.kind is Kind.GUEST:
        raise Unauthenticated
    raise Forbidden("Only administrators can perform this action.")


def allow_record(caller: Caller, rule: str | None, record_id: str) -> None:
    """Refuses what the rule excludes by the caller and the id alone. The query checks what depends
    on the record's other fields."""
    allow(caller, rule)
    if not rule:
        return
    known = {
        ("@request", "auth", "id"): caller.id,
        ("@request", "auth", "collectionName"): caller.collection,
        ("id",): record_id,
    }
    for left, right in _equalities(rule):
        values = {_value(left, known), _value(right, known)}
        if None not in values and len(values) > 1:
            raise NotFound


@lru_cache(maxsize=256)
def _equalities(rule: str) -> tuple[tuple[Operand, Operand], ...]:
    return tuple(
        (each.left, each.right)
        for each in conjuncts(parse(rule))
        if isinstance(each, Comparison) and each.op == "="
    )


def _value(operand: Operand, known: dict[tuple[str, ...], str]) -> str | None:
    if isinstance(operand, Literal):
        return operand.value if isinstance(operand.value, str) else None
    if isinstance(operand, Identifier) and not operand.modifier:
        return known.get(operand.path)
    return None
