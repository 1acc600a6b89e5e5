"""Checks the search index: each record has one document with its words and is found by them, and
each document has a record. What is queued for indexing is under way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.search import terms
from masthead.engine.records.search.index import indexed_words, queue_for_indexing, search_queue
from masthead.service.deep_check.faults import Batch, Cursor, Fault, Here, Look, Site, tenant
from masthead.service.schema import tables
from masthead.storage import dialects, full_text
from masthead.storage.database import EVERY_TENANT
from masthead.storage.full_text import Term, documents
from masthead.storage.snapshot import Snapshot

DOCUMENTS = 500


async def missing_documents(here: Here, records: Sequence[Record]) -> list[Fault]:
    look, _, site, collection = here
    if not collection.searchable or not records:
        return []
    waiting = await _queued(here, [each["id"] for each in records])
    faults = []
    for record in records:
        if record["id"] in waiting:
            continue
        if problem := await _problem(here, record):
            again = partial(_index_again, look, site, collection, record["id"])
            faults.append(Fault("search", collection.name, record["id"], problem, again))
    return faults


async def _problem(here: Here, record: Record) -> str:
    look, snapshot, site, collection = here
    words = indexed_words(collection, record)
    key = terms.document_key(site.id, collection.name, record["created"], record["id"])
    found = await snapshot.fetch(look.statement("document", _document)({**key, "words": words}))
    if not found:
        return "it is not in the search index"
    ((position, is_same),) = found
    if not is_same:
        return "the search index has other words of it"
    # The longest is mostly the rarest.
    longest = max(words.split(), key=len, default="")
    if longest:
        prefix = terms.prefix_of(site.id, collection.name)
        query = full_text.search_values(look.parts.database, prefix, [Term((longest,))])
        statement = look.statement("search", lambda: _search(look))
        if not await snapshot.fetch(statement({**query, "position": position})):
            return "a search for one of its words does not find it"
    return ""


async def _index_again(look: Look, site: Site, collection: Collection, record_id: str) -> None:
    async with look.unit(site) as unit:
        # Not negative: it may be in the index.
        row = (site.id, collection.name, record_id, 0)
        statement = look.statement("queue", queue_for_indexing)
        names = ("tenant_id", "collection", "record_id", "version")
        await unit.execute(statement, dict(zip(names, row, strict=True)))
    await look.parts.records.search_index.catch_up(site.id, collection)


async def _queued(here: Here, ids: Sequence[str]) -> set[str]:
    look, snapshot, site, collection = here
    values = {"tenant": site.id, "collection": collection.name, "ids": look.list_value(ids)}
    rows = await snapshot.fetch(look.statement("queued", _waiting)(values))
    return {record_id for (record_id,) in rows}


async def check_documents(look: Look, _: Site, after: Cursor) -> AsyncIterator[Batch]:
    """Finds documents without a record, of all sites: the table is in the order of positions."""
    last = after[0] if after else -1
    statement = look.statement("documents after", _documents_after)
    while True:
        async with look.snapshot() as snapshot:
            rows = await snapshot.fetch(statement({"after": last}))
            if not rows:
                return
            groups: dict[tuple[str, str], dict[str, int]] = {}
            for position, tenant_id, collection, record_id in rows:
                groups.setdefault((tenant_id, collection), {})[record_id] = position
            faults = []
            for (tenant_id, collection), positions in groups.items():
                faults += await _without_record(
                    look, snapshot, tenant_id, collection, positions=positions
                )
        last = rows[-1][0]
        yield Batch((last,), len(rows), faults)


async def _without_record(
    look: Look,
    snapshot: Snapshot,
    tenant_id: str,
    collection: str,
    *,
    positions: dict[str, int],
) -> list[Fault]:
    found: set[str] = set()
    if collection in tables:
        found = await look.existing(snapshot, tenant_id, collection, list(positions))
    return [
        Fault(
            "search",
            collection,
            each,
            "the search index has a record that does not exist",
            partial(_remove, look, tenant_id, collection, each, position=position),
        )
        for each, position in positions.items()
        if each not in found
    ]


async def _remove(
    look: Look, tenant_id: str, collection: str, record_id: str, *, position: int
) -> None:
    """If a record with this id is created meanwhile, it is queued, and indexed after this."""
    statement = look.statement("remove document", full_text.delete_document)
    key = {
        "key_position": position,
        "key_tenant": tenant_id,
        "key_collection": collection,
        "key_record": record_id,
    }
    async with look.parts.database.transaction(EVERY_TENANT) as tx:
        await tx.execute(*statement(key), slow=True)


def _document() -> sa.Select[Any]:
    position = full_text.position_of_record().scalar_subquery()
    return sa.select(documents.c.position, full_text.has_words()).where(
        documents.c.position == position
    )


def _search(look: Look) -> sa.Select[Any]:
    search = full_text.found(look.parts.database)
    wanted = sa.bindparam("position", required=True, type_=dialects.Integer())
    return (
        sa.select(sa.literal_column("1"))
        .select_from(search.index)
        .where(search.position == wanted, search.test)
    )


def _waiting() -> sa.Select[Any]:
    q = search_queue.c
    return sa.select(q.record_id).where(
        q.tenant_id == tenant,
        q.collection == sa.bindparam("collection", required=True),
        dialects.any_of(q.record_id, sa.bindparam("ids", required=True)),
    )


def _documents_after() -> sa.Select[Any]:
    d = documents.c
    return (
        sa.select(d.position, d.tenant_id, d.collection, d.record_id)
        .where(d.position > sa.bindparam("after", required=True))
        .order_by(d.position)
        .limit(sa.literal_column(str(DOCUMENTS)))
    )
