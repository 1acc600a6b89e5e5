"""The tables of the collections, built from their declarations, and the engine's own tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Lock

from sqlalchemy import Column, ForeignKeyConstraint, MetaData, PrimaryKeyConstraint, Table, text
from sqlalchemy import Index as SqlIndex
from sqlalchemy.sql.elements import ColumnElement

from masthead.engine.records.collection import (
    CREATED,
    UPDATED,
    VERSION,
    Collection,
    Index,
    letters_column,
)
from masthead.engine.records.fields.base import Field
from masthead.engine.records.fields.text import Slug
from masthead.engine.records.registry import Registry
from masthead.storage import dialects
from masthead.storage.dialects import is_not, not_empty
from masthead.storage.metadata import all_tables, build_later, metadata

tenant_states = Table(
    "tenant_states",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    # Grows by one with every change of the tenant, in the change's own transaction. It orders the
    # tenant's events and invalidates caches. On PostgreSQL its row is the tenant's write lock.
    Column("version", dialects.Integer(), nullable=False, server_default=text("0")),
    # The version of the last change of accounts, keys or settings, so that caches of those outlive
    # other changes.
    Column("identity_version", dialects.Integer(), nullable=False, server_default=text("0")),
    # Until when changes are written to `record_changes`, for clients that listen or may come back;
    # '' if nobody does. Only the sweep empties it, so that all processes agree.
    Column("watched_until", dialects.Text(), nullable=False, server_default=text("''")),
    # Of a watched tenant: `record_changes` has every change after this version.
    Column("changes_from", dialects.Integer(), nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("tenant_id"),
)

record_changes = Table(
    "record_changes",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    # The tenant's version that the change's unit took, under the tenant's lock: in the order of
    # commits, on both databases.
    Column("version", dialects.Integer(), nullable=False),
    Column("ordinal", dialects.Integer(), nullable=False),
    Column("collection", dialects.Text(), nullable=False),
    Column("record_id", dialects.Text(), nullable=False),
    Column("action", dialects.Text(), nullable=False),
    Column("record_version", dialects.Integer(), nullable=False),
    # The record after the change, or before a deletion: see `Collection.logged_fields`.
    Column("state", dialects.Json(), nullable=False),
    # After an update, the old values of those fields that differ.
    Column("previous", dialects.Json(), nullable=True),
    Column("created", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "version", "ordinal"),
)

record_counts = Table(
    "record_counts",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("collection", dialects.Text(), nullable=False),
    Column("counter", dialects.Text(), nullable=False),
    Column("bucket", dialects.Text(), nullable=False),
    Column("total", dialects.Integer(), nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("tenant_id", "collection", "counter", "bucket"),
    # For totals over all tenants. It leaves out the total, which changes with every record.
    SqlIndex(None, "collection", "counter", "bucket"),
)


def sum_of(name: str) -> str:
    """The counter with the sum of a field."""
    return f"sum of {name}"


class LazyTables(Mapping[str, Table]):
    """The tables of the collections, each built when it is first used: a command uses a few of
    them."""

    def __init__(self, registry: Registry) -> None:
        self._collections = {each.name: each for each in registry.collections}
        self._built: dict[str, Table] = {}
        self._have_indexes = False
        # A table can be built only once, and threads use them, too.
        self._building = Lock()
        build_later(self._build_all)

    def __getitem__(self, name: str) -> Table:
        found = self._built.get(name)
        return self._build(self._collections[name]) if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._collections)

    def __len__(self) -> int:
        return len(self._collections)

    def complete(self) -> MetaData:
        """All tables, with the indexes of the collections: no statement of a request needs
        those."""
        if not self._have_indexes:
            self._have_indexes = True
            for collection in self._collections.values():
                _add_indexes(self[collection.name], collection)
        return all_tables()

    def _build(self, collection: Collection) -> Table:
        with self._building:
            if collection.name not in self._built:
                self._built[collection.name] = _build_table(collection)
            return self._built[collection.name]

    def _build_all(self) -> None:
        for collection in self._collections.values():
            self._build(collection)


def _build_table(collection: Collection) -> Table:
    return Table(
        collection.name,
        metadata,
        Column("tenant_id", dialects.Text(), nullable=False),
        Column("id", dialects.Text(), nullable=False),
        *(each.column() for each in collection.fields),
        CREATED.column(),
        UPDATED.column(),
        VERSION.column(),
        *(_text(letters_column(each)) for each in collection.by_letters),
        PrimaryKeyConstraint("tenant_id", "id"),
        *_foreign_keys(collection),
    )


def _text(name: str) -> Column[str]:
    return Column(name, dialects.Text(), nullable=False, server_default=text("''"))


def _foreign_keys(collection: Collection) -> list[ForeignKeyConstraint]:
    """Composite keys keep a relation from pointing into another tenant."""
    keys = [
        ForeignKeyConstraint(["tenant_id", each.name], [f"{each.to}.tenant_id", f"{each.to}.id"])
        for each in collection.relations
        if each.has_key
    ]
    if collection.name != "tenants" and not collection.platform_records:
        keys.append(ForeignKeyConstraint(["tenant_id"], ["tenants.id"]))
    return keys


def _add_indexes(table: Table, collection: Collection) -> None:
    # By id alone, for callers without a tenant. Tenant ids are unique.
    SqlIndex(None, table.c.id, unique=collection.name == "tenants")
    if not any(_is_by_creation(each) for each in collection.indexes):
        SqlIndex(None, table.c.tenant_id, table.c.created, table.c.id)
    for each in collection.fields:
        if each.unique:
            _add_index(table, unique_index(each))
    covered = {index.fields[0] for index in collection.indexes if index.fields}
    for relation in collection.relations:
        if relation.name not in covered:
            _add_index(table, Index((relation.name,)))
    for index in collection.indexes:
        _add_index(table, index)


def _is_by_creation(index: Index) -> bool:
    """Whether the lists of all records in the order of creation can use it."""
    is_whole = not (index.skip_empty or index.only_late or index.unusual or index.across_tenants)
    return is_whole and index.fields[:2] == ("created", "id")


def unique_index(field: Field) -> Index:
    """Several records may leave an optional field empty."""
    always_set = field.required or (isinstance(field, Slug) and not field.optional)
    return Index((field.name,), unique=True, skip_empty="" if always_set else field.name)


def _add_index(table: Table, index: Index) -> None:
    columns = [table.c[name] for name in index.fields]
    if not index.across_tenants:
        columns.insert(0, table.c.tenant_id)
    where: ColumnElement[bool] | None = None
    if index.skip_empty:
        where = not_empty(table.c[index.skip_empty])
    elif index.only_late:
        where = table.c[index.only_late] > table.c.updated
    elif index.unusual:
        name, usual = index.unusual
        where = is_not(table.c[name], usual)
    SqlIndex(index.name or None, *columns, unique=index.unique, sqlite_where=where)
