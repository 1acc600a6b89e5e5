"""Turns a filter's tree into a WHERE clause of bound parameters, as far as a caller may see.

Nothing of a filter's text reaches SQL: names are looked up in the collections' declarations and
values become parameters. A field the caller can't read is as unknown here as one that does not
exist, on relation paths too, and each step of a path obeys the read rule of the collection it
enters; so no filter, sort or total can tell what a list would not show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.selectable import FromClause

from masthead.errors import BadRequest
from masthead.records.collection import TENANT_ID, Collection, Registry
from masthead.records.fields.base import Access, Field
from masthead.records.fields.relation import Relation
from masthead.records.fields.text import Text
from masthead.records.fields.values import read_moment
from masthead.records.filter.ast import (
    And,
    Comparison,
    Expression,
    Function,
    Identifier,
    Literal,
    Macro,
    Or,
)
from masthead.records.filter.ast import Operand as Node
from masthead.records.filter.parser import parse
from masthead.records.listed import asks_for_item, has_item, item_rows
from masthead.storage import dialects

AUTH_NAMES = ("id", "email", "collectionName", "collectionId", "tenant_id")
LONG_TEXT = 10_000
"""Characters. A longer field is looked through away from the event loop: SQLite counts a whole
LIKE as one step, and one that nearly matches everywhere takes seconds on a megabyte."""
NUMBER_MACROS = frozenset({"second", "minute", "hour", "weekday", "day", "month", "year"})

Coerce = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Slot:
    """A parameter whose value is the filter's literal of that position."""

    parameter: str
    position: int
    coerce: Coerce


@dataclass(frozen=True, slots=True)
class Operand:
    """One side of a comparison: SQL and how it compares."""

    sql: ColumnElement[Any] | None
    kind: str
    nullable: bool = False
    rows: tuple[FromClause, ...] = ()
    """Further tables that a path through a back-relation needs: then there are many values."""
    joins: tuple[ColumnElement[bool], ...] = ()
    literal: Any = None
    is_long: bool = False
    position: int = -1
    """Which of the filter's text and number literals this is; -1 for anything else."""

    @property
    def is_literal(self) -> bool:
        return self.sql is None

    @property
    def is_blank(self) -> bool:
        return self.is_literal and self.literal in (None, "") and self.literal is not False


@dataclass(frozen=True, slots=True)
class Place:
    """Where names are looked up: a collection and the (aliased) table that stands for it."""

    collection: Collection
    table: FromClause


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

    def filter(self, expression: Expression, place: Place) -> ColumnElement[bool]:
        """A client's filter: literals become slots, visibility is the caller's."""
        return self._expression(expression, place)

    def rule(self, collection: Collection, table: FromClause) -> ColumnElement[bool] | None:
        """The collection's read rule on that table; None where the caller needs none."""
        if self.access >= Access.ADMIN or collection.rules.read == "":
            return None
        assert collection.rules.read is not None
        return self.trusted(collection.rules.read, Place(collection, table))

    def trusted(self, rule: str, place: Place) -> ColumnElement[bool]:
        """An expression of our own: literals are constants and every field may be named."""
        access, constant = self.access, self._constant
        self.access, self._constant = Access.PLATFORM, True
        try:
            return self._expression(parse(rule), place)
        finally:
            self.access, self._constant = access, constant

    def sort_key(
        self, path: tuple[str, ...], place: Place, *, descending: bool
    ) -> ColumnElement[Any]:
        operand = self._path(path, place)
        self.is_slow |= operand.is_long
        if operand.rows or operand.sql is None:
            raise BadRequest(f"Can't sort by {_shown(path)}: it has many values.")
        key = operand.sql.desc() if descending else operand.sql.asc()
        if not operand.nullable:
            return key
        # An empty value comes before all others on either database.
        return key.nulls_last() if descending else key.nulls_first()

    def _expression(self, node: Expression, place: Place) -> ColumnElement[bool]:
        if isinstance(node, And):
            return sa.and_(*(self._expression(item, place) for item in node.items))
        if isinstance(node, Or):
            return sa.or_(*(self._expression(item, place) for item in node.items))
        return self._comparison(node, place)

    def _comparison(self, node: Comparison, place: Place) -> ColumnElement[bool]:
        if asks_for_item(place.collection, node):
            return self._item(node, place)
        left = self._operand(node.left, place)
        right = self._operand(node.right, place)
        any_match = node.op.startswith("?")
        op = node.op.removeprefix("?")
        rows = (*left.rows, *right.rows)
        if any_match or not rows:
            test = self._over_elements(left, op, right, any_match)
            return _exists(rows, (*left.joins, *right.joins), test, place) if rows else test
        return self._for_all(left, op, right, place)

    def _item(self, node: Comparison, place: Place) -> ColumnElement[bool]:
        assert isinstance(node.left, Identifier)
        field = self._field(place, node.left.path[0], node.left.path).name
        value = self._text(self._operand(node.right, place))
        if self.driving and self.driving[0] is node:
            return item_rows(self.driving[1], place.collection, field, value)
        return has_item(place.collection, place.table, field, value)

    def _for_all(self, left: Operand, op: str, right: Operand, place: Place) -> ColumnElement[bool]:
        """Without `?` every value must match; for a negation none at all is a match, too."""
        rows, joins = (*left.rows, *right.rows), (*left.joins, *right.joins)
        test = self._test(left, op, right)
        none_fails = sa.not_(_exists(rows, joins, sa.not_(test), place))
        if op in ("!=", "!~"):
            return none_fails
        return sa.and_(_exists(rows, joins, test, place), none_fails)

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
        origin, walk = place, _Walk()
        for index, name in enumerate(path[:-1]):
            step = self._step(place, name, path, walk)
            if step is None:
                return self._json_path(place, path, index, origin, walk)
            place = step
        field = self._field(place, path[-1], path)
        column = place.table.c[field.name]
        operand = Operand(column, field.kind, _is_nullable(field), is_long=_is_long(field))
        return _at_end(operand, origin, walk)

    def _step(self, place: Place, name: str, path: tuple[str, ...], walk: _Walk) -> Place | None:
        field = place.collection.by_name.get(name)
        if isinstance(field, Relation) and field.read <= self.access:
            return self._forward(place, field, self._enter(field.to, path), walk)
        back = self.registry.back_relation(place.collection, name)
        if back is None or back[1].read > self.access:
            return None
        return self._backward(place, back[1], self._enter(back[0].name, path), walk)

    def _forward(self, place: Place, relation: Relation, target: Place, walk: _Walk) -> Place:
        conditions = [target.table.c.id == place.table.c[relation.name]]
        if relation is not TENANT_ID:
            conditions.append(target.table.c.tenant_id == place.table.c.tenant_id)
        self._join(target, conditions, walk)
        return target

    def _backward(self, place: Place, relation: Relation, target: Place, walk: _Walk) -> Place:
        conditions = [
            target.table.c.tenant_id == place.table.c.tenant_id,
            target.table.c[relation.name] == place.table.c.id,
        ]
        walk.is_many = True
        self._join(target, conditions, walk)
        return target

    def _enter(self, name: str, path: tuple[str, ...]) -> Place:
        collection = self.registry[name]
        if self.access < Access.ADMIN and collection.rules.read is None:
            raise _unknown(path)
        return Place(collection, self.tables[name].alias())

    def _join(self, target: Place, conditions: list[ColumnElement[bool]], walk: _Walk) -> None:
        rule = self.rule(target.collection, target.table)
        walk.rows.append(target.table)
        walk.joins.extend(conditions if rule is None else [*conditions, rule])

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
        self.is_slow |= _is_long(field)
        return _at_end(Operand(sql, "text", nullable=True), origin, walk)

    def _test(self, left: Operand, op: str, right: Operand) -> ColumnElement[bool]:
        if op in ("~", "!~"):
            self.is_slow |= left.is_long or right.is_long
            contains = dialects.contains_text(self._text(left), self._pattern(right))
            return sa.not_(contains) if op == "!~" else contains
        if {left.kind, right.kind} == {"flag"} or "flag" in (left.kind, right.kind):
            return self._flag_test(left, op, right)
        if "number" in (left.kind, right.kind) and _both_may_be_numbers(left, right):
            return self._number_test(left, op, right)
        return self._text_test(left, op, right)

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
            return self._parameter(operand, _as_moment if moments else as_text, sa.Text())
        assert operand.sql is not None
        sql = operand.sql
        if operand.kind == "flag":
            return sa.case((sql.is_(sa.true()), "true"), else_="false")
        if operand.kind in ("number", "json", "list"):
            sql = sa.cast(sql, sa.Text())
        return sa.func.coalesce(sql, "") if operand.nullable and not plain else sql

    def _number(self, operand: Operand) -> ColumnElement[Any]:
        if operand.is_literal:
            return self._parameter(operand, _as_number, dialects.Real())
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
        return self._parameter(operand, _as_flag, dialects.Flag())

    def _pattern(self, operand: Operand) -> ColumnElement[Any]:
        if operand.is_literal:
            return self._parameter(operand, _as_pattern, sa.Text())
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
    """The tables and conditions that a path has gathered so far."""

    def __init__(self) -> None:
        self.rows: list[FromClause] = []
        self.joins: list[ColumnElement[bool]] = []
        self.is_many = False


def _at_end(operand: Operand, origin: Place, walk: _Walk) -> Operand:
    """One value per record becomes a subquery; many stay rows for EXISTS."""
    if not walk.rows:
        return operand
    if walk.is_many:
        return replace(operand, nullable=True, rows=tuple(walk.rows), joins=tuple(walk.joins))
    assert operand.sql is not None
    value = sa.select(operand.sql).select_from(*walk.rows).where(*walk.joins)
    return replace(operand, sql=value.correlate(origin.table).scalar_subquery(), nullable=True)


def _not_by_index(operand: Operand) -> Operand:
    if operand.sql is None:
        return operand
    return replace(operand, sql=dialects.not_by_index(operand.sql))


def _exists(
    rows: tuple[FromClause, ...],
    joins: tuple[ColumnElement[bool], ...],
    test: ColumnElement[bool],
    place: Place,
) -> ColumnElement[bool]:
    found: sa.Select[Any] = sa.select(sa.literal_column("1")).select_from(*rows).where(*joins, test)
    return sa.exists(found.correlate(place.table))


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


def _is_nullable(field: Field) -> bool:
    return field.kind in ("relation", "json") or bool(getattr(field, "nullable", False))


def _is_long(field: Field) -> bool:
    return field.kind == "json" or (isinstance(field, Text) and field.max > LONG_TEXT)


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


def as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    # NUL can't be stored, so it can't be found either; PostgreSQL would refuse the parameter.
    return str(value).replace("\x00", "\ufffd")


def _as_moment(value: Any) -> str:
    written = as_text(value)
    return read_moment(written) or written


def _as_pattern(value: Any) -> str:
    return dialects.like_pattern(as_text(value))


def _as_number(value: Any) -> float | None:
    try:
        return None if value in (None, "") else float(value)
    except (ValueError, OverflowError):
        return None


def _as_flag(value: Any) -> bool | None:
    return {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}.get(
        str(value).lower()
    )
