"""Resolves the paths of filters and sorts, such as `post_id.title`, to columns.

Each step applies the read rule of the collection that it enters. A field that the caller can't read
is treated as one that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.selectable import FromClause

from masthead.base.errors import BadRequest
from masthead.engine.records.collection import TENANT_ID, Collection, Pointer
from masthead.engine.records.fields.base import Access, Field
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.filter.parser import MAX_RELATIONS
from masthead.engine.records.read.comparisons import CAST_TO_TEXT
from masthead.engine.records.read.joins import Joins, TableRef, points_at, shown_columns
from masthead.engine.records.read.operands import Operand, is_document, is_long, is_nullable
from masthead.engine.records.registry import Registry
from masthead.storage import json_values

LOWER, LENGTH, EACH = "lower", "length", "each"

ReadRule = Callable[[Collection, FromClause], ColumnElement[bool] | None]


class Paths:
    """Resolves the paths of one statement. Those through many records share `joins`."""

    def __init__(
        self,
        registry: Registry,
        tables: Mapping[str, sa.Table],
        access: Access,
        read_rule: ReadRule,
    ) -> None:
        self.access = access
        self.joins = Joins()
        self.is_sorting = False
        self.is_slow = False
        """Whether a path leads into a document or through the elements of a list."""
        self._registry = registry
        self._tables = tables
        self._read_rule = read_rule

    def operand(self, path: tuple[str, ...], ref: TableRef, modifier: str = "") -> Operand:
        """Resolves `post_id.title` or `comments_via_post_id.body` to a column."""
        is_many = self._is_many(path, ref) or (modifier == EACH and not self.is_sorting)
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
        field = self.field(ref, path[-1], path)
        if field.kind == "json" and not modifier:
            return self._json_path(ref, path, len(path) - 1, origin, walk=walk)
        shown = shown_columns(ref.collection, ref.table, self.access <= Access.SITE)
        name = field.name
        if self.is_sorting and not modifier:
            name = ref.collection.order_column(name)
        column = shown.get(name, ref.table.c[name])
        self.is_slow |= is_document(field)
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
            if self.is_sorting:
                return operand
            raise _unfit(path, modifier)
        assert operand.sql is not None
        if modifier == LENGTH:
            length = json_values.json_length(operand.sql)
            text = sa.cast(length, sa.Text())
            return Operand(text, "value", number=length, string=sa.cast(sa.null(), sa.Text()))
        if self.is_sorting:
            return Operand(_first_item(operand.sql), "text", nullable=True)
        return self._elements(operand.sql, (*walk.path, f"{path[-1]}:{EACH}"), ref)

    def _elements(
        self, column: ColumnElement[Any], path: tuple[str, ...], ref: TableRef
    ) -> Operand:
        """One row for each element of a list, and an empty one if it has none."""
        self.is_slow = True
        known = self.joins.find(path)
        table = known.ref.table if known else json_values.json_elements(column)
        if known is None:
            self.joins.add(path, TableRef(ref.collection, table), sa.true())
        text = json_values.element_text(table)
        return Operand(text, "text", may_be_missing=True, is_many=True, has_own_type=True)

    def _is_many(self, path: tuple[str, ...], ref: TableRef) -> bool:
        collection = ref.collection
        for name in path[:-1]:
            field = collection.by_name.get(name)
            if isinstance(field, RelationList) and not self.is_sorting:
                return True
            if not isinstance(field, Relation | RelationList):
                return self._registry.back_relation(collection, name) is not None
            collection = self._registry[field.to]
        return False

    def _step(
        self, ref: TableRef, name: str, path: tuple[str, ...], walk: _JoinPath
    ) -> TableRef | None:
        field = ref.collection.by_name.get(name)
        walk.path = (*walk.path, name)
        if isinstance(field, Relation | RelationList) and field.read <= self.access:
            return self._forward(ref, field, path, walk)
        back = self._registry.back_relation(ref.collection, name)
        if back is None or back[1].read > self.access:
            return None
        return self._backward(ref, *back, path, walk=walk)

    def _forward(
        self, ref: TableRef, relation: Pointer, path: tuple[str, ...], walk: _JoinPath
    ) -> TableRef:
        target = self._enter(relation.to, path)
        if self.is_sorting and isinstance(relation, RelationList):
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
        collection = self._registry[name]
        if collection.rules_for(self.access).read is None:
            raise unknown_field(path)
        return TableRef(collection, self._tables[name].alias())

    def _join(
        self, target: TableRef, conditions: list[ColumnElement[bool]], walk: _JoinPath
    ) -> TableRef:
        if walk.is_many and (known := self.joins.find(walk.path)):
            return known.ref
        rule = self._read_rule(target.collection, target.table)
        if rule is not None:
            conditions.append(rule)
        if walk.is_many:
            self.joins.add(walk.path, target, sa.and_(*conditions))
        else:
            walk.rows.append(target.table)
            walk.conditions.extend(conditions)
        return target

    def field(self, ref: TableRef, name: str, path: tuple[str, ...]) -> Field:
        field = ref.collection.by_name.get(name)
        if field is None or field.read > self.access:
            raise unknown_field(path)
        return field

    def _json_path(
        self, ref: TableRef, path: tuple[str, ...], index: int, origin: TableRef, *, walk: _JoinPath
    ) -> Operand:
        """`content_json.type`: the path goes on inside a JSON document. At its end, it is the
        whole document."""
        field = self.field(ref, path[index], path)
        if field.kind not in ("json", "list"):
            raise unknown_field(path)
        steps = [
            int(step) if step.isascii() and step.isdigit() else step for step in path[index + 1 :]
        ]
        try:
            inside = sa.literal(json_values.json_path(*steps))
        except ValueError:
            raise unknown_field(path) from None
        document = ref.table.c[field.name]
        # The database parses the whole document.
        self.is_slow |= is_document(field)
        operand = Operand(
            json_values.json_text(document, inside),
            "value",
            number=json_values.json_number(document, inside),
            string=json_values.json_string(document, inside),
            is_long=is_long(field),
        )
        return _at_end(operand, origin, ref, walk)


def _first_item(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return json_values.json_text(column, sa.literal(json_values.json_path(0)))


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


def unknown_field(path: tuple[str, ...]) -> BadRequest:
    return BadRequest(f"Unknown field {_shown(path)}.")


def _unfit(path: tuple[str, ...], modifier: str) -> BadRequest:
    takes = _TAKEN_BY.get(modifier)
    if takes is None:
        return BadRequest(f"The modifier :{modifier[:40]} is not supported in filters.")
    return BadRequest(f"The modifier :{modifier} is for {takes}, which {_shown(path)} is not.")


_TAKEN_BY = {LOWER: "texts", LENGTH: "lists", EACH: "lists"}


def _shown(path: tuple[str, ...]) -> str:
    return ".".join(path)[:60]
