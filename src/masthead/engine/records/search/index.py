"""The search index is updated asynchronously: a change only queues its record, and an indexer takes
many records at once. A search first indexes the queued records of its own tenant, so it finds them
without a delay.

Extracting and indexing words costs more than the rest of a change, and nearly none of it needs the
write lock. The indexer takes large batches, which cost less for each record. Where others use the
event loop or the write lock meanwhile, it pauses after a batch, the longer the more it had to wait;
otherwise it works without pauses until the queue is empty.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import msgspec
import sqlalchemy as sa
from sqlalchemy import Column, PrimaryKeyConstraint, Table
from sqlalchemy.sql.selectable import FromClause

from masthead.base.errors import StatementTimeout, Unavailable
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.records.collection import Collection, Record, Searched
from masthead.engine.records.read.decoding import RowDecoder
from masthead.engine.records.registry import Registry
from masthead.engine.records.search import terms as search_terms
from masthead.storage import dialects, full_text
from masthead.storage.database import (
    EVERY_TENANT,
    MAX_BYTES,
    Database,
    Row,
    RowsTooLarge,
    Scope,
    Statement,
    Transaction,
    scope_of,
)
from masthead.storage.full_text import Document
from masthead.storage.metadata import metadata

RETRY_SECONDS = 0.01

MAX_DOCUMENT_CHARACTERS = 700_000
"""With prefixes and positions they fit into a `tsvector`, whose limit is a megabyte."""

MAX_INLINE_CHARACTERS = 20_000
"""Longer texts are processed in a thread."""

POLL_SECONDS = 1.0
"""How often the indexer polls an empty queue."""

PAUSE_FACTOR = 100
"""The indexer pauses this many times as long as a batch waited for others."""

ALONE_SECONDS = 0.0002
"""A turn of the event loop in which nothing else ran takes less."""

DEFER_SECONDS = 600.0
OVERDUE_FACTOR = 4
"""After being behind for so long the indexer pauses at most so many times as long as a batch took.
Otherwise the queue would grow for as long as others are busy."""

FEW_RECORDS = 16
"""Are read however long their texts are: `MAX_MARKUP` limits each."""

search_queue = Table(
    "search_queue",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("collection", dialects.Text(), nullable=False),
    Column("record_id", dialects.Text(), nullable=False),
    # The tenant's version of the change that queued it. An indexer that has read an older text
    # leaves the entry in place. The record's own version would not do: a deleted record may be
    # created again. Negative if that change created the record: then it is not in the index yet.
    Column("version", dialects.Integer(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "collection", "record_id"),
    sqlite_with_rowid=False,
)


def queue_for_indexing() -> Any:
    """Parameters: the columns, in their order."""
    return dialects.upsert_set(search_queue, _KEY, ("version",))


def remove_from_queue() -> sa.Delete:
    return sa.delete(search_queue).where(*_equal(search_queue, *_KEY))


def queue_all_records(table: sa.Table, collection: Collection) -> sa.Insert:
    """For an empty index: queues every record of the collection that is not queued yet."""
    kind: sa.ColumnElement[Any] = sa.literal_column(f"'{collection.name}'")
    never_indexed: sa.ColumnElement[Any] = sa.literal_column("-1")
    queued = sa.exists().where(
        search_queue.c.tenant_id == table.c.tenant_id,
        search_queue.c.collection == kind,
        search_queue.c.record_id == table.c.id,
    )
    every = sa.select(table.c.tenant_id, kind, table.c.id, never_indexed).where(~queued)
    return sa.insert(search_queue).from_select((*_KEY, "version"), every)


def _claim_entry() -> sa.Delete:
    """Removes an entry, unless it has changed or another transaction has locked it.

    Waiting for that lock could deadlock: the other transaction may wait for entries of this one.
    """
    entry = (*_KEY, "version")
    free = search_queue.alias()
    lock = sa.select(free.c.version).where(*_equal(free, *entry)).with_for_update(skip_locked=True)
    return sa.delete(search_queue).where(*_equal(search_queue, *entry), lock.exists())


_KEY = ("tenant_id", "collection", "record_id")


def _equal(table: FromClause, *names: str) -> list[Any]:
    return [table.c[name] == sa.bindparam(f"key_{name}", required=True) for name in names]


class QueueEntry(NamedTuple):
    tenant_id: str
    collection: str
    record_id: str
    version: int

    def key(self) -> dict[str, Any]:
        return {f"key_{name}": value for name, value in zip(self._fields, self, strict=True)}


class IndexLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of batches and how long a search or the indexer waits."""

    records: int = 256
    """Per transaction of the indexer, for which other writers wait some 30 ms."""
    records_of_a_search: int = 64
    """Per transaction of a search, which its timeout undoes."""
    characters: int = 2_000_000
    """Per transaction, so that it stays below the statement timeout."""
    bytes: int = 8_000_000
    """Bytes of the texts that are read at once, except those of `FEW_RECORDS`."""
    max_before_search: int = 1_000
    """Records that a search indexes first. The indexer does the rest some seconds later."""
    timeout_seconds: float = 2.0
    """After that a search uses the index as it is, as it does when nothing can be written."""
    read_seconds: float = 0.001
    """How long text is processed before control returns to the event loop."""
    max_idle_seconds: float = 5.0
    """The indexer's longest pause."""


DEFAULT_LIMITS = IndexLimits()


class BatchResult(NamedTuple):
    found: int
    indexed: int
    """Fewer than found if other transactions have indexed or changed some records meanwhile."""
    waited_seconds: float
    """For others, who used the event loop or the write lock."""


class SearchIndex:
    def __init__(
        self,
        database: Database,
        registry: Registry,
        tables: Mapping[str, sa.Table],
        limits: IndexLimits = DEFAULT_LIMITS,
    ) -> None:
        self.limits = limits
        self._database = database
        self._waited_seconds = 0.0
        """Sum of the waits for others."""
        self._searchable = [each for each in registry.collections if each.searchable]
        self._tables = tables
        self._take = database.compile(_claim_entry())
        self._insert = database.compile(full_text.insert_documents())
        self._delete = database.compile(full_text.delete_document())
        self._at_positions = database.compile(full_text.taken_positions())
        self._catching_up: WeakValueDictionary[tuple[str, str], asyncio.Lock]
        self._catching_up = WeakValueDictionary()

    @cached_property
    def _waiting(self) -> dict[tuple[str, bool], Statement]:
        """The statements that find queued records, by collection and whether they are a
        tenant's."""
        return {
            (each.name, has_tenant): self._database.compile(
                _waiting(self._tables[each.name], each, has_tenant), counted=_long(each)
            )
            for each in self._searchable
            for has_tenant in (True, False)
        }

    async def catch_up(self, tenant_id: TenantId, collection: Collection) -> bool:
        """Indexes the queued records before a search. Returns whether all of them are indexed."""
        # One at a time: concurrent searches would all process the same texts.
        lock = self._catching_up.setdefault((tenant_id, collection.name), asyncio.Lock())
        try:
            async with asyncio.timeout(self.limits.timeout_seconds), lock:
                return await self._catch_up(tenant_id, collection)
        except (TimeoutError, Unavailable, StatementTimeout):
            log.warning("search.index_behind", tenant_id=tenant_id)
            return False

    async def _catch_up(self, tenant_id: TenantId, collection: Collection) -> bool:
        indexed = 0
        while indexed < self.limits.max_before_search:
            found = await self.find_waiting(collection, tenant_id)
            if not found:
                return True
            taken = await self.index(scope_of(tenant_id), found)
            indexed += taken
            if not taken:
                await asyncio.sleep(RETRY_SECONDS)
        return False

    async def run_batch(self) -> BatchResult:
        """Indexes a batch of queued records of each collection, of any tenants."""
        found = indexed = 0
        waited_before = self._waited_seconds
        for collection in self._searchable:
            waiting = await self.find_waiting(collection, None)
            found += len(waiting)
            if waiting:
                indexed += await self.index(EVERY_TENANT, waiting)
        return BatchResult(found, indexed, self._waited_seconds - waited_before)

    async def find_waiting(
        self, collection: Collection, tenant_id: TenantId | None
    ) -> list[tuple[QueueEntry, Document]]:
        """A batch of queue entries with their documents."""
        limits = self.limits
        records = limits.records if tenant_id is None else limits.records_of_a_search
        try:
            rows = await self._fetch(collection, tenant_id, records)
        except RowsTooLarge:
            rows = await self._fetch(collection, tenant_id, FEW_RECORDS)
        return await self._read_all(collection, rows)

    async def _fetch(
        self, collection: Collection, tenant_id: TenantId | None, records: int
    ) -> list[Row]:
        statement = self._waiting[collection.name, tenant_id is not None]
        max_bytes = self.limits.bytes if records > FEW_RECORDS else sys.maxsize
        values = {"tenant": tenant_id, "limit": records, MAX_BYTES: max_bytes}
        return await self._database.fetch(
            _scope(tenant_id),
            *statement(values),
            # A batch of the indexer is never short, and a search has a few records at most.
            slow=tenant_id is None,
            max_bytes=max_bytes,
        )

    async def _read_all(
        self, collection: Collection, rows: Sequence[Row]
    ) -> list[tuple[QueueEntry, Document]]:
        """As many as fit into a transaction. Others run in between."""
        found: list[tuple[QueueEntry, Document]] = []
        characters = 0
        began = time.perf_counter()
        for row in rows:
            each = await _read(collection, row)
            characters += len(each[1].words)
            if found and characters > self.limits.characters:
                break
            found.append(each)
            if time.perf_counter() - began >= self.limits.read_seconds:
                await self._let_others_run()
                began = time.perf_counter()
        return found

    async def _let_others_run(self) -> None:
        began = _now()
        await asyncio.sleep(0)
        seconds = _now() - began
        if seconds > ALONE_SECONDS:
            self._waited_seconds += seconds

    async def write(self, scope: Scope, found: Sequence[tuple[QueueEntry, Document]]) -> int:
        """Returns how many of them were still queued."""
        began = _now()
        async with self._database.transaction(scope) as tx:
            self._waited_seconds += _now() - began
            # An entry may be gone, or newer, since it was read.
            taken = [
                each
                for each in sorted(found, key=_position)
                if await tx.execute(*self._take(each[0].key()))
            ]
            await self._remove(tx, taken)
            documents = [document for _, document in taken]
            await self._insert_all(tx, documents)
        return len(documents)

    async def index(self, scope: Scope, found: Sequence[tuple[QueueEntry, Document]]) -> int:
        """As `write`; a document that the database refuses is indexed without words."""
        try:
            return await self.write(scope, found)
        except Unavailable:
            raise
        # One text that the database refuses must not block all others.
        except Exception:
            if len(found) > 1:
                return sum([await self.index(scope, [each]) for each in found])
            log.exception("search.refused", record=found[0][0])
        ((waiting, document),) = found
        return await self.write(scope, [(waiting, document._replace(words=""))])

    async def _remove(self, tx: Transaction, found: Sequence[tuple[QueueEntry, Document]]) -> None:
        """Removes the former documents. A new record was never in the index."""
        keys = [
            {
                "key_position": document.position,
                "key_tenant": document.tenant_id,
                "key_collection": document.collection,
                "key_record": document.record_id,
            }
            for waiting, document in found
            if waiting.version >= 0
        ]
        if keys:
            await tx.execute_many(self._delete, [self._delete.bind(each) for each in keys])

    async def _insert_all(self, tx: Transaction, documents: list[Document]) -> None:
        while documents:
            rows = full_text.document_rows(documents)
            inserted = await tx.execute(self._insert, (rows,), slow=True)
            if inserted == len(documents):
                return
            documents = await self._move_taken(tx, documents)

    async def _move_taken(self, tx: Transaction, documents: list[Document]) -> list[Document]:
        """The documents whose position another record has, moved to the next position."""
        positions = self._database.list_value([each.position for each in documents])
        taken = await tx.fetch(self._at_positions, (positions,))
        inserted = {tuple(row) for row in taken}
        return [
            each._replace(position=each.position + 1)
            for each in documents
            if each[:4] not in inserted
        ]


def _searched_rows(collection: Collection) -> RowDecoder:
    """Decodes the columns that `_waiting` selects after the key."""
    names = (each.name for each in collection.searchable)
    return RowDecoder({name: type(collection.by_name[name]).decode for name in names})


async def _read(collection: Collection, row: Row) -> tuple[QueueEntry, Document]:
    tenant_id, record_id, version, created, *texts = row
    waiting = QueueEntry(tenant_id, collection.name, record_id, version)
    return waiting, await _make_document(waiting, created, collection, texts)


async def _make_document(
    waiting: QueueEntry, created: str, collection: Collection, row: Row
) -> Document:
    try:
        words = await _words_of(collection, row)
    # One text that can't be read must not block all others: it is indexed without words.
    except Exception:
        log.exception("search.unreadable", record=waiting)
        words = ""
    return Document(
        search_terms.position_of(created, waiting.record_id),
        waiting.tenant_id,
        waiting.collection,
        waiting.record_id,
        search_terms.prefix_of(waiting.tenant_id, waiting.collection),
        words,
    )


async def _words_of(collection: Collection, row: Row) -> str:
    record = _searched_rows(collection).record(row)
    if sum(len(value) for value in record.values()) <= MAX_INLINE_CHARACTERS:
        return indexed_words(collection, record)
    return await asyncio.to_thread(indexed_words, collection, record)


def indexed_words(collection: Collection, record: Record) -> str:
    """The words of a record's document."""
    words = search_terms.document(collection, record)
    if len(words) > MAX_DOCUMENT_CHARACTERS:
        words = words[:MAX_DOCUMENT_CHARACTERS].rpartition(" ")[0]
    return words


def _scope(tenant_id: TenantId | None) -> Scope:
    return EVERY_TENANT if tenant_id is None else scope_of(tenant_id)


def _position(found: tuple[QueueEntry, Document]) -> int:
    return found[1].position


def _waiting(table: sa.Table, collection: Collection, has_tenant: bool) -> sa.Select[Any]:
    """Queue entries joined with the current records."""
    queue = search_queue
    query = (
        sa.select(
            queue.c.tenant_id,
            queue.c.record_id,
            queue.c.version,
            table.c.created,
            *(_indexed_part(table.c[each.name], each) for each in collection.searchable),
        )
        .select_from(
            dialects.ordered_join(
                queue,
                table,
                sa.and_(table.c.tenant_id == queue.c.tenant_id, table.c.id == queue.c.record_id),
            )
        )
        .where(queue.c.collection == collection.name)
        .limit(sa.bindparam("limit", required=True, type_=dialects.Integer()))
    )
    if has_tenant:
        query = query.where(queue.c.tenant_id == sa.bindparam("tenant", required=True))
    return query


def _indexed_part(column: Column[Any], searched: Searched) -> Any:
    if not searched.is_html:
        return column
    return sa.func.substr(column, 1, search_terms.MAX_MARKUP).label(column.name)


def _long(collection: Collection) -> tuple[str, ...]:
    return tuple(each.name for each in collection.searchable if each.is_html)


class Indexer:
    """Indexes queued records in the background."""

    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        self._stopping = asyncio.Event()
        self._behind_since: float | None = None

    def stop(self) -> None:
        self._stopping.set()

    async def run_forever(self) -> None:
        while not self._stopping.is_set():
            idle_seconds = POLL_SECONDS
            try:
                idle_seconds = await self.run_batch()
            # Entries stay in the queue, so that any failure is retried.
            except Exception:
                log.exception("search.index_failed")
            await self._idle(idle_seconds)

    async def run_batch(self) -> float:
        """Indexes a batch; returns for how many seconds to pause."""
        limits, began = self._index.limits, _now()
        batch = await self._index.run_batch()
        ended = _now()
        if batch.found < limits.records:
            self._behind_since = None
        elif self._behind_since is None:
            self._behind_since = began
        if not batch.indexed:
            return POLL_SECONDS
        pause = min(batch.waited_seconds * PAUSE_FACTOR, limits.max_idle_seconds)
        is_overdue = ended - (self._behind_since or ended) > DEFER_SECONDS
        return min(pause, (ended - began) * OVERDUE_FACTOR) if is_overdue else pause

    async def _idle(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


def _now() -> float:
    return asyncio.get_running_loop().time()
