"""Rows derived from a record and written in the transaction that changes it: its counters, the
counts of days, the items of its lists, and its entry in the search queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import sqlalchemy as sa

from masthead.base.ids import TenantId
from masthead.engine.records.changes import Change, Relisted, Tally
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.derived.daily_counts import DailyCounts
from masthead.engine.records.derived.list_items import listed_values
from masthead.engine.records.search import terms as search_terms
from masthead.engine.records.search.index import queue_for_indexing, remove_from_queue
from masthead.engine.records.tables import record_counts, sum_of
from masthead.storage import dialects, full_text
from masthead.storage.database import Database, Deferral, Transaction


def _taken_back(collection: Collection, record: Record, now: str) -> Iterator[Tally]:
    """The counts that its creation gave, from the same days."""
    for each in collection.tallies(Change(None, record), now):
        yield each._replace(number=-each.number)


class DerivedRows:
    def __init__(self, database: Database, daily: DailyCounts) -> None:
        compile_ = database.compile
        self._add_to_counter = compile_(
            dialects.upsert_add(
                record_counts, ("tenant_id", "collection", "counter", "bucket"), "total"
            )
        )
        self._daily = daily
        self._insert_item = compile_(
            dialects.insert_missing(listed_values, [c.name for c in listed_values.c], ())
        )
        self._delete_item = compile_(
            sa.delete(listed_values).where(
                *(column == sa.bindparam(f"key_{column.name}") for column in listed_values.c)
            )
        )
        self._queue = compile_(queue_for_indexing())
        self._unqueue = compile_(remove_from_queue())
        self._delete_document = compile_(full_text.delete_document())

    async def update(
        self,
        tx: Transaction,
        tenant_id: TenantId,
        version: int,
        now: str,
        *,
        collection: Collection,
        change: Change,
        relisted: Relisted,
        taken_back: bool = False,
    ) -> None:
        """`version` is the tenant's version that this change takes. A record that is `taken_back`
        is deleted as if it had never been created."""
        record = change.record
        key = _RecordKey(tenant_id, collection.name, record["created"], record["id"])
        tallies = (
            _taken_back(collection, record, now) if taken_back else collection.tallies(change, now)
        )
        tx.defer(
            Deferral(self._add_to_counter, _counter_rows(key, collection, change), adding=True),
            self._daily.deferral([(tenant_id, each) for each in tallies]),
            *self._items(key, relisted),
        )
        if not collection.searchable:
            return
        if change.new is None:
            await self._remove_document(tx, key)
        elif change.touches(collection.searched_names):
            queued_version = -version if change.old is None else version
            row = (tenant_id, collection.name, record["id"], queued_version)
            tx.defer(Deferral(self._queue, [row]))

    async def list_again(
        self, tx: Transaction, tenant_id: TenantId, collection: Collection, record: Record
    ) -> None:
        """Writes the listings of a record that was saved before the collection had them."""
        key = _RecordKey(tenant_id, collection.name, record["created"], record["id"])
        tx.defer(*self._items(key, Relisted(set(), collection.listed(record))))

    def add_copy(
        self,
        tx: Transaction,
        tenant_id: TenantId,
        version: int,
        *,
        collection: Collection,
        record: Record,
    ) -> None:
        """Adds the rows of a record that another installation has made. It counts for no day: the
        counts of days are copied as they are."""
        key = _RecordKey(tenant_id, collection.name, record["created"], record["id"])
        counters = _counter_rows(key, collection, Change(None, record))
        tx.defer(
            Deferral(self._add_to_counter, counters, adding=True),
            *self._items(key, Relisted(set(), collection.listed(record))),
        )
        if collection.searchable:
            # Negative: it is not in the index yet.
            row = (tenant_id, collection.name, record["id"], -version)
            tx.defer(Deferral(self._queue, [row]))

    def _items(self, key: _RecordKey, relisted: Relisted) -> list[Deferral]:
        tenant_id, collection, _, record_id = key
        return [
            Deferral(
                statement, [(tenant_id, collection, *listing, record_id) for listing in listings]
            )
            for statement, listings in (
                (self._delete_item, relisted.left),
                (self._insert_item, relisted.joined),
            )
            if listings
        ]

    async def _remove_document(self, tx: Transaction, key: _RecordKey) -> None:
        # Not deferred: the indexer locks the entry before the document, so this has to do the same.
        await tx.execute(self._unqueue, (key.tenant_id, key.collection, key.record_id))
        document = search_terms.document_key(*key)
        statement = self._delete_document
        await tx.execute(*statement(document), slow=True)


class _RecordKey(NamedTuple):
    tenant_id: TenantId
    collection: str
    created: str
    record_id: str


def _counter_rows(
    key: _RecordKey, collection: Collection, change: Change
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    tenant_id, name_of_collection = key.tenant_id, key.collection
    for counter in collection.counters:
        if not change.touches(counter.fields):
            continue
        before = counter.buckets(change.old) if change.old is not None else _NO_BUCKETS
        after = counter.buckets(change.new) if change.new is not None else _NO_BUCKETS
        for bucket in before - after:
            rows.append((tenant_id, name_of_collection, counter.name, bucket, -1))
        for bucket in after - before:
            rows.append((tenant_id, name_of_collection, counter.name, bucket, 1))
    for name in collection.sums:
        change_of_sum = _number(change.new, name) - _number(change.old, name)
        if change_of_sum:
            rows.append((key.tenant_id, key.collection, sum_of(name), "", change_of_sum))
    return rows


def _number(record: Record | None, name: str) -> int:
    return 0 if record is None else int(record[name] or 0)


_NO_BUCKETS: Final[frozenset[str]] = frozenset()
