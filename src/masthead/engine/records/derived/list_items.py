"""An index of list items: finds the records that have a tag, in order, without scanning others.

Each item of a `TextList` that is declared `indexed` has a row here. `derived/rows.py` writes them.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import PrimaryKeyConstraint, Table
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.selectable import FromClause

from masthead.engine.records.collection import Collection
from masthead.engine.records.filter.ast import Comparison, Expression, Identifier, Literal, Operand
from masthead.storage import dialects
from masthead.storage.columns import texts
from masthead.storage.metadata import metadata

listed_values = Table(
    "listed_values",
    metadata,
    *texts("tenant_id", "collection", "field", "value", "created", "record_id"),
    PrimaryKeyConstraint("tenant_id", "collection", "field", "value", "created", "record_id"),
    sqlite_with_rowid=False,
)


def is_item_lookup(collection: Collection, node: Expression) -> bool:
    """`tags ?= 'news'`, for a field whose items are indexed."""
    return (
        isinstance(node, Comparison)
        and node.op == "?="
        and isinstance(node.left, Identifier)
        and len(node.left.path) == 1
        and not node.left.modifier
        and _is_item(node.right)
        and getattr(collection.by_name.get(node.left.path[0]), "indexed", False)
    )


def _is_item(node: Operand) -> bool:
    if isinstance(node, Literal):
        return isinstance(node.value, str) and node.value != ""
    # For rules: the records whose list holds the caller.
    return node == Identifier(("@request", "auth", "id"))


def listing_rows(items: FromClause, collection: Collection, listing: str) -> ColumnElement[bool]:
    """The rows of one listing of published records; the value is a parameter."""
    value = sa.bindparam("listing_value", required=True, type_=dialects.Text())
    return item_rows(items, collection, listing, value)


def listed_totals() -> sa.Select[Any]:
    """How many records of each of the `collections` a listing has by each of the `keys`."""
    items = listed_values
    return (
        sa.select(items.c.value, items.c.collection, sa.func.count())
        .where(
            items.c.tenant_id == sa.bindparam("tenant", required=True),
            dialects.any_of(items.c.collection, sa.bindparam("collections", required=True)),
            items.c.field == sa.bindparam("listing", required=True),
            dialects.any_of(items.c.value, sa.bindparam("keys", required=True)),
        )
        .group_by(items.c.value, items.c.collection)
    )


def next_position(collection: Collection, listing: str) -> sa.Select[Any]:
    """The first position of a listing after the parameter `after`."""
    items = listed_values
    return (
        sa.select(items.c.created)
        .where(
            items.c.tenant_id == sa.bindparam("tenant", required=True),
            listing_rows(items, collection, listing),
            items.c.created > sa.bindparam("after", required=True, type_=dialects.Text()),
        )
        .order_by(items.c.created)
        .limit(1)
    )


def is_listed() -> sa.Select[Any]:
    """Whether a record of one of the `collections` is in one of the `listings` by the key, at a
    position that is not after `until`."""
    items = listed_values
    return (
        sa.select(sa.literal_column("1"))
        .where(
            items.c.tenant_id == sa.bindparam("tenant", required=True),
            dialects.any_of(items.c.collection, sa.bindparam("collections", required=True)),
            dialects.any_of(items.c.field, sa.bindparam("listings", required=True)),
            items.c.value == sa.bindparam("key", required=True, type_=dialects.Text()),
            items.c.created <= sa.bindparam("until", required=True, type_=dialects.Text()),
        )
        .limit(1)
    )


def item_rows(
    items: FromClause, collection: Collection, field: str, value: ColumnElement[Any]
) -> ColumnElement[bool]:
    return sa.and_(
        items.c.collection == collection.name, items.c.field == field, items.c.value == value
    )


def has_item(
    collection: Collection, table: FromClause, field: str, value: ColumnElement[Any]
) -> ColumnElement[bool]:
    """A condition on one record at a time."""
    items = listed_values.alias()
    found: sa.Select[Any] = sa.select(sa.literal_column("1")).where(
        items.c.tenant_id == table.c.tenant_id,
        item_rows(items, collection, field, value),
        items.c.created == table.c.created,
        items.c.record_id == table.c.id,
    )
    # Without the OFFSET, PostgreSQL may join all rows with the item first, and a page of twenty
    # waits for an author's fifty thousand.
    found = found.offset(sa.literal_column("0"))
    return sa.exists(found.correlate_except(items))


def has_any_item(
    collection: Collection, table: FromClause, field: str, values: ColumnElement[Any]
) -> ColumnElement[bool]:
    """`values` is the single parameter of `dialects.any_of`."""
    items = listed_values.alias()
    found = sa.select(items.c.record_id).where(
        items.c.tenant_id == table.c.tenant_id,
        items.c.collection == collection.name,
        items.c.field == field,
        dialects.any_of(items.c.value, values),
    )
    return table.c.id.in_(found.correlate_except(items))


def joined(items: FromClause, table: FromClause) -> FromClause:
    """Items joined with their records, in the order of the items."""
    return dialects.ordered_join(
        items,
        table,
        sa.and_(table.c.tenant_id == items.c.tenant_id, table.c.id == items.c.record_id),
    )
