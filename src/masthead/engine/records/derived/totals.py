"""Totals from counters instead of COUNT(*): which lists have one, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

import msgspec
import sqlalchemy as sa

from masthead.engine.records.collection import BUCKET_SEPARATOR, Collection, Counter
from masthead.engine.records.fields.values import Flag, Select
from masthead.engine.records.filter.ast import Comparison, Expression, Identifier, Literal, Macro
from masthead.engine.records.read.operands import as_text
from masthead.engine.records.tables import record_counts
from masthead.storage import dialects


class Fixed(msgspec.Struct, frozen=True):
    """The value that a condition requires of a field: a rule's constant or a filter's literal."""

    constant: str = ""
    position: int = -1
    flag: bool | None = None
    """The constant as its column has it, where that is no text."""

    def stored(self, literals: tuple[Any, ...]) -> Any:
        return self.value(literals) if self.flag is None else self.flag

    def value(self, literals: tuple[Any, ...]) -> str:
        return self.constant if self.position < 0 else as_text(literals[self.position])


class TotalPlan(msgspec.Struct, frozen=True):
    """A total as the sum of some of a counter's buckets, minus the records that are not due yet."""

    counter: Counter
    fixed: Mapping[str, Fixed]
    only_due: bool
    choices: tuple[tuple[str, ...], ...]
    """The possible values of each counted field; empty if the conditions fix the value."""

    def buckets(self, literals: tuple[Any, ...]) -> list[str]:
        options = [
            (self.fixed[name].value(literals),) if name in self.fixed else choice
            for name, choice in zip(self.counter.fields, self.choices, strict=True)
        ]
        return [BUCKET_SEPARATOR.join(combination) for combination in product(*options)]

    def statement(
        self,
        collection: Collection,
        table: sa.Table,
        *,
        has_tenant: bool,
        open_sites: OpenSites,
    ) -> sa.Select[Any]:
        """Parameters: `tenant`, `buckets` (when fields are fixed), and for late ones `macro_now`
        and `fixed_<field>`."""
        counted = sa.select(sa.func.coalesce(sa.func.sum(record_counts.c.total), 0)).where(
            record_counts.c.collection == collection.name,
            record_counts.c.counter == self.counter.name,
        )
        if self.fixed:
            counted = counted.where(
                dialects.any_of(record_counts.c.bucket, sa.bindparam("buckets", required=True))
            )
        counted = _of_tenants(counted, record_counts.c.tenant_id, has_tenant, open_sites)
        total: Any = sa.cast(counted.scalar_subquery(), dialects.Integer())
        if self.only_due:
            late = _of_tenants(self._not_due(table), table.c.tenant_id, has_tenant, open_sites)
            total = total - late.scalar_subquery()
        return sa.select(total)

    def _not_due(self, table: sa.Table) -> sa.Select[Any]:
        late = sa.select(sa.func.count()).select_from(table)
        for name in self.fixed:
            late = late.where(table.c[name] == sa.bindparam(f"fixed_{name}", required=True))
        moment = table.c[self.counter.late]
        # The second condition follows from the first, because `updated` is never in the future. It
        # lets the partial index of such records serve the query.
        return late.where(
            moment > sa.bindparam("macro_now", required=True), moment > table.c.updated
        )

    def values(self, literals: tuple[Any, ...]) -> dict[str, Any]:
        return {f"fixed_{name}": fixed.stored(literals) for name, fixed in self.fixed.items()}


OpenSites = Callable[[Any], "sa.ColumnElement[bool] | None"]
"""The condition that leaves out suspended sites; None for callers who see all."""


def _of_tenants(
    query: sa.Select[Any], tenant_id: Any, has_tenant: bool, open_sites: OpenSites
) -> sa.Select[Any]:
    if has_tenant:
        return query.where(tenant_id == sa.bindparam("tenant", required=True))
    condition = open_sites(tenant_id)
    return query if condition is None else query.where(condition)


def plan_total(
    collection: Collection, rule: Iterable[Expression], wanted: Iterable[Expression]
) -> TotalPlan | None:
    """None if a condition has no counter: the rows are counted then."""
    conditions = _Conditions()
    for part in rule:
        if not conditions.add(part, constant=True):
            return None
    for part in wanted:
        if not conditions.add(part, constant=False):
            return None
    for counter in collection.counters:
        plan = _fit(collection, counter, conditions)
        if plan:
            return plan
    return None


class _Conditions:
    """A conjunction reduced to the conditions that counters support."""

    def __init__(self) -> None:
        self.fixed: dict[str, Fixed] = {}
        self.due: set[str] = set()
        self.dated: set[str] = set()
        self.each = ""
        self._position = 0

    def add(self, part: Expression, constant: bool) -> bool:
        if not isinstance(part, Comparison):
            return False
        left, right = part.left, part.right
        if not (isinstance(left, Identifier) and len(left.path) == 1 and not left.modifier):
            return False
        name = left.path[0]
        if isinstance(right, Macro):
            self.due.add(name)
            return part.op == "<=" and right.name == "@now"
        if isinstance(right, Literal) and isinstance(right.value, bool):
            # Part of the filter's shape: it has no position.
            return part.op == "=" and self._fix(name, Fixed(str(right.value), flag=right.value))
        if not isinstance(right, Literal) or not isinstance(right.value, str):
            return False
        fixed = Fixed(right.value) if constant else Fixed(position=self._position)
        self._position += 0 if constant else 1
        if part.op == "?=" and right.value != "" and not self.each:
            self.each = name
            return self._fix(name, fixed)
        if part.op == "!=" and right.value == "":
            self.dated.add(name)
            return True
        return part.op == "=" and right.value != "" and self._fix(name, fixed)

    def _fix(self, name: str, value: Fixed) -> bool:
        if name in self.fixed:
            return False
        self.fixed[name] = value
        return True


def _fit(collection: Collection, counter: Counter, conditions: _Conditions) -> TotalPlan | None:
    if counter.each != conditions.each or not conditions.fixed.keys() <= set(counter.fields):
        return None
    if not conditions.due <= {counter.late} or not conditions.dated <= {counter.late}:
        return None
    # Only some records are sure to have a date, and only for those "due" can be counted. Any other
    # combination is counted by rows.
    if conditions.dated and not conditions.due:
        return None
    name, value = counter.late_if
    if conditions.due and conditions.fixed.get(name) != Fixed(value):
        return None
    choices = tuple(
        () if name in conditions.fixed else choices_of(collection, name) for name in counter.fields
    )
    if conditions.fixed and any(
        not choice and name not in conditions.fixed
        for name, choice in zip(counter.fields, choices, strict=True)
    ):
        return None
    return TotalPlan(counter, conditions.fixed, bool(conditions.due), choices)


def choices_of(collection: Collection, name: str) -> tuple[str, ...]:
    """The values that a field may have in a bucket; none if it may have any."""
    field = collection.by_name[name]
    if isinstance(field, Flag):
        return ("True", "False")
    return (*field.values, "") if isinstance(field, Select) else ()
