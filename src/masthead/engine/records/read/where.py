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
from masthead.engine.records.collection import TENANT_ID, Collection, Pointer
from masthead.engine.records.derived.list_items import has_item, is_item_lookup, item_rows
from masthead.engine.records.fields.base import Access, Field
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.relation_list import RelationList
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
from masthead.engine.records.filter.parser import MAX_RELATIONS, parse
from masthead.engine.records.read.comparisons import CAST_TO_TEXT, Comparisons
from masthead.engine.records.read.joins import (
    Group,
    Joins,
    TableRef,
    grouped,
    points_at,
    shown_columns,
)
from masthead.engine.records.read.operands import Operand, is_document, is_long, is_nullable
from masthead.engine.records.read.sorting import SortKey
from masthead.engine.records.registry import Registry
from masthead.storage import dialects, json_values
from masthead.storage.distances import geo_distance

AUTH_NAMES = ("id", "email", "collectionName", "collectionId", "tenant_id")
LOWER, LENGTH, EACH = "lower", "length", "each"
GEO_DISTANCE = "geoDistance"
NUMBER_MACROS = frozenset({"second", "minute", "hour", "weekday", "day", "month", "year"})


class WhereCompiler:
    """Compiles the expressions of one statement and collects their slots."""

    def __init__(self, registry: Registry, tables: Mapping[str, sa.Table], access: Access) -> None:
        self.registry = registry
        self.tables = tables
        self.access = access
        self.comparisons = Comparisons()
        self.driving: tuple[Expression, FromClause] | None = None
        """The condition that the driving table of list items serves, and that table."""
        self.has_stored_items = True
        """Whether the records of the statement are stored, with the items of their lists."""
        self._position = 0
        self._constant = False
        self._joins = Joins()
        self._is_sorting = False

    def filter(self, expression: Expression, ref: TableRef) -> ColumnElement[bool]:
        """A client's filter: literals become slots, and hidden fields are unknown."""
        return self._whole(expression, ref)

    def rule(self, collection: Collection, table: FromClause) -> ColumnElement[bool] | None:
        """The collection's read rule on that table; None where none applies to the caller."""
        rule = collection.rules_for(self.access).read
        assert rule is not None
        return self.trusted(rule, TableRef(collection, table)) if rule else None

    def trusted(self, rule: str | Expression, ref: TableRef) -> ColumnElement[bool]:
        """An access rule: literals are constants and every field may be named."""
        access, constant = self.access, self._constant
        self.access, self._constant = Access.PLATFORM, True
        try:
            return self._whole(parse(rule) if isinstance(rule, str) else rule, ref)
        finally:
            self.access, self._constant = access, constant

    def sort_keys(self, key: SortKey, ref: TableRef) -> list[ColumnElement[Any]]:
        """Sorts by the first item of a list, and by the smallest value of a back-relation. As in
        PocketBase, a modifier that does not fit the field is ignored."""
        outer, self._joins, self._is_sorting = self._joins, Joins(), True
        operand = self._path(key.path, ref, key.modifier)
        joins, self._joins, self._is_sorting = self._joins, outer, False
        self.comparisons.is_slow |= operand.is_long or operand.is_many
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
        outer, alone, groups = self._joins, list[ColumnElement[bool]](), list[Group]()
        for part in conjuncts(expression):
            self._joins = Joins(known=[each.joins for each in groups])
            condition = self._expression(part, ref)
            if self._joins:
                groups = grouped(groups, Group(self._joins, [condition]))
            else:
                alone.append(condition)
        self._joins = outer
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
        field = self._field(ref, node.left.path[0], node.left.path).name
        value = self.comparisons.text(self._operand(node.right, ref))
        if self.driving and self.driving[0] is node:
            return item_rows(self.driving[1], ref.collection, field, value)
        return has_item(ref.collection, ref.table, field, value)

    def _any_failing(self, node: Comparison, op: str, ref: TableRef) -> ColumnElement[bool]:
        """Without `?` every value must match, each of one side with each of the other, in rows of
        their own. A comparison with NULL is no failure."""
        outer = self._joins
        self._joins = Joins()
        self._is_sorting = False
        left = self._operand(node.left, ref)
        left_joins, self._joins = self._joins, Joins()
        right = self._operand(node.right, ref)
        rows, self._joins = left_joins.cross_joined(self._joins), outer
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
        return self._path(node.path, ref, node.modifier)

    def _path(self, path: tuple[str, ...], ref: TableRef, modifier: str = "") -> Operand:
        """Resolves `post_id.title` or `comments_via_post_id.body` to a column."""
        is_many = self._is_many(path, ref) or (modifier == EACH and not self._is_sorting)
        origin, walk = ref, _JoinPath(is_many)
        for index, name in enumerate(path[:-1]):
            step = self._step(ref, name, path, walk)
            if step is None:
                if modifier:
                    raise _unfit(path, modifier)
                return self._json_path(ref, path, index, origin, walk=walk)
            if index == MAX_RELATIONS:
                raise BadRequest(
                    f"The path {_shown(path)} follows more than {MAX_RELATIONS} relations."
                )
            ref = step
        field = self._field(ref, path[-1], path)
        if field.kind == "json" and not modifier:
            return self._json_path(ref, path, len(path) - 1, origin, walk=walk)
        shown = shown_columns(ref.collection, ref.table, self.access <= Access.SITE)
        column = shown.get(field.name, ref.table.c[field.name])
        self.comparisons.is_slow |= is_document(field)
        operand = Operand(column, field.kind, is_nullable(field), is_long=is_long(field))
        if modifier:
            operand = self._modified(operand, modifier, path, ref, walk=walk)
        return operand if operand.is_many else _at_end(operand, origin, ref, walk)

    def _modified(
        self,
        operand: Operand,
        modifier: str,
        path: tuple[str, ...],
        ref: TableRef,
        *,
        walk: _JoinPath,
    ) -> Operand:
        if modifier == LOWER and operand.kind in ("text", "address", "relation"):
            lowered = sa.func.lower(operand.sql)
            return replace(operand, sql=lowered, kind="text", has_own_type=True)
        if operand.kind != "list" or modifier not in (LENGTH, EACH):
            if self._is_sorting:
                return operand
            raise _unfit(path, modifier)
        assert operand.sql is not None
        if modifier == LENGTH:
            length = json_values.json_length(operand.sql)
            text = sa.cast(length, sa.Text())
            return Operand(text, "value", number=length, string=sa.cast(sa.null(), sa.Text()))
        if self._is_sorting:
            return Operand(_first_item(operand.sql), "text", nullable=True)
        return self._elements(operand.sql, (*walk.path, f"{path[-1]}:{EACH}"), ref)

    def _elements(
        self, column: ColumnElement[Any], path: tuple[str, ...], ref: TableRef
    ) -> Operand:
        """One row for each element of a list, and an empty one if it has none."""
        self.comparisons.is_slow = True
        known = self._joins.find(path)
        table = known.ref.table if known else json_values.json_elements(column)
        if known is None:
            self._joins.add(path, TableRef(ref.collection, table), sa.true())
        text = json_values.element_text(table)
        return Operand(text, "text", may_be_missing=True, is_many=True, has_own_type=True)

    def _is_many(self, path: tuple[str, ...], ref: TableRef) -> bool:
        collection = ref.collection
        for name in path[:-1]:
            field = collection.by_name.get(name)
            if isinstance(field, RelationList) and not self._is_sorting:
                return True
            if not isinstance(field, Relation | RelationList):
                return self.registry.back_relation(collection, name) is not None
            collection = self.registry[field.to]
        return False

    def _step(
        self, ref: TableRef, name: str, path: tuple[str, ...], walk: _JoinPath
    ) -> TableRef | None:
        field = ref.collection.by_name.get(name)
        walk.path = (*walk.path, name)
        if isinstance(field, Relation | RelationList) and field.read <= self.access:
            return self._forward(ref, field, path, walk)
        back = self.registry.back_relation(ref.collection, name)
        if back is None or back[1].read > self.access:
            return None
        return self._backward(ref, *back, path, walk=walk)

    def _forward(
        self, ref: TableRef, relation: Pointer, path: tuple[str, ...], walk: _JoinPath
    ) -> TableRef:
        target = self._enter(relation.to, path)
        if self._is_sorting and isinstance(relation, RelationList):
            first = _first_item(ref.table.c[relation.name])
            conditions = [first == target.table.c.id]
        else:
            conditions = [points_at(ref, relation, target)]
        if relation is not TENANT_ID:
            conditions.append(target.table.c.tenant_id == ref.table.c.tenant_id)
        return self._join(target, conditions, walk)

    def _backward(
        self,
        ref: TableRef,
        source: Collection,
        relation: Pointer,
        path: tuple[str, ...],
        *,
        walk: _JoinPath,
    ) -> TableRef:
        target = self._enter(source.name, path)
        conditions = [
            target.table.c.tenant_id == ref.table.c.tenant_id,
            points_at(target, relation, ref),
        ]
        return self._join(target, conditions, walk)

    def _enter(self, name: str, path: tuple[str, ...]) -> TableRef:
        collection = self.registry[name]
        if collection.rules_for(self.access).read is None:
            raise _unknown(path)
        return TableRef(collection, self.tables[name].alias())

    def _join(
        self, target: TableRef, conditions: list[ColumnElement[bool]], walk: _JoinPath
    ) -> TableRef:
        if walk.is_many and (known := self._joins.find(walk.path)):
            return known.ref
        rule = self.rule(target.collection, target.table)
        if rule is not None:
            conditions.append(rule)
        if walk.is_many:
            self._joins.add(walk.path, target, sa.and_(*conditions))
        else:
            walk.rows.append(target.table)
            walk.conditions.extend(conditions)
        return target

    def _field(self, ref: TableRef, name: str, path: tuple[str, ...]) -> Field:
        field = ref.collection.by_name.get(name)
        if field is None or field.read > self.access:
            raise _unknown(path)
        return field

    def _json_path(
        self, ref: TableRef, path: tuple[str, ...], index: int, origin: TableRef, *, walk: _JoinPath
    ) -> Operand:
        """`content_json.type`: the path goes on inside a JSON document. At its end, it is the
        whole document."""
        field = self._field(ref, path[index], path)
        if field.kind not in ("json", "list"):
            raise _unknown(path)
        steps = [
            int(step) if step.isascii() and step.isdigit() else step for step in path[index + 1 :]
        ]
        try:
            inside = sa.literal(json_values.json_path(*steps))
        except ValueError:
            raise _unknown(path) from None
        document = ref.table.c[field.name]
        # The database parses the whole document.
        self.comparisons.is_slow |= is_document(field)
        operand = Operand(
            json_values.json_text(document, inside),
            "value",
            number=json_values.json_number(document, inside),
            string=json_values.json_string(document, inside),
            is_long=is_long(field),
        )
        return _at_end(operand, origin, ref, walk)


def _ordered(
    sql: ColumnElement[Any], *, descending: bool, has_null: bool = True
) -> ColumnElement[Any]:
    key = sql.desc() if descending else sql.asc()
    if not has_null:
        return key
    # An empty value comes before all others on either database.
    return key.nulls_last() if descending else key.nulls_first()


def _first_item(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return json_values.json_text(column, sa.literal(json_values.json_path(0)))


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


class _JoinPath:
    """The state of resolving a path: the tables and conditions of a single value's subquery. The
    tables of many values are in the `Joins` that all such paths share."""

    def __init__(self, is_many: bool) -> None:
        self.is_many = is_many
        self.path: tuple[str, ...] = ()
        self.rows: list[FromClause] = []
        self.conditions: list[ColumnElement[bool]] = []


def _at_end(operand: Operand, origin: TableRef, ref: TableRef, walk: _JoinPath) -> Operand:
    """One value per record becomes a subquery; many values are columns of the joined rows."""
    if not walk.path or ref is origin:
        return operand
    if operand.kind == "value":
        return _value_at_end(operand, origin, walk)
    assert operand.sql is not None
    sql: ColumnElement[Any] = operand.sql
    nullable = operand.nullable and operand.kind in CAST_TO_TEXT
    if operand.nullable and not nullable:
        # NULL is the empty value if the record exists.
        sql = sa.func.coalesce(sql, "")
        if walk.is_many:
            sql = sa.case((ref.table.c.id.is_not(None), sql))
    if not walk.is_many:
        value = sa.select(sql).select_from(*walk.rows).where(*walk.conditions)
        sql = value.correlate(origin.table).scalar_subquery()
    return replace(operand, sql=sql, nullable=nullable, may_be_missing=True, is_many=walk.is_many)


def _value_at_end(operand: Operand, origin: TableRef, walk: _JoinPath) -> Operand:
    if walk.is_many:
        return replace(operand, is_many=True)

    def of_record(sql: ColumnElement[Any] | None) -> ColumnElement[Any]:
        assert sql is not None
        value = sa.select(sql).select_from(*walk.rows).where(*walk.conditions)
        return value.correlate(origin.table).scalar_subquery()

    return replace(
        operand,
        sql=of_record(operand.sql),
        number=of_record(operand.number),
        string=of_record(operand.string),
    )


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
    raise _unknown(path)


def _unknown(path: tuple[str, ...]) -> BadRequest:
    return BadRequest(f"Unknown field {_shown(path)}.")


def _unfit(path: tuple[str, ...], modifier: str) -> BadRequest:
    takes = _TAKEN_BY.get(modifier)
    if takes is None:
        return BadRequest(f"The modifier :{modifier[:40]} is not supported in filters.")
    return BadRequest(f"The modifier :{modifier} is for {takes}, which {_shown(path)} is not.")


_TAKEN_BY = {LOWER: "texts", LENGTH: "lists", EACH: "lists"}


def _shown(path: tuple[str, ...]) -> str:
    return ".".join(path)[:60]
