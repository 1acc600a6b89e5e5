"""What is kept beside a record, in the transaction that changes it: the totals it is part of, the
items of its lists, and its words for full-text search."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from masthead.ids import TenantId
from masthead.records import search
from masthead.records.collection import Change, Collection, Counter, Record
from masthead.records.listed import indexed_fields, listed_values
from masthead.records.tables import record_counts
from masthead.storage import dialects, full_text
from masthead.storage.database import Database, Transaction

LARGE = 20_000
"""Documents of more characters are read and indexed away from the event loop."""


class Kept:
    def __init__(self, database: Database) -> None:
        compile_ = database.compile
        self._count = compile_(
            dialects.upsert_add(
                record_counts, ("tenant_id", "collection", "counter", "bucket"), "total"
            )
        )
        self._list_item = compile_(sa.insert(listed_values))
        self._unlist = compile_(
            sa.delete(listed_values).where(
                *(column == sa.bindparam(f"key_{column.name}") for column in listed_values.c)
            )
        )
        self._insert_document = compile_(full_text.insert_document())
        self._update_document = compile_(full_text.update_document())
        self._delete_document = compile_(full_text.delete_document())
        overdue = full_text.is_overdue(database.name)
        self._is_overdue = None if overdue is None else compile_(overdue)
        self._write_pending = [
            compile_(each) for each in full_text.write_pending() if overdue is not None
        ]

    async def follow(
        self, tx: Transaction, tenant_id: TenantId, collection: Collection, change: Change
    ) -> None:
        record = change.record
        place = _Place(tx, tenant_id, collection.name, record["created"], record["id"])
        for counter in collection.counters:
            before, after = (_buckets(record, counter) for record in (change.old, change.new))
            await self._move(place, counter.name, before, after)
        for field in indexed_fields(collection):
            before, after = (_items(record, field.name) for record in (change.old, change.new))
            await self._list(place, field.name, before, after)
        if collection.searchable:
            await self._follow_words(place, collection, change)

    async def _move(self, place: _Place, counter: str, before: set[str], after: set[str]) -> None:
        steps = [(bucket, -1) for bucket in before - after]
        steps += [(bucket, 1) for bucket in after - before]
        # Buckets in a fixed order, so that two changes can't wait for each other.
        for bucket, step in sorted(steps):
            values = {
                "tenant_id": place.tenant_id,
                "collection": place.collection,
                "counter": counter,
                "bucket": bucket,
                "total": step,
            }
            await place.tx.execute(self._count, self._count.bind(values))

    async def _list(self, place: _Place, field: str, before: set[str], after: set[str]) -> None:
        for statement, items in ((self._unlist, before - after), (self._list_item, after - before)):
            rows = [
                (place.tenant_id, place.collection, field, item, place.created, place.record_id)
                for item in items
            ]
            if rows:
                await place.tx.execute_many(statement, rows)

    async def _follow_words(self, place: _Place, collection: Collection, change: Change) -> None:
        if change.new is None:
            key = self._delete_document.bind(place.key)
            await place.tx.execute(self._delete_document, key, slow=True)
            return
        if change.old is None:
            await self._insert_words(place, collection, change.new)
        elif any(change.old[each.name] != change.new[each.name] for each in collection.searchable):
            await self._update_words(place, collection, change.new)
        else:
            return
        if self._is_overdue and (await place.tx.fetch(self._is_overdue))[0][0]:
            await self._index(place)

    async def _insert_words(self, place: _Place, collection: Collection, record: Record) -> None:
        words = await _document(collection, record)
        values: dict[str, Any] = {
            "position": search.position_of(place.created, place.record_id),
            "tenant_id": place.tenant_id,
            "collection": place.collection,
            "record_id": place.record_id,
            "prefix": place.prefix,
            "words": words,
        }
        statement, slow = self._insert_document, len(words) > LARGE
        while not await place.tx.execute(statement, statement.bind(values), slow=slow):
            values["position"] += 1

    async def _update_words(self, place: _Place, collection: Collection, record: Record) -> None:
        words = await _document(collection, record)
        values = {**place.key, "new_prefix": place.prefix, "new_words": words}
        statement, slow = self._update_document, len(words) > LARGE
        await place.tx.execute(statement, statement.bind(values), slow=slow)

    async def _index(self, place: _Place) -> None:
        for statement in self._write_pending:
            await place.tx.execute(statement, slow=True)


@dataclass(frozen=True, slots=True)
class _Place:
    """The transaction of a change and the record it is of."""

    tx: Transaction
    tenant_id: TenantId
    collection: str
    created: str
    record_id: str

    @property
    def key(self) -> dict[str, Any]:
        return search.document_key(self.tenant_id, self.collection, self.created, self.record_id)

    @property
    def prefix(self) -> str:
        return search.prefix_of(self.tenant_id, self.collection)


def _buckets(record: Record | None, counter: Counter) -> set[str]:
    return set() if record is None else counter.buckets(record)


def _items(record: Record | None, name: str) -> set[str]:
    return set() if record is None else set(record[name])


async def _document(collection: Collection, record: Record) -> str:
    size = sum(len(record[each.name]) for each in collection.searchable)
    if size <= LARGE:
        return search.document(collection, record)
    return await asyncio.to_thread(search.document, collection, record)
