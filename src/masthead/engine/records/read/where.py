"""Compiles a filter's expression into a WHERE clause with bound parameters.

No text of a filter reaches SQL: names are looked up in the collections' declarations and values
become parameters. A field that the caller can't read is treated as one that does not exist, and
each step of a relation path applies the read rule of the collection it enters. So no filter, sort
or total reveals what a list would not show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.selectable import FromClause

from masthead.base.errors import BadRequest
from masthead.engine.records.collection import Collection
from masthead.engine.records.derived.list_items import has_item, is_item_lookup, item_rows
from masthead.engine.records.fields.base import Access
from masthead.engine.records.filter.ast import (
    And,
    Comparison,
    Expression,
    Function,
    Identifier,
    Literal,
    Macro,
    Or,
    conjuncts,
)
from masthead.engine.records.filter.ast import Operand as Node
from masthead.engine.records.filter.parser import parse
from masthead.engine.records.read.comparisons import CAST_TO_TEXT, Comparisons
from masthead.engine.records.read.joins import (
    Group,
    Joins,
    TableRef,
    grouped,
)
from masthead.engine.records.read.operands import Operand
from masthead.engine.records.read.paths import Paths, unknown_field
from masthead.engine.records.read.sorting import SortKey
from masthead.engine.records.registry import Registry
from masthead.storage import dialects, json_values
from masthead.storage.distances import geo_distance

AUTH_NAMES = ("id", "email", "collectionName", "collectionId", "tenant_id")
GEO_DISTANCE = "geoDistance"
NUMBER_MACROS = frozenset({"second", "minute", "hour", "weekday", "day", "month", "year"})


class WhereCompiler:
    """Compiles the expressions of one statement and collects their slots."""

    def __init__(self, registry: Registry, tables: Mapping[str, sa.Table], access: Access) -> None:
        self.comparisons = Comparisons()
        self.driving: tuple[Expression, FromClause] | None = None
        """The condition that the driving table of list items serves, and that table."""
        self.has_stored_items = True
        """Whether the records of the statement are stored, with the items of their lists."""
        self._position = 0
        self._constant = False
        self._paths = Paths(registry, tables, access, self.rule)

    @property
    def is_slow(self) -> bool:
        return self.comparisons.is_slow or self._paths.is_slow

    def filter(self, expression: Expression, ref: TableRef) -> ColumnElement[bool]:
        """A client's filter: literals become slots, and hidden fields are unknown."""
        return self._whole(expression, ref)

    def rule(self, collection: Collection, table: FromClause) -> ColumnElement[bool] | None:
        """The collection's read rule on that table; None where none applies to the caller."""
        rule = collection.rules_for(self._paths.access).read
        assert rule is not None
        return self.trusted(rule, TableRef(collection, table)) if rule else None

    def trusted(self, rule: str | Expression, ref: TableRef) -> ColumnElement[bool]:
        """An access rule: literals are constants and every field may be named."""
        paths = self._paths
        access, constant = paths.access, self._constant
        paths.access, self._constant = Access.PLATFORM, True
        try:
            return self._whole(parse(rule) if isinstance(rule, str) else rule, ref)
        finally:
            paths.access, self._constant = access, constant

    def sort_keys(self, key: SortKey, ref: TableRef) -> list[ColumnElement[Any]]:
        """Sorts by the first item of a list, and by the smallest value of a back-relation. As in
        PocketBase, a modifier that does not fit the field is ignored."""
        paths = self._paths
        outer, paths.joins, paths.is_sorting = paths.joins, Joins(), True
        operand = paths.operand(key.path, ref, key.modifier)
        joins, paths.joins, paths.is_sorting = paths.joins, outer, False
        paths.is_slow |= operand.is_long or operand.is_many
        if operand.is_many:
            operand = _smallest(operand, joins, ref)
        if operand.kind == "value":
            return _value_order(operand, descending=key.descending)
        assert operand.sql is not None
        has_null = operand.nullable or operand.may_be_missing
        return [_ordered(operand.sql, descending=key.descending, has_null=has_null)]

    def _whole(self, expression: Expression, ref: TableRef) -> ColumnElement[bool]:
        """A whole filter or rule. Conditions over the same back-relation share a joined row, as in
        PocketBase. The others stay outside the joins, where indexes can serve them."""
        paths = self._paths
        outer, alone, groups = paths.joins, list[ColumnElement[bool]](), list[Group]()
        for part in conjuncts(expression):
            paths.joins = Joins(known=[each.joins for each in groups])
            condition = self._expression(part, ref)
            if paths.joins:
                groups = grouped(groups, Group(paths.joins, [condition]))
            else:
                alone.append(condition)
        paths.joins = outer
        joined = (each.joins.any_row(sa.and_(*each.conditions), ref) for each in groups)
        return sa.and_(*alone, *joined)

    def _expression(self, node: Expression, ref: TableRef) -> ColumnElement[bool]:
        if isinstance(node, And):
            return sa.and_(*(self._expression(item, ref) for item in node.items))
        if isinstance(node, Or):
            return sa.or_(*(self._expression(item, ref) for item in node.items))
        return self._comparison(node, ref)

    def _comparison(self, node: Comparison, ref: TableRef) -> ColumnElement[bool]:
        if self.has_stored_items and is_item_lookup(ref.collection, node):
            return self._item(node, ref)
        position = self._position
        left = self._operand(node.left, ref)
        right = self._operand(node.right, ref)
        any_match = node.op.startswith("?")
        op = node.op.removeprefix("?")
        test = self._over_elements(left, op, right, any_match)
        if any_match or not (left.is_many or right.is_many):
            return test
        # The node is compiled a second time: its literals keep their positions.
        self._position = position
        return sa.and_(test, sa.not_(self._any_failing(node, op, ref)))

    def _item(self, node: Comparison, ref: TableRef) -> ColumnElement[bool]:
        assert isinstance(node.left, Identifier)
        field = self._paths.field(ref, node.left.path[0], node.left.path).name
        value = self.comparisons.text(self._operand(node.right, ref))
        if self.driving and self.driving[0] is node:
            return item_rows(self.driving[1], ref.collection, field, value)
        return has_item(ref.collection, ref.table, field, value)

    def _any_failing(self, node: Comparison, op: str, ref: TableRef) -> ColumnElement[bool]:
        """Without `?` every value must match, each of one side with each of the other, in rows of
        their own. A comparison with NULL is no failure."""
        paths = self._paths
        outer, paths.joins, paths.is_sorting = paths.joins, Joins(), False
        left = self._operand(node.left, ref)
        left_joins, paths.joins = paths.joins, Joins()
        right = self._operand(node.right, ref)
        rows, paths.joins = left_joins.cross_joined(paths.joins), outer
        return rows.any_row(sa.not_(self._test(left, op, right)), ref)

    def _over_elements(
        self, left: Operand, op: str, right: Operand, any_match: bool
    ) -> ColumnElement[bool]:
        """`tags ?= 'news'` compares the list's elements; without `?` a list is its JSON text."""
        if any_match and left.kind == "list" and left.sql is not None:
            return json_values.json_any(
                left.sql, lambda element: self._test(Operand(element, "text"), op, right)
            )
        if any_match and right.kind == "list" and right.sql is not None:
            return json_values.json_any(
                right.sql, lambda element: self._test(left, op, Operand(element, "text"))
            )
        return self._test(left, op, right)

    def _test(self, left: Operand, op: str, right: Operand) -> ColumnElement[bool]:
        return self.comparisons.test(left, op, right, constant=self._constant)

    def _operand(self, node: Node, ref: TableRef) -> Operand:
        if isinstance(node, Literal):
            return self._literal(node.value)
        if isinstance(node, Macro):
            return _macro(node.name)
        if isinstance(node, Function):
            return self._distance(node, ref)
        return self._identifier(node, ref)

    def _distance(self, node: Function, ref: TableRef) -> Operand:
        """`geoDistance(lonA, latA, lonB, latB)`: kilometres."""
        if node.name != GEO_DISTANCE:
            raise BadRequest(f"The function {node.name[:40]} is not supported in filters.")
        if len(node.arguments) != 4:
            raise BadRequest(f"{GEO_DISTANCE} takes four numbers: lonA, latA, lonB, latB.")
        given = [self._coordinate(each, ref) for each in node.arguments]
        distance = geo_distance(*(self.comparisons.as_number(each) for each in given))
        return Operand(
            sa.cast(distance, sa.Text()),
            "value",
            number=distance,
            string=sa.cast(sa.null(), sa.Text()),
            is_many=any(each.is_many for each in given),
        )

    def _coordinate(self, node: Node, ref: TableRef) -> Operand:
        operand = self._operand(node, ref) if not isinstance(node, Function) else None
        if operand is None or not (operand.kind in ("number", "flag", "value") or operand.is_null):
            raise BadRequest(f"{GEO_DISTANCE} takes numbers, and fields that hold them.")
        return operand

    def _literal(self, value: Any) -> Operand:
        kind = "flag" if isinstance(value, bool) else "text"
        if isinstance(value, int | float) and not isinstance(value, bool):
            kind = "number"
        if value is None or isinstance(value, bool):
            return Operand(None, kind, literal=value)
        position = -1 if self._constant else self._position
        self._position += 0 if self._constant else 1
        return Operand(None, kind, literal=value, position=position)

    def _identifier(self, node: Identifier, ref: TableRef) -> Operand:
        if node.path[0].startswith("@") and not node.modifier:
            return _request_value(node.path)
        return self._paths.operand(node.path, ref, node.modifier)


def _ordered(
    sql: ColumnElement[Any], *, descending: bool, has_null: bool = True
) -> ColumnElement[Any]:
    key = sql.desc() if descending else sql.asc()
    if not has_null:
        return key
    # An empty value comes before all others on either database.
    return key.nulls_last() if descending else key.nulls_first()


def _smallest(operand: Operand, joins: Joins, ref: TableRef) -> Operand:
    if operand.kind == "value":
        assert operand.number is not None
        assert operand.string is not None
        number, string = joins.smallest(operand.number, ref), joins.smallest(operand.string, ref)
        return replace(operand, sql=string, number=number, string=string, is_many=False)
    assert operand.sql is not None
    sql = operand.sql
    if operand.kind == "flag":
        # PostgreSQL has no smallest boolean.
        sql = sa.case((sql.is_(sa.true()), sa.literal_column("1")), else_=sa.literal_column("0"))
    elif operand.kind in CAST_TO_TEXT and operand.kind != "number":
        sql = sa.cast(sql, sa.Text())
    return replace(operand, sql=joins.smallest(sql, ref), is_many=False, may_be_missing=True)


def _value_order(operand: Operand, *, descending: bool) -> list[ColumnElement[Any]]:
    """Missing values, then numbers, then texts."""
    assert operand.number is not None
    assert operand.string is not None
    is_text = operand.string.is_not(None)
    keys = (is_text, operand.number, operand.string)
    return [_ordered(each, descending=descending) for each in keys]


def _macro(name: str) -> Operand:
    name = name.removeprefix("@")
    if name in NUMBER_MACROS:
        return Operand(
            sa.cast(sa.bindparam(f"macro_{name}", required=True), dialects.Real()), "number"
        )
    return Operand(sa.cast(sa.bindparam(f"macro_{name}", required=True), sa.Text()), "date")


def _request_value(path: tuple[str, ...]) -> Operand:
    if len(path) == 3 and path[:2] == ("@request", "auth") and path[2] in AUTH_NAMES:
        return Operand(sa.cast(sa.bindparam(f"auth_{path[2]}", required=True), sa.Text()), "text")
    raise unknown_field(path)
