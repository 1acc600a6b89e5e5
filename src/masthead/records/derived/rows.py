"""What is kept beside a record, in the transaction that changes it: the totals it is part of, the
items of its lists, and whether its words wait for the search index."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from masthead.ids import TenantId
from masthead.records.collection import Change, Collection, Counter, Record
from masthead.records.derived.list_items import listed_values
from masthead.records.search import terms as search_terms
from masthead.records.search.index import forget_words, queue_words
from masthead.records.tables import record_counts
from masthead.storage import dialects, full_text
from masthead.storage.database import Database, Transaction


class Kept:
    def __init__(self, database: Database) -> None:
        compile_ = database.compile
        self._count = compile_(
            dialects.upsert_add(
                record_counts, ("tenant_id", "collection", "counter", "bucket"), "total"
            )
        )
        self._list_item = compile_(
            dialects.insert_missing(listed_values, [c.name for c in listed_values.c], ())
        )
        self._unlist = compile_(
            sa.delete(listed_values).where(
                *(column == sa.bindparam(f"key_{column.name}") for column in listed_values.c)
            )
        )
        self._queue_words = compile_(queue_words())
        self._forget_words = compile_(forget_words())
        self._delete_document = compile_(full_text.delete_document())

    async def follow(
        self,
        tx: Transaction,
        tenant_id: TenantId,
        number: int,
        collection: Collection,
        change: Change,
    ) -> None:
        """`number` tells the tenant's changes apart."""
        record = change.record
        place = _Place(tx, tenant_id, number, collection.name, record["created"], record["id"])
        await self._count_change(place, collection, change)
        for field in collection.indexed_lists:
            before, after = _items(change.old, field.name), _items(change.new, field.name)
            if before or after:
                await self._list(place, field.name, before, after)
        if collection.searchable:
            await self._follow_words(place, collection, change)

    async def _count_change(self, place: _Place, collection: Collection, change: Change) -> None:
        rows = []
        for counter in collection.counters:
            before, after = _buckets(change.old, counter), _buckets(change.new, counter)
            key = (place.tenant_id, place.collection, counter.name)
            if before:
                rows += [(*key, bucket, -1) for bucket in before - after]
            rows += [(*key, bucket, 1) for bucket in after - before]
        await place.tx.defer(self._count, rows, adding=True)

    async def _list(self, place: _Place, field: str, before: set[str], after: set[str]) -> None:
        for statement, items in ((self._unlist, before - after), (self._list_item, after - before)):
            rows = [
                (place.tenant_id, place.collection, field, item, place.created, place.record_id)
                for item in items
            ]
            if rows:
                await place.tx.defer(statement, rows)

    async def _follow_words(self, place: _Place, collection: Collection, change: Change) -> None:
        if change.new is None:
            await self._remove_words(place)
        elif change.old is None or any(
            change.old[each.name] != change.new[each.name] for each in collection.searchable
        ):
            number = -place.number if change.old is None else place.number
            row = (place.tenant_id, place.collection, place.record_id, number)
            await place.tx.defer(self._queue_words, [row])

    async def _remove_words(self, place: _Place) -> None:
        row = (place.tenant_id, place.collection, place.record_id)
        # At once: whoever indexes has the entry before the document, and so must whoever removes.
        await place.tx.execute(self._forget_words, row)
        document = search_terms.document_key(*row[:2], place.created, place.record_id)
        statement = self._delete_document
        await place.tx.execute(statement, statement.bind(document), slow=True)


class _Place(NamedTuple):
    """The transaction of a change and the record it is of."""

    tx: Transaction
    tenant_id: TenantId
    number: int
    collection: str
    created: str
    record_id: str


def _buckets(record: Record | None, counter: Counter) -> set[str]:
    return set() if record is None else counter.buckets(record)


def _items(record: Record | None, name: str) -> set[str]:
    return set() if record is None else set(record[name])
