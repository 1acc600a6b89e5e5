"""The joins of a filter whose paths lead through back-relations or lists of relations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.selectable import FromClause

from masthead.engine.records.collection import Collection, Pointer
from masthead.engine.records.derived.list_items import has_item
from masthead.engine.records.fields.relation_list import RelationList


class TableRef(msgspec.Struct, frozen=True):
    """A collection with its table or an alias of it: names in a filter are resolved here."""

    collection: Collection
    table: FromClause


def shown_columns(
    collection: Collection, table: FromClause, shows_rendering: bool
) -> dict[str, ColumnElement[Any]]:
    """The columns of a reader that are not those of the same name."""
    rendering = collection.rendering
    if rendering is None or not shows_rendering:
        return {}
    made, sent = table.c[rendering.into], table.c[rendering.of]
    return {rendering.of: sa.case((made != "", made), else_=sent).label(rendering.of)}


def points_at(source: TableRef, relation: Pointer, target: TableRef) -> ColumnElement[bool]:
    """The source row's relation holds the target row's id."""
    if isinstance(relation, RelationList):
        return has_item(source.collection, source.table, relation.name, target.table.c.id)
    is_target: ColumnElement[bool] = source.table.c[relation.name] == target.table.c.id
    return is_target


class Join(msgspec.Struct, frozen=True):
    ref: TableRef
    condition: ColumnElement[bool]


class Joins:
    """One outer join per path: a record without related ones has a single empty row."""

    def __init__(self, known: Iterable[Joins] = ()) -> None:
        self._by_path: dict[tuple[str, ...], Join] = {}
        self._others: list[Join] = []
        self._known = tuple(known)

    def __bool__(self) -> bool:
        return bool(self._by_path)

    def find(self, path: tuple[str, ...]) -> Join | None:
        for each in (self, *self._known):
            if path in each._by_path:
                return self._by_path.setdefault(path, each._by_path[path])
        return None

    def add(self, path: tuple[str, ...], ref: TableRef, condition: ColumnElement[bool]) -> None:
        self._by_path[path] = Join(ref, condition)

    def shares(self, other: Joins) -> bool:
        return not self._by_path.keys().isdisjoint(other._by_path)

    def merged(self, other: Joins) -> Joins:
        both = Joins()
        both._by_path = self._by_path | other._by_path
        return both

    def cross_joined(self, other: Joins) -> Joins:
        """Each row of these with each row of the other, even where paths are the same."""
        both = Joins()
        both._by_path = self._by_path
        both._others = list(other._by_path.values())
        return both

    def any_row(self, test: ColumnElement[bool], ref: TableRef) -> ColumnElement[bool]:
        found: sa.Select[Any] = sa.select(sa.literal_column("1")).select_from(self._rows())
        return sa.exists(found.where(test).correlate(ref.table))

    def smallest(self, value: ColumnElement[Any], ref: TableRef) -> ColumnElement[Any]:
        """The smallest value of the joined rows; NULL without any."""
        found = sa.select(sa.func.min(value)).select_from(self._rows())
        return found.correlate(ref.table).scalar_subquery()

    def _rows(self) -> FromClause:
        rows: FromClause = sa.select(sa.literal_column("1").label("one")).subquery()
        for each in (*self._by_path.values(), *self._others):
            rows = rows.outerjoin(each.ref.table, each.condition)
        return rows


class Group(msgspec.Struct, frozen=True):
    """Conditions of a conjunction that share joined rows."""

    joins: Joins
    conditions: list[ColumnElement[bool]]


def grouped(groups: list[Group], new: Group) -> list[Group]:
    apart = []
    for each in groups:
        if each.joins.shares(new.joins):
            new = Group(each.joins.merged(new.joins), [*each.conditions, *new.conditions])
        else:
            apart.append(each)
    return [*apart, new]
