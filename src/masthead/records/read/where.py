"""Turns a filter's tree into a WHERE clause of bound parameters, as far as a caller may see.

Nothing of a filter's text reaches SQL: names are looked up in the collections' declarations and
values become parameters. A field the caller can't read is as unknown here as one that does not
exist, on relation paths too, and each step of a path obeys the read rule of the collection it
enters; so no filter, sort or total can tell what a list would not show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.selectable import FromClause

from masthead.errors import BadRequest
from masthead.records.collection import TENANT_ID, Collection, Pointer, Registry
from masthead.records.derived.list_items import asks_for_item, has_item, item_rows
from masthead.records.fields.base import Access, Field
from masthead.records.fields.relation import Relation
from masthead.records.fields.relation_list import RelationList
from masthead.records.filter.ast import (
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
from masthead.records.filter.ast import Operand as Node
from masthead.records.filter.parser import parse
from masthead.records.read.joins import Group, Joins, Place, grouped, points_at
from masthead.records.read.operands import (
    Coerce,
    Operand,
    Slot,
    as_contained,
    as_flag,
    as_moment,
    as_number,
    as_pattern,
    as_text,
    is_document,
    is_long,
    is_nullable,
)
from masthead.storage import dialects

AUTH_NAMES = ("id", "email", "collectionName", "collectionId", "tenant_id")
_CAST_TO_TEXT = ("number", "json", "list")
NUMBER_MACROS = frozenset({"second", "minute", "hour", "weekday", "day", "month", "year"})


class WhereCompiler:
    """Compiles the expressions of one statement; collects the slots they need on the way."""

    def __init__(self, registry: Registry, tables: Mapping[str, sa.Table], access: Access) -> None:
        self.registry = registry
        self.tables = tables
        self.access = access
        self.slots: list[Slot] = []
        self.driving: tuple[Expression, FromClause] | None = None
        """A condition that asks for an item, and the items' rows that are walked for it."""
        self.is_slow = False
        """Looks through long texts or documents."""
        self._position = 0
        self._constant = False
        self._joins = Joins()

    def filter(self, expression: Expression, place: Place) -> ColumnElement[bool]:
        """A client's filter: literals become slots, visibility is the caller's."""
        return self._whole(expression, place)

    def rule(self, collection: Collection, table: FromClause) -> ColumnElement[bool] | None:
        """The collection's read rule on that table; None where the caller needs none."""
        rule = collection.rules_for(self.access).read
        assert rule is not None
        return self.trusted(rule, Place(collection, table)) if rule else None

    def trusted(self, rule: str, place: Place) -> ColumnElement[bool]:
        """An expression of our own: literals are constants and every field may be named."""
        access, constant = self.access, self._constant
        self.access, self._constant = Access.PLATFORM, True
        try:
            return self._whole(parse(rule), place)
        finally:
            self.access, self._constant = access, constant

    def sort_key(
        self, path: tuple[str, ...], place: Place, *, descending: bool
    ) -> ColumnElement[Any]:
        operand = self._path(path, place)
        self.is_slow |= operand.is_long
        if operand.is_many or operand.sql is None:
            raise BadRequest(f"Can't sort by {_shown(path)}: it has many values.")
        key = operand.sql.desc() if descending else operand.sql.asc()
        if not (operand.nullable or operand.may_be_missing):
            return key
        # An empty value comes before all others on either database.
        return key.nulls_last() if descending else key.nulls_first()

    def _whole(self, expression: Expression, place: Place) -> ColumnElement[bool]:
        """A filter or rule. Conditions over the same back-relation are about the same joined row,
        as in PocketBase; the others stay apart, where indexes can serve them."""
        outer, alone, groups = self._joins, list[ColumnElement[bool]](), list[Group]()
        for part in conjuncts(expression):
            self._joins = Joins(known=[each.joins for each in groups])
            condition = self._expression(part, place)
            if self._joins:
                groups = grouped(groups, Group(self._joins, [condition]))
            else:
                alone.append(condition)
        self._joins = outer
        joined = (each.joins.any_row(sa.and_(*each.conditions), place) for each in groups)
        return sa.and_(*alone, *joined)

    def _expression(self, node: Expression, place: Place) -> ColumnElement[bool]:
        if isinstance(node, And):
            return sa.and_(*(self._expression(item, place) for item in node.items))
        if isinstance(node, Or):
            return sa.or_(*(self._expression(item, place) for item in node.items))
        return self._comparison(node, place)

    def _comparison(self, node: Comparison, place: Place) -> ColumnElement[bool]:
        if asks_for_item(place.collection, node):
            return self._item(node, place)
        position = self._position
        left = self._operand(node.left, place)
        right = self._operand(node.right, place)
        any_match = node.op.startswith("?")
        op = node.op.removeprefix("?")
        test = self._over_elements(left, op, right, any_match)
        if any_match or not (left.is_many or right.is_many):
            return test
        # The literals are those that were just counted.
        self._position = position
        return sa.and_(test, sa.not_(self._any_failing(node, op, place)))

    def _item(self, node: Comparison, place: Place) -> ColumnElement[bool]:
        assert isinstance(node.left, Identifier)
        field = self._field(place, node.left.path[0], node.left.path).name
        value = self._text(self._operand(node.right, place))
        if self.driving and self.driving[0] is node:
            return item_rows(self.driving[1], place.collection, field, value)
        return has_item(place.collection, place.table, field, value)

    def _any_failing(self, node: Comparison, op: str, place: Place) -> ColumnElement[bool]:
        """Without `?` every value must match, each of one side with each of the other: these are
        rows of their own. A comparison with nothing is no failure."""
        outer = self._joins
        self._joins = Joins()
        left = self._operand(node.left, place)
        left_joins, self._joins = self._joins, Joins()
        right = self._operand(node.right, place)
        rows, self._joins = left_joins.beside(self._joins), outer
        return rows.any_row(sa.not_(self._test(left, op, right)), place)

    def _over_elements(
        self, left: Operand, op: str, right: Operand, any_match: bool
    ) -> ColumnElement[bool]:
        """`tags ?= 'news'` looks at the list's elements; without `?` a list is its JSON text."""
        if any_match and left.kind == "list" and left.sql is not None:
            return dialects.json_any(
                left.sql, lambda element: self._test(Operand(element, "text"), op, right)
            )
        if any_match and right.kind == "list" and right.sql is not None:
            return dialects.json_any(
                right.sql, lambda element: self._test(left, op, Operand(element, "text"))
            )
        return self._test(left, op, right)

    def _operand(self, node: Node, place: Place) -> Operand:
        if isinstance(node, Literal):
            return self._literal(node.value)
        if isinstance(node, Macro):
            return _macro(node.name)
        if isinstance(node, Function):
            raise BadRequest(f"The function {node.name[:40]} is not supported in filters.")
        return self._identifier(node, place)

    def _literal(self, value: Any) -> Operand:
        kind = "flag" if isinstance(value, bool) else "text"
        if isinstance(value, int | float) and not isinstance(value, bool):
            kind = "number"
        if value is None or isinstance(value, bool):
            return Operand(None, kind, literal=value)
        position = -1 if self._constant else self._position
        self._position += 0 if self._constant else 1
        return Operand(None, kind, literal=value, position=position)

    def _identifier(self, node: Identifier, place: Place) -> Operand:
        if node.modifier:
            raise BadRequest(f"The modifier :{node.modifier[:40]} is not supported in filters.")
        if node.path[0].startswith("@"):
            return _request_value(node.path)
        return self._path(node.path, place)

    def _path(self, path: tuple[str, ...], place: Place) -> Operand:
        """Walks `post_id.title` or `comments_via_post_id.body` to the column at its end."""
        origin, walk = place, _Walk(self._is_many(path, place))
        for index, name in enumerate(path[:-1]):
            step = self._step(place, name, path, walk)
            if step is None:
                return self._json_path(place, path, index, origin, walk)
            place = step
        field = self._field(place, path[-1], path)
        column = place.table.c[field.name]
        self.is_slow |= is_document(field)
        operand = Operand(column, field.kind, is_nullable(field), is_long=is_long(field))
        return _at_end(operand, origin, place, walk)

    def _is_many(self, path: tuple[str, ...], place: Place) -> bool:
        collection = place.collection
        for name in path[:-1]:
            field = collection.by_name.get(name)
            if isinstance(field, RelationList):
                return True
            if not isinstance(field, Relation):
                return self.registry.back_relation(collection, name) is not None
            collection = self.registry[field.to]
        return False

    def _step(self, place: Place, name: str, path: tuple[str, ...], walk: _Walk) -> Place | None:
        field = place.collection.by_name.get(name)
        walk.path = (*walk.path, name)
        if isinstance(field, Relation | RelationList) and field.read <= self.access:
            return self._forward(place, field, path, walk)
        back = self.registry.back_relation(place.collection, name)
        if back is None or back[1].read > self.access:
            return None
        return self._backward(place, *back, path, walk)

    def _forward(
        self, place: Place, relation: Pointer, path: tuple[str, ...], walk: _Walk
    ) -> Place:
        target = self._enter(relation.to, path)
        conditions = [points_at(place, relation, target)]
        if relation is not TENANT_ID:
            conditions.append(target.table.c.tenant_id == place.table.c.tenant_id)
        return self._join(target, conditions, walk)

    def _backward(
        self,
        place: Place,
        source: Collection,
        relation: Pointer,
        path: tuple[str, ...],
        walk: _Walk,
    ) -> Place:
        target = self._enter(source.name, path)
        conditions = [
            target.table.c.tenant_id == place.table.c.tenant_id,
            points_at(target, relation, place),
        ]
        return self._join(target, conditions, walk)

    def _enter(self, name: str, path: tuple[str, ...]) -> Place:
        collection = self.registry[name]
        if collection.rules_for(self.access).read is None:
            raise _unknown(path)
        return Place(collection, self.tables[name].alias())

    def _join(self, target: Place, conditions: list[ColumnElement[bool]], walk: _Walk) -> Place:
        if walk.is_many and (known := self._joins.find(walk.path)):
            return known.place
        rule = self.rule(target.collection, target.table)
        if rule is not None:
            conditions.append(rule)
        if walk.is_many:
            self._joins.add(walk.path, target, sa.and_(*conditions))
        else:
            walk.rows.append(target.table)
            walk.conditions.extend(conditions)
        return target

    def _field(self, place: Place, name: str, path: tuple[str, ...]) -> Field:
        field = place.collection.by_name.get(name)
        if field is None or field.read > self.access:
            raise _unknown(path)
        return field

    def _json_path(
        self, place: Place, path: tuple[str, ...], index: int, origin: Place, walk: _Walk
    ) -> Operand:
        """`content_json.type`: the path goes on inside a JSON document."""
        field = self._field(place, path[index], path)
        if field.kind not in ("json", "list"):
            raise _unknown(path)
        steps = [
            int(step) if step.isascii() and step.isdigit() else step for step in path[index + 1 :]
        ]
        try:
            inside = dialects.json_path(*steps)
        except ValueError:
            raise _unknown(path) from None
        sql = dialects.json_path_text(place.table.c[field.name], sa.literal(inside))
        # The whole document is parsed for it.
        self.is_slow |= is_document(field)
        return _at_end(Operand(sql, "text", nullable=True), origin, place, walk)

    def _test(self, left: Operand, op: str, right: Operand) -> ColumnElement[bool]:
        if op in ("~", "!~"):
            contains = self._contains(left, right)
            return sa.not_(contains) if op == "!~" else contains
        if {left.kind, right.kind} == {"flag"} or "flag" in (left.kind, right.kind):
            return self._flag_test(left, op, right)
        if "number" in (left.kind, right.kind) and _both_may_be_numbers(left, right):
            return self._number_test(left, op, right)
        return self._text_test(left, op, right)

    def _contains(self, left: Operand, right: Operand) -> ColumnElement[bool]:
        self.is_slow |= left.is_long or right.is_long
        text = self._text(left)
        if not left.is_long:
            return dialects.contains_text(text, self._pattern(right))
        if right.is_long or right.has_wildcard:
            return dialects.long_text_like(text, self._pattern(right))
        if right.is_literal:
            return dialects.long_text_contains(
                text, self._parameter(right, as_contained, sa.Text())
            )
        return dialects.long_text_contains(text, self._text(right))

    def _number_test(self, left: Operand, op: str, right: Operand) -> ColumnElement[bool]:
        a, b = self._number(left), self._number(right)
        # `width = null` asks for what has none; a text that is no number still equals nothing.
        if op == "=" and (left.is_blank or right.is_blank):
            return a.is_not_distinct_from(b)
        return _compare(a, op, b)

    def _text_test(self, left: Operand, op: str, right: Operand) -> ColumnElement[bool]:
        moments = "date" in (left.kind, right.kind)
        if self._constant and op not in ("=", "~"):
            # What a rule asks by a range or an inequality (is it due, has it a date) holds for
            # nearly every record: an index on it would only keep the list from the one it needs.
            left, right = _not_by_index(left), _not_by_index(right)
        # Where an empty value can't match anyway the bare column keeps its index usable.
        plain = op == "=" and not (left.is_blank or right.is_blank)
        plain = plain and (left.is_literal or right.is_literal)
        if op in ("=", "!=") and not plain:
            left, right = _empty_where_missing(left), _empty_where_missing(right)
        return _compare(self._text(left, moments, plain), op, self._text(right, moments, plain))

    def _flag_test(self, left: Operand, op: str, right: Operand) -> ColumnElement[bool]:
        if op not in ("=", "!="):
            return _compare(self._number(left), op, self._number(right))
        a, b = self._flag(left), self._flag(right)
        return a.is_distinct_from(b) if op == "!=" else a.is_not_distinct_from(b)

    def _text(
        self, operand: Operand, moments: bool = False, plain: bool = False
    ) -> ColumnElement[Any]:
        if operand.is_literal:
            return self._parameter(operand, as_moment if moments else as_text, sa.Text())
        assert operand.sql is not None
        sql = operand.sql
        if operand.kind == "flag":
            return sa.case((sql.is_(sa.true()), "true"), else_="false")
        if operand.kind in _CAST_TO_TEXT:
            sql = sa.cast(sql, sa.Text())
        return sa.func.coalesce(sql, "") if operand.nullable and not plain else sql

    def _number(self, operand: Operand) -> ColumnElement[Any]:
        if operand.is_literal:
            return self._parameter(operand, as_number, dialects.Real())
        assert operand.sql is not None
        if operand.kind == "number":
            return operand.sql
        # False comes before true; what is neither flag nor number is false.
        one, zero = (sa.cast(sa.literal(each), dialects.Real()) for each in (1.0, 0.0))
        return sa.case((self._flag(operand), one), else_=zero)

    def _flag(self, operand: Operand) -> ColumnElement[Any]:
        if not operand.is_literal:
            assert operand.sql is not None
            if operand.kind == "flag":
                return operand.sql
            return sa.case((self._text(operand).in_(["true", "1"]), sa.true()), else_=sa.false())
        if operand.literal in (None, ""):
            return sa.false()
        if isinstance(operand.literal, bool):
            return sa.true() if operand.literal else sa.false()
        return self._parameter(operand, as_flag, dialects.Flag())

    def _pattern(self, operand: Operand) -> ColumnElement[Any]:
        if operand.is_literal:
            return self._parameter(operand, as_pattern, sa.Text())
        text = self._text(operand)
        for special in ("\\", "%", "_"):
            # A stored value means itself: only what the caller wrote may hold wildcards.
            text = sa.func.replace(text, special, "\\" + special)
        return sa.literal("%").concat(text).concat("%")

    def _parameter(self, operand: Operand, coerce: Coerce, type_: Any) -> ColumnElement[Any]:
        """A literal as a parameter: fixed in our own rules, a slot in a client's filter."""
        if operand.position < 0:
            return sa.cast(sa.literal(coerce(operand.literal), type_), type_)
        name = f"literal_{len(self.slots)}"
        self.slots.append(Slot(name, operand.position, coerce))
        # The cast tells PostgreSQL what the parameter is when both sides are parameters.
        return sa.cast(sa.bindparam(name, required=True, type_=type_), type_)


class _Walk:
    """Where a path has come to: the tables and conditions of a single value's subquery. The tables
    of many values are in the `Joins` that all such paths share."""

    def __init__(self, is_many: bool) -> None:
        self.is_many = is_many
        self.path: tuple[str, ...] = ()
        self.rows: list[FromClause] = []
        self.conditions: list[ColumnElement[bool]] = []


def _at_end(operand: Operand, origin: Place, place: Place, walk: _Walk) -> Operand:
    """One value per record becomes a subquery, many are columns of the joined rows."""
    if not walk.path or place is origin:
        return operand
    assert operand.sql is not None
    sql: ColumnElement[Any] = operand.sql
    nullable = operand.nullable and operand.kind in _CAST_TO_TEXT
    if operand.nullable and not nullable:
        # Of a record that is there, no value is the empty one.
        sql = sa.func.coalesce(sql, "")
        if walk.is_many:
            sql = sa.case((place.table.c.id.is_not(None), sql))
    if not walk.is_many:
        value = sa.select(sql).select_from(*walk.rows).where(*walk.conditions)
        sql = value.correlate(origin.table).scalar_subquery()
    return replace(operand, sql=sql, nullable=nullable, may_be_missing=True, is_many=walk.is_many)


def _empty_where_missing(operand: Operand) -> Operand:
    return replace(operand, nullable=True) if operand.may_be_missing else operand


def _not_by_index(operand: Operand) -> Operand:
    if operand.sql is None:
        return operand
    return replace(operand, sql=dialects.not_by_index(operand.sql))


def _compare(left: ColumnElement[Any], op: str, right: ColumnElement[Any]) -> ColumnElement[bool]:
    result: ColumnElement[bool]
    match op:
        case "=":
            result = left == right
        case "!=":
            result = left.is_distinct_from(right)
        case ">":
            result = left > right
        case ">=":
            result = left >= right
        case "<":
            result = left < right
        case _:
            result = left <= right
    return result


def _both_may_be_numbers(left: Operand, right: Operand) -> bool:
    """A number column takes numbers in any spelling; a text column keeps comparing as text."""
    columns = [each for each in (left, right) if not each.is_literal]
    return all(each.kind == "number" for each in columns) and not (
        not columns and left.kind != right.kind
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


def _shown(path: tuple[str, ...]) -> str:
    return ".".join(path)[:60]
