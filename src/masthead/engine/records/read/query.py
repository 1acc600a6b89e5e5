"""Reads as SQL statements, compiled once per shape and then reused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.sql.selectable import FromClause

from masthead.base.byte_cache import ByteCache
from masthead.base.counters import CACHES
from masthead.engine.records.collection import BUCKET_SEPARATOR, TENANT_ID, Collection, Counter
from masthead.engine.records.derived.list_items import (
    has_any_item,
    is_item_lookup,
    is_listed,
    joined,
    listed_values,
    listing_rows,
    next_position,
)
from masthead.engine.records.derived.totals import TotalPlan, choices_of, plan_total
from masthead.engine.records.fields.base import Access, Field
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.filter.ast import Expression, comparisons, conjuncts
from masthead.engine.records.filter.parser import ParsedFilter, parse
from masthead.engine.records.read.context import Context
from masthead.engine.records.read.decoding import RowDecoder, answer_decoder
from masthead.engine.records.read.due_dates import without_date
from masthead.engine.records.read.joins import TableRef, shown_columns
from masthead.engine.records.read.operands import Slot
from masthead.engine.records.read.ordering import (
    OrderColumns,
    comes_after,
    order_by,
    paged,
    position_after,
)
from masthead.engine.records.read.sorting import SortKey
from masthead.engine.records.read.where import WhereCompiler
from masthead.engine.records.registry import Registry
from masthead.engine.records.tables import record_counts, sum_of
from masthead.storage import dialects, full_text, json_values
from masthead.storage.database import Database, Statement

NUMBER = "given_number"
"""The column for the number of a state that `Queries.given` tests."""
MAX_INLINE_COMPARISONS = 4
"""Filters of more comparisons are compiled in a thread. Four take some milliseconds."""

T = TypeVar("T")
P = TypeVar("P", "Prepared", "PreparedTotal")


class Shape(msgspec.Struct, frozen=True):
    """Everything that determines a read's SQL text, and nothing that only determines its values."""

    collection: str
    access: Access
    has_tenant: bool
    filter: Hashable = None
    sort: tuple[SortKey, ...] = ()
    names: frozenset[str] | None = None
    after: bool = False
    search: bool = False
    with_tenant: bool = False
    """Reads `tenant_id` even where the caller may not see it: without a tenant, relations are
    expanded within each record's own."""
    listing: str = ""
    """The listing whose order the rows have, instead of the order of their creation."""
    sized: bool = False
    """The database refuses rows of too many bytes before they are read."""
    rendered: bool = False
    """Texts as readers see them, whatever the access."""
    unusual: tuple[tuple[str, str], ...] = ()
    """Fields, each with a value that the filter leaves out: a partial index has only the others."""

    @property
    def shows_rendering(self) -> bool:
        return self.rendered or self.access <= Access.SITE


class Prepared(msgspec.Struct, frozen=True):
    statement: Statement
    slots: tuple[Slot, ...]
    rows: RowDecoder
    is_slow: bool
    """May take long in one step of SQLite's (FTS5, LIKE), which a step limit can't interrupt."""


class PreparedTotal(msgspec.Struct, frozen=True):
    statement: Statement
    slots: tuple[Slot, ...]
    plan: TotalPlan | None
    is_slow: bool = False


class Queries:
    """Compiles and caches the statements of reads."""

    def __init__(
        self, database: Database, registry: Registry, tables: Mapping[str, sa.Table]
    ) -> None:
        self._database = database
        self._registry = registry
        self._tables = tables
        # Clients determine the shapes, so the cache needs a limit.
        self._prepared: ByteCache[Hashable, Any] = ByteCache(CACHES["queries"])
        self._compiling = asyncio.Lock()

    async def page(self, shape: Shape, wanted: ParsedFilter | None, context: Context) -> Prepared:
        key = ("page", shape)
        prepared: Prepared | None = self._prepared.get(key)
        if prepared is None:
            context.is_costly = True
            prepared = await self._compile_once(
                key, wanted, lambda: self._compile_page(shape, wanted)
            )
        context.is_costly |= prepared.is_slow
        return prepared

    async def total(
        self, shape: Shape, wanted: ParsedFilter | None, context: Context
    ) -> PreparedTotal:
        key = ("total", shape)
        prepared: PreparedTotal | None = self._prepared.get(key)
        if prepared is None:
            context.is_costly = True
            prepared = await self._compile_once(
                key, wanted, lambda: self._compile_total(shape, wanted)
            )
        context.is_costly |= prepared.is_slow
        return prepared

    def one(self, shape: Shape) -> Prepared:
        return self._cached(("one", shape), lambda: self._compile_one(shape))

    def allowed(self, shape: Shape, rule: str) -> Statement:
        """Selects the record `id` if the rule holds for it."""
        return self._cached(("allowed", shape, rule), lambda: self._compile_allowed(shape, rule))

    def next_position(self, collection: Collection, listing: str) -> Statement:
        key = ("next position", collection.name, listing)
        return self._cached(key, lambda: self._database.compile(next_position(collection, listing)))

    def next_due(self, collection: Collection, date: str) -> Statement:
        """The next date at which the rule for guests lets a record of the tenant in."""
        key = ("next due", collection.name)
        return self._cached(key, lambda: self._compile_next_due(collection, date))

    def is_listed(self) -> Statement:
        return self._cached(("is listed",), lambda: self._database.compile(is_listed()))

    def buckets(self, collection: Collection, each: str) -> tuple[Statement, int]:
        """The buckets of the counter of a list field in the order of their items, with totals, and
        how many buckets an item has at most."""
        counter = _counter_of_items(collection, each)
        per_item = prod(len(choices_of(collection, name)) for name in counter.by)
        key = ("buckets", collection.name, each)
        return self._cached(key, lambda: self._compile_buckets(collection, counter)), per_item

    def item_totals(
        self, collection: Collection, each: str, items: Sequence[str]
    ) -> tuple[Statement, list[str]]:
        """The totals of the `buckets` that these items of a list field may have."""
        counter = _counter_of_items(collection, each)
        choices = product(items, *(choices_of(collection, name) for name in counter.by))
        key = ("item totals", collection.name, each)
        statement = self._cached(key, lambda: self._compile_item_totals(collection, counter))
        return statement, [BUCKET_SEPARATOR.join(values) for values in choices]

    def tenant_totals(self, collection: Collection, summed: str = "") -> Statement:
        key = ("tenant totals", collection.name, summed)
        return self._cached(key, lambda: self._compile_tenant_totals(collection, summed))

    def sum_of_all(self, collection: Collection, name: str) -> Statement:
        key = ("sum of all", collection.name, name)
        return self._cached(key, lambda: self._compile_sum_of_all(collection, name))

    def some(self, shape: Shape, by: str) -> Prepared:
        """The records whose field `by` is one of the `keys`, for expanding a relation."""
        return self._cached(("some", shape, by), lambda: self._compile_some(shape, by))

    async def given(self, shape: Shape, wanted: ParsedFilter | None) -> Prepared:
        """The numbers of those `states` of records, stored or not, that the read rule and the
        filter match."""
        key = ("given", shape)
        prepared: Prepared | None = self._prepared.get(key)
        return prepared or await self._compile_once(
            key, wanted, lambda: self._compile_given(shape, wanted)
        )

    async def _compile_once(
        self, key: Hashable, wanted: ParsedFilter | None, make: Callable[[], P]
    ) -> P:
        """Compiles large filters in a thread, one at a time, to keep the event loop free."""
        if wanted is None or comparisons(wanted.expression) <= MAX_INLINE_COMPARISONS:
            return self._cached(key, make)
        async with self._compiling:
            prepared = await asyncio.to_thread(_completed, make)
        return self._cached(key, lambda: prepared)

    def _cached(self, key: Hashable, make: Callable[[], T]) -> T:
        prepared: T | None = self._prepared.read(key)
        if prepared is None:
            prepared = make()
            self._prepared.put(key, prepared, _bytes_of(prepared))
        return prepared

    def _compile_page(self, shape: Shape, wanted: ParsedFilter | None) -> Prepared:
        compiler, ref, query = self._select(shape)
        if shape.search:
            query = self._filtered(query, compiler, ref, wanted)
            return self._finish(paged(self._found(query, ref, shape.after)), compiler, shape)
        columns = OrderColumns(ref.table.c.created, ref.table.c.id)
        item = _item_of(ref.collection, wanted) if shape.has_tenant else None
        if shape.listing or item is not None:
            items = listed_values.alias()
            if shape.listing:
                query = query.where(listing_rows(items, ref.collection, shape.listing))
            elif item is not None:
                compiler.driving = (item, items)
            query = query.select_from(joined(items, ref.table))
            query = query.where(items.c.tenant_id == sa.bindparam("tenant", required=True))
            columns = OrderColumns(items.c.created, items.c.record_id)
        query = self._filtered(query, compiler, ref, wanted)
        # The planner knows a partial index by its own words: it reads no parameters.
        query = query.where(
            *(dialects.is_not(ref.table.c[name], usual) for name, usual in shape.unusual)
        )
        if shape.after:
            query = query.where(comes_after(columns, ref, shape.sort))
        query = query.order_by(*order_by(shape.sort, compiler, ref, columns))
        return self._finish(paged(query), compiler, shape)

    def _filtered(
        self,
        query: sa.Select[Any],
        compiler: WhereCompiler,
        ref: TableRef,
        wanted: ParsedFilter | None,
    ) -> sa.Select[Any]:
        return query.where(compiler.filter(wanted.expression, ref)) if wanted else query

    def _found(self, query: sa.Select[Any], ref: TableRef, after: bool) -> Any:
        """The query's records that match the search, newest first."""
        found = full_text.found(self._database)
        query = query.select_from(_with_records(found.rows, ref.table)).where(found.test)
        if after:
            query = query.where(found.position < position_after())
        return query.order_by(found.position.desc())

    def _compile_one(self, shape: Shape) -> Prepared:
        compiler, ref, query = self._select(shape)
        query = query.where(ref.table.c.id == sa.bindparam("id", required=True))
        return self._finish(query, compiler, shape)

    def _compile_allowed(self, shape: Shape, rule: str) -> Statement:
        compiler, ref, query = self._select(shape)
        query = query.where(ref.table.c.id == sa.bindparam("id", required=True))
        if rule:
            query = query.where(compiler.trusted(rule, ref))
        return self._database.compile(query.with_only_columns(ref.table.c.id))

    def _compile_buckets(self, collection: Collection, counter: Counter) -> Statement:
        rows = record_counts.c
        wanted = sa.select(rows.bucket, rows.total).where(
            *_totals_of(collection, counter),
            rows.bucket >= sa.bindparam("first", required=True),
            rows.bucket < sa.bindparam("last", required=True),
        )
        limit = sa.bindparam("limit", required=True, type_=dialects.Integer())
        return self._database.compile(wanted.order_by(rows.bucket).limit(limit))

    def _compile_item_totals(self, collection: Collection, counter: Counter) -> Statement:
        rows = record_counts.c
        wanted = sa.select(rows.bucket, rows.total).where(
            *_totals_of(collection, counter),
            dialects.any_of(rows.bucket, sa.bindparam("buckets", required=True)),
        )
        return self._database.compile(wanted)

    def _compile_tenant_totals(self, collection: Collection, summed: str) -> Statement:
        # One that counts every record once.
        counted = next(each.name for each in collection.counters if not each.each)
        rows = record_counts.c
        wanted = sa.select(rows.tenant_id, sa.func.sum(rows.total)).where(
            dialects.any_of(rows.tenant_id, sa.bindparam("tenants", required=True)),
            rows.collection == collection.name,
            rows.counter == (sum_of(summed) if summed else counted),
        )
        return self._database.compile(wanted.group_by(rows.tenant_id))

    def _compile_sum_of_all(self, collection: Collection, name: str) -> Statement:
        rows = record_counts.c
        wanted = sa.select(sa.func.coalesce(sa.func.sum(rows.total), 0)).where(
            rows.collection == collection.name,
            rows.counter == sum_of(name),
            rows.bucket == "",
        )
        return self._database.compile(wanted)

    def _compile_next_due(self, collection: Collection, date: str) -> Statement:
        table, rule = self._tables[collection.name], collection.rules.read
        assert rule is not None
        query = sa.select(sa.func.min(table.c[date])).where(
            table.c.tenant_id == sa.bindparam("tenant", required=True),
            table.c[date] > sa.bindparam("macro_now", required=True),
            # For the partial index, as in the totals.
            table.c[date] > table.c.updated,
        )
        if others := without_date(rule):
            compiler = WhereCompiler(self._registry, self._tables, Access.PUBLIC)
            query = query.where(compiler.trusted(others, TableRef(collection, table)))
        return self._database.compile(query)

    def _compile_given(self, shape: Shape, wanted: ParsedFilter | None) -> Prepared:
        collection = self._registry[shape.collection]
        types = {each.name: each.type for each in self._tables[shape.collection].c}
        states = json_values.json_rows(
            sa.bindparam("states", required=True),
            {NUMBER: dialects.Integer(), **types},
            collection.name,
        )
        compiler = WhereCompiler(self._registry, self._tables, shape.access)
        compiler.has_stored_items = False
        query = sa.select(states.c[NUMBER])
        rule = compiler.rule(collection, states)
        if rule is not None:
            query = query.where(rule)
        query = self._filtered(query, compiler, TableRef(collection, states), wanted)
        return Prepared(
            self._database.compile(query),
            tuple(compiler.comparisons.slots),
            answer_decoder(()),
            compiler.is_slow,
        )

    def _compile_some(self, shape: Shape, by: str) -> Prepared:
        compiler, ref, query = self._select(shape)
        keys: sa.BindParameter[Any] = sa.bindparam("keys", required=True)
        if isinstance(ref.collection.by_name[by], RelationList):
            query = query.where(has_any_item(ref.collection, ref.table, by, keys))
        else:
            query = query.where(dialects.any_of(ref.table.c[by], keys))
        # SQLite would read all records in this order to find the few.
        query = query.order_by(dialects.without_index(ref.table.c.created), ref.table.c.id)
        query = query.limit(sa.bindparam("limit", required=True, type_=dialects.Integer()))
        return self._finish(query, compiler, shape)

    def _compile_total(self, shape: Shape, wanted: ParsedFilter | None) -> PreparedTotal:
        collection = self._registry[shape.collection]
        table = self._tables[shape.collection]
        plan = None if shape.search else self._plan(collection, shape.access, wanted)
        if collection.name == "tenants" and not shape.has_tenant:
            # Each has a counter of its own: to count their rows reads less than to add those up.
            plan = None
        if plan:
            statement = plan.statement(
                collection,
                table,
                has_tenant=shape.has_tenant,
                open_sites=partial(self._of_open_sites, shape),
            )
            return PreparedTotal(self._database.compile(statement), (), plan)
        compiler, ref, query = self._select(shape)
        is_bare = wanted is None and compiler.rule(collection, table) is None
        query = self._filtered(query, compiler, ref, wanted)
        query = query.with_only_columns(sa.func.count(), maintain_column_froms=True)
        if shape.search:
            query = self._count_found(query, ref, is_bare=is_bare)
        is_slow = shape.search or compiler.is_slow
        return PreparedTotal(
            self._database.compile(query), tuple(compiler.comparisons.slots), None, is_slow
        )

    def _count_found(
        self, query: sa.Select[Any], ref: TableRef, *, is_bare: bool
    ) -> sa.Select[Any]:
        """Only from the full-text index if there is no other condition."""
        found = full_text.found(self._database)
        if is_bare:
            return sa.select(sa.func.count()).select_from(found.index).where(found.test)
        return query.select_from(_with_records(found.rows, ref.table)).where(found.test)

    def _plan(
        self, collection: Collection, access: Access, wanted: ParsedFilter | None
    ) -> TotalPlan | None:
        rule = collection.rules_for(access).read
        return plan_total(
            collection,
            conjuncts(parse(rule)) if rule else (),
            conjuncts(wanted.expression) if wanted else (),
        )

    def _select(self, shape: Shape) -> tuple[WhereCompiler, TableRef, sa.Select[Any]]:
        collection = self._registry[shape.collection]
        table = self._tables[shape.collection]
        ref = TableRef(collection, table)
        compiler = WhereCompiler(self._registry, self._tables, shape.access)
        shown = shown_columns(collection, table, shape.shows_rendering)
        query = sa.select(
            *(shown.get(each.name, table.c[each.name]) for each in self.fields(shape))
        )
        if shape.has_tenant:
            query = query.where(table.c.tenant_id == sa.bindparam("tenant", required=True))
        elif (open_sites := self._of_open_sites(shape, table.c.tenant_id)) is not None:
            query = query.where(open_sites)
        rule = compiler.rule(collection, table)
        if rule is not None:
            query = query.where(rule)
        return compiler, ref, query

    def _of_open_sites(self, shape: Shape, tenant_id: Any) -> sa.ColumnElement[bool] | None:
        """Readers without a tenant see all sites but the suspended ones."""
        if shape.has_tenant or shape.access > Access.MEMBER:
            return None
        tenants = self._tables["tenants"].c
        suspended = sa.select(tenants.id).where(tenants.status == "suspended")
        is_open: sa.ColumnElement[bool] = sa.not_(tenant_id.in_(suspended))
        return is_open

    def fields(self, shape: Shape) -> tuple[Field, ...]:
        readable = tuple(self._registry[shape.collection].readable(shape.access).values())
        if shape.with_tenant and TENANT_ID not in readable:
            readable = (*readable, TENANT_ID)
        if shape.names is not None:
            # Expanding needs the id.
            names = {*shape.names, "id"}
            readable = tuple(each for each in readable if each.name in names)
        rendering = self._registry[shape.collection].rendering
        if rendering and shape.shows_rendering and any(e.name == rendering.of for e in readable):
            made_by = self._registry[shape.collection].by_name[rendering.made_by]
            readable = (*readable, made_by)
        return readable

    def _finish(self, query: Any, compiler: WhereCompiler, shape: Shape) -> Prepared:
        fields = self.fields(shape)
        long = [each.name for each in fields if each.is_long] if shape.sized else []
        return Prepared(
            self._database.compile(query, long),
            tuple(compiler.comparisons.slots),
            answer_decoder(fields),
            shape.search or compiler.is_slow,
        )


def _bytes_of(prepared: Any) -> int:
    """An estimate: the names, the slots and the shape grow with the text."""
    statement = prepared if isinstance(prepared, Statement) else prepared.statement
    return 8 * len(statement.text)


def _counter_of_items(collection: Collection, each: str) -> Counter:
    """The one that counts the records of each item of a list field."""
    [counter] = (one for one in collection.counters if one.each == each)
    return counter


def _totals_of(collection: Collection, counter: Counter) -> tuple[sa.ColumnElement[bool], ...]:
    rows = record_counts.c
    return (
        rows.tenant_id == sa.bindparam("tenant", required=True),
        rows.collection == collection.name,
        rows.counter == counter.name,
        rows.total > 0,
    )


def _item_of(collection: Collection, wanted: ParsedFilter | None) -> Expression | None:
    """A condition of the filter that an index of list items can serve."""
    parts = conjuncts(wanted.expression) if wanted else ()
    return next((part for part in parts if is_item_lookup(collection, part)), None)


def _with_records(documents: FromClause, table: FromClause) -> FromClause:
    key = full_text.documents.c
    return dialects.ordered_join(
        documents, table, sa.and_(table.c.tenant_id == key.tenant_id, table.c.id == key.record_id)
    )


def _completed(make: Callable[[], P]) -> P:
    """With its statement compiled, which would otherwise happen at its first use."""
    prepared = make()
    _ = prepared.statement.text
    return prepared
