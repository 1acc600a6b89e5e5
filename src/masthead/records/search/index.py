"""The search index follows the records a little later: a change only notes that a record's words
wait, and they are indexed for many records at once. A search first sees to what waits of its own
tenant, so nobody notices the delay.

Reading a text for its words and indexing them costs more than the rest of a change, and nearly
nothing of it needs the writer's turn. Whoever has to wait for that turn is in somebody's way: so
the background then takes small steps with long rests, until it finds the writer free again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import sqlalchemy as sa
import structlog
from sqlalchemy import Column, PrimaryKeyConstraint, Table
from sqlalchemy.sql.selectable import FromClause

from masthead.errors import StatementTimeout, Unavailable
from masthead.ids import TenantId
from masthead.records.collection import Collection, Registry, Searched
from masthead.records.read.query import Rows
from masthead.records.search import terms as search_terms
from masthead.storage import dialects, full_text
from masthead.storage.database import (
    EVERY_TENANT,
    Database,
    Row,
    Scope,
    Transaction,
    scope_of,
)
from masthead.storage.full_text import Document
from masthead.storage.metadata import metadata

log = structlog.get_logger()

ANOTHER_INDEXES_SECONDS = 0.01

LONGEST = 700_000
"""Characters of one document's words. With their prefixes and places they fit into a `tsvector`,
which PostgreSQL allows a megabyte."""

LARGE = 20_000
"""Texts of more characters are read away from the event loop."""

LOOK_SECONDS = 1.0
"""How often the background looks whether anything waits."""

BUSY_SECONDS = 0.001
"""Whoever waits longer to begin a transaction is in somebody's way: hardly anybody does for a
database that is free, and for a busy one it takes 2 to 100 ms."""

COURTESY = 4
BUSY_COURTESY = 30
"""The background rests this many times as long as a step took."""

DEFER_SECONDS = 600.0
"""Who has not caught up for so long goes on at the usual pace, however busy the writer is: else
what waits would grow for as long as others write, and after that take as long to be indexed."""

search_queue = Table(
    "search_queue",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("collection", dialects.Text(), nullable=False),
    Column("record_id", dialects.Text(), nullable=False),
    # The number of the tenant's change that queued it: whoever has read an older text leaves the
    # entry in place. No record's own version would do, for a deleted one may be made again.
    # Negative when that change has made the record: then nothing of it is in the index.
    Column("version", dialects.Integer(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "collection", "record_id"),
    sqlite_with_rowid=False,
)


def queue_words() -> Any:
    """Parameters: the columns, in their order."""
    return dialects.upsert_set(search_queue, _KEY, ("version",))


def forget_words() -> sa.Delete:
    return sa.delete(search_queue).where(*_equal(search_queue, *_KEY))


def queue_all_words(table: sa.Table, collection: Collection) -> sa.Insert:
    """For an index that is empty: every record of the collection waits."""
    kind: sa.ColumnElement[Any] = sa.literal_column(f"'{collection.name}'")
    never_indexed: sa.ColumnElement[Any] = sa.literal_column("-1")
    every = sa.select(table.c.tenant_id, kind, table.c.id, never_indexed)
    return sa.insert(search_queue).from_select((*_KEY, "version"), every)


def _take_words() -> sa.Delete:
    """An entry, unless it has changed or somebody else has it in hand.

    Whoever holds some entries and waits for another might wait for a change that waits for those.
    """
    entry = (*_KEY, "version")
    free = search_queue.alias()
    lock = sa.select(free.c.version).where(*_equal(free, *entry)).with_for_update(skip_locked=True)
    return sa.delete(search_queue).where(*_equal(search_queue, *entry), lock.exists())


_KEY = ("tenant_id", "collection", "record_id")


def _equal(table: FromClause, *names: str) -> list[Any]:
    return [table.c[name] == sa.bindparam(f"key_{name}", required=True) for name in names]


class Waiting(NamedTuple):
    """An entry of the queue."""

    tenant_id: str
    collection: str
    record_id: str
    version: int

    def key(self) -> dict[str, Any]:
        return {f"key_{name}": value for name, value in zip(self._fields, self, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much at a time, and how long somebody waits for it."""

    records: int = 64
    """To be indexed in one transaction: others wait for it."""
    records_when_busy: int = 16
    """Of the background, while others want the writer."""
    characters: int = 2_000_000
    """Of words in one transaction, so that no step takes as long as a statement may."""
    before_a_search: int = 1_000
    """Who has just imported more than that finds the rest of it some seconds later."""
    patience_seconds: float = 2.0
    """After that a search answers from what is in the index: so it does when nothing can be
    written."""
    read_seconds: float = 0.001
    """After so long over the texts the event loop has its turn."""
    longest_rest_seconds: float = 5.0
    """Of the background."""


USUAL = Bounds()


class Step(NamedTuple):
    found: int
    indexed: int
    """Fewer, if others have done it or have changed the records in the meantime."""
    waited_seconds: float
    """For the turn to write."""


class SearchIndex:
    def __init__(
        self,
        database: Database,
        registry: Registry,
        tables: Mapping[str, sa.Table],
        bounds: Bounds = USUAL,
    ) -> None:
        self.bounds = bounds
        self._database = database
        self._waited_seconds = 0.0
        """For turns to write, all together."""
        self._searchable = [each for each in registry.collections if each.searchable]
        self._waiting = {
            (each.name, has_tenant): database.compile(_waiting(tables[each.name], each, has_tenant))
            for each in self._searchable
            for has_tenant in (True, False)
        }
        self._take = database.compile(_take_words())
        self._insert = database.compile(full_text.insert_documents())
        self._delete = database.compile(full_text.delete_document())
        self._at_positions = database.compile(full_text.taken_positions())
        self._catching_up: WeakValueDictionary[tuple[str, str], asyncio.Lock]
        self._catching_up = WeakValueDictionary()

    async def catch_up(self, tenant_id: TenantId, collection: Collection) -> bool:
        """What a search is about to look for is in the index, if that can be brought about;
        returns whether it was."""
        # One at a time: many searches at once would all read the same texts.
        turn = self._catching_up.setdefault((tenant_id, collection.name), asyncio.Lock())
        try:
            async with asyncio.timeout(self.bounds.patience_seconds), turn:
                return await self._catch_up(tenant_id, collection)
        except (TimeoutError, Unavailable, StatementTimeout):
            log.warning("search.index_behind", tenant_id=tenant_id)
            return False

    async def _catch_up(self, tenant_id: TenantId, collection: Collection) -> bool:
        indexed = 0
        while indexed < self.bounds.before_a_search:
            found = await self.waiting(collection, tenant_id)
            if not found:
                return True
            taken = await self.index(scope_of(tenant_id), found)
            indexed += taken
            if not taken:
                await asyncio.sleep(ANOTHER_INDEXES_SECONDS)
        return False

    async def index_some(self) -> int:
        """A step of what waits, whosever it is; returns how many records that were."""
        return (await self.step(self.bounds.records)).indexed

    async def step(self, records: int) -> Step:
        """At most so many of what waits in each collection, whosever they are."""
        found = indexed = 0
        waited_before = self._waited_seconds
        for collection in self._searchable:
            waiting = await self.waiting(collection, None, records)
            found += len(waiting)
            if waiting:
                indexed += await self.index(EVERY_TENANT, waiting)
        return Step(found, indexed, self._waited_seconds - waited_before)

    async def waiting(
        self, collection: Collection, tenant_id: TenantId | None, records: int | None = None
    ) -> list[tuple[Waiting, Document]]:
        """A step of what waits, with what the index is to hold of each."""
        statement = self._waiting[collection.name, tenant_id is not None]
        values = statement.bind({"tenant": tenant_id, "limit": records or self.bounds.records})
        rows = await self._database.fetch(_scope(tenant_id), statement, values)
        found = await _read_all(collection, rows, self.bounds.read_seconds)
        return _as_many_as_fit(found, self.bounds.characters)

    async def write(self, scope: Scope, found: Sequence[tuple[Waiting, Document]]) -> int:
        """Returns how many of them were still to be indexed."""
        asked = _now()
        async with self._database.transaction(scope) as tx:
            self._waited_seconds += _now() - asked
            documents = []
            for waiting, document in sorted(found, key=_position):
                # Gone or changed in the meantime: then it waits no more, or waits again.
                if await tx.execute(self._take, self._take.bind(waiting.key())):
                    await self._remove(tx, waiting, document)
                    documents.append(document)
            await self._insert_all(tx, documents)
        return len(documents)

    async def index(self, scope: Scope, found: Sequence[tuple[Waiting, Document]]) -> int:
        """Writes what can be written."""
        try:
            return await self.write(scope, found)
        except Unavailable:
            raise
        # One text that the database refuses must not keep everybody's others from the index.
        except Exception:
            if len(found) > 1:
                return sum([await self.index(scope, [each]) for each in found])
            log.exception("search.refused", record=found[0][0])
        ((waiting, document),) = found
        return await self.write(scope, [(waiting, document._replace(words=""))])

    async def _remove(self, tx: Transaction, waiting: Waiting, document: Document) -> None:
        if waiting.version < 0:
            return  # made and not changed since: it was never in the index
        key = {
            "key_position": document.position,
            "key_tenant": document.tenant_id,
            "key_collection": document.collection,
            "key_record": document.record_id,
        }
        await tx.execute(self._delete, self._delete.bind(key))

    async def _insert_all(self, tx: Transaction, documents: list[Document]) -> None:
        while documents:
            rows = full_text.document_rows(documents)
            inserted = await tx.execute(self._insert, (rows,), slow=True)
            if inserted == len(documents):
                return
            documents = await self._moved(tx, documents)

    async def _moved(self, tx: Transaction, documents: list[Document]) -> list[Document]:
        """Those whose position another record has, one further."""
        positions = self._database.list_value([each.position for each in documents])
        taken = await tx.fetch(self._at_positions, (positions,))
        standing = {tuple(row) for row in taken}
        return [
            each._replace(position=each.position + 1)
            for each in documents
            if each[:4] not in standing
        ]


def _searched_rows(collection: Collection) -> Rows:
    """What `_waiting` selects of a record beside its key."""
    names = (each.name for each in collection.searchable)
    return Rows({name: type(collection.by_name[name]).decode for name in names})


async def _read_all(
    collection: Collection, rows: Sequence[Row], seconds: float
) -> list[tuple[Waiting, Document]]:
    """The event loop has its turn after so many seconds."""
    found = []
    began = time.perf_counter()
    for row in rows:
        found.append(await _read(collection, row))
        # After a document that took long, or after several: the others' requests wait for this.
        if time.perf_counter() - began >= seconds:
            await asyncio.sleep(0)
            began = time.perf_counter()
    return found


async def _read(collection: Collection, row: Row) -> tuple[Waiting, Document]:
    tenant_id, record_id, version, created, *texts = row
    waiting = Waiting(tenant_id, collection.name, record_id, version)
    return waiting, await _document(waiting, created, collection, texts)


async def _document(waiting: Waiting, created: str, collection: Collection, row: Row) -> Document:
    record = _searched_rows(collection).record(row)
    if sum(len(value) for value in record.values()) <= LARGE:
        words = search_terms.document(collection, record)
    else:
        words = await asyncio.to_thread(search_terms.document, collection, record)
    if len(words) > LONGEST:
        words = words[:LONGEST].rpartition(" ")[0]
    return Document(
        search_terms.position_of(created, waiting.record_id),
        waiting.tenant_id,
        waiting.collection,
        waiting.record_id,
        search_terms.prefix_of(waiting.tenant_id, waiting.collection),
        words,
    )


def _as_many_as_fit(
    found: list[tuple[Waiting, Document]], characters: int
) -> list[tuple[Waiting, Document]]:
    """As many as have no more words than that, and at least one."""
    lengths = accumulate(len(document.words) for _, document in found)
    return found[: max(1, len(list(takewhile(characters.__ge__, lengths))))]


def _scope(tenant_id: TenantId | None) -> Scope:
    return EVERY_TENANT if tenant_id is None else scope_of(tenant_id)


def _position(found: tuple[Waiting, Document]) -> int:
    return found[1].position


def _waiting(table: sa.Table, collection: Collection, has_tenant: bool) -> sa.Select[Any]:
    """What waits, with the records as they are now."""
    queue = search_queue
    query = (
        sa.select(
            queue.c.tenant_id,
            queue.c.record_id,
            queue.c.version,
            table.c.created,
            *(_as_far_as_it_is_read(table.c[each.name], each) for each in collection.searchable),
        )
        .select_from(
            dialects.in_order(
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


def _as_far_as_it_is_read(column: Column[Any], searched: Searched) -> Any:
    return sa.func.substr(column, 1, search_terms.MAX_MARKUP) if searched.is_html else column


class Indexer:
    """Indexes what waits, in the background and with pauses, so that changes find the writer free
    most of the time."""

    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        self._stopping = asyncio.Event()
        self._is_deferring = False
        self._behind_since: float | None = None

    def stop(self) -> None:
        self._stopping.set()

    async def run_forever(self) -> None:
        while not self._stopping.is_set():
            rest = LOOK_SECONDS
            try:
                rest = await self.step()
            # Whatever went wrong is tried again: what waits stays in the queue.
            except Exception:
                log.exception("search.index_failed")
            await self._rest(rest)

    async def step(self) -> float:
        """Returns for how many seconds to rest after it."""
        bounds, began = self._index.bounds, _now()
        records = bounds.records_when_busy if self._is_deferring else bounds.records
        step = await self._index.step(records)
        ended = _now()
        if step.found < records:
            self._behind_since = None
        elif self._behind_since is None:
            self._behind_since = began
        is_overdue = ended - (self._behind_since or ended) > DEFER_SECONDS
        self._is_deferring = step.waited_seconds > BUSY_SECONDS and not is_overdue
        if not step.indexed:
            return LOOK_SECONDS
        courtesy = BUSY_COURTESY if self._is_deferring else COURTESY
        return min((ended - began) * courtesy, bounds.longest_rest_seconds)

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


def _now() -> float:
    return asyncio.get_running_loop().time()
