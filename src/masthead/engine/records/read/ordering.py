"""The order of a page, and the condition that continues it after a cursor."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from masthead.base.languages.alphabet import letters_of
from masthead.engine.records.collection import Collection
from masthead.engine.records.read.joins import TableRef
from masthead.engine.records.read.sorting import NEWEST_FIRST, SortKey
from masthead.engine.records.read.where import WhereCompiler
from masthead.storage import dialects, full_text


class OrderColumns(msgspec.Struct, frozen=True):
    """The columns of the default order, in the record's own table or in that of its list items."""

    created: ColumnElement[Any]
    id: ColumnElement[Any]


def order_by(
    sort: tuple[SortKey, ...],
    compiler: WhereCompiler,
    ref: TableRef,
    columns: OrderColumns,
) -> list[Any]:
    order: list[Any] = []
    for key in sort or NEWEST_FIRST:
        if key.random:
            order.append(dialects.random_order())
            continue
        if key.path in (("@rowid",), ("created",)) and not key.modifier:
            order.append(columns.created.desc() if key.descending else columns.created.asc())
            continue
        order.extend(compiler.sort_keys(key, ref))
    # Ties by id, in the direction of the first key, so that one index serves both.
    order.append(columns.id.desc() if not sort or sort[0].descending else columns.id.asc())
    return order


def comes_after(
    columns: OrderColumns, ref: TableRef, sort: tuple[SortKey, ...]
) -> ColumnElement[bool]:
    """In the default order, or in the order of one field of text or of dates."""
    if len(sort) > 1 or any(len(key.path) != 1 or key.modifier for key in sort):
        raise ValueError("a cursor needs the order of one field")
    name = sort[0].path[0] if sort else "created"
    value = columns.created if name == "created" else ref.table.c[ref.collection.order_column(name)]
    is_by_letters = name in ref.collection.by_letters
    after = _stored_key(ref, name) if is_by_letters else _given("after_created")
    position = sa.tuple_(after, _given("after_id"))
    row = sa.tuple_(value, columns.id)
    return row > position if sort and not sort[0].descending else row < position


def cursor_values(
    collection: Collection, sort: tuple[SortKey, ...], after: tuple[str, str]
) -> dict[str, str]:
    """The order compares its column; a cursor has the value of the field."""
    value, record_id = after
    if sort and sort[0].path[0] in collection.by_letters:
        return {"after_created": letters_of(value), "after_text": value, "after_id": record_id}
    return {"after_created": value, "after_id": record_id}


def _stored_key(ref: TableRef, name: str) -> ColumnElement[str]:
    """That of the cursor's record, while it has the same text: after an upgrade it is another one,
    or none, until the worker has made it. Otherwise the one that is made of the text.

    An aggregate, so that it is one value: below row-level security, PostgreSQL takes no `coalesce`
    around a query into the condition of an index."""
    c = ref.table.alias().c
    stored = sa.func.max(c[ref.collection.order_column(name)])
    query = sa.select(sa.func.coalesce(stored, _given("after_created"))).where(
        c.tenant_id == sa.bindparam("tenant", required=True),
        c.id == _given("after_id"),
        c[name] == _given("after_text"),
    )
    return query.scalar_subquery()


def _given(name: str) -> sa.BindParameter[str]:
    return sa.bindparam(name, required=True, type_=dialects.Text())


def paged(query: Any) -> Any:
    return query.limit(sa.bindparam("limit", required=True, type_=dialects.Integer())).offset(
        sa.bindparam("offset", required=True, type_=dialects.Integer())
    )


def position_after() -> ColumnElement[int]:
    """The position of the cursor's record; computed, should the record be deleted by now."""
    computed = sa.bindparam("key_position", required=True, type_=dialects.Integer())
    known = full_text.position_of_record().scalar_subquery()
    return sa.func.coalesce(known, sa.cast(computed, dialects.Integer()))
