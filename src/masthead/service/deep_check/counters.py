"""Compares the stored totals of a collection with its records: its counters and its sums."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import sqlalchemy as sa

from masthead.engine.records.collection import Collection, Counter
from masthead.engine.records.tables import record_counts, sum_of
from masthead.service.deep_check.faults import DONE, Batch, Cursor, Fault, Look, Site, tenant
from masthead.service.schema import tables
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Statement
from masthead.storage.snapshot import Snapshot

ATTEMPTS = 20
"""How often a repair tries, while others change the same total."""

Bucket = tuple[str, str]
"""The name of a counter, and the bucket."""


def has_totals(collection: Collection) -> bool:
    return bool(collection.counters or collection.sums)


async def check_totals(
    look: Look, collection: Collection, site: Site, after: Cursor
) -> AsyncIterator[Batch]:
    if after:
        return
    stored, counted = await _totals(look, site, collection)
    faults = [
        Fault(
            "counters",
            collection.name,
            _shown(bucket),
            f"{stored.get(bucket, 0):,} are stored, {counted.get(bucket, 0):,} are there",
            partial(_repair, look, site, collection, bucket),
        )
        for bucket in sorted(stored.keys() | counted.keys())
        if stored.get(bucket, 0) != counted.get(bucket, 0)
    ]
    yield Batch(DONE, len(counted), faults)


def _shown(bucket: Bucket) -> str:
    name, values = bucket
    return f"{name}={values}".replace("\x1f", ",") if name else "all"


async def _totals(
    look: Look, site: Site, collection: Collection
) -> tuple[dict[Bucket, int], dict[Bucket, int]]:
    """The stored totals, and those of the records at the same moment."""
    async with look.snapshot() as snapshot:
        declared = {each.name for each in collection.counters} | set(map(sum_of, collection.sums))
        rows = await snapshot.fetch(
            look.statement("totals", _stored)({"tenant": site.id, "collection": collection.name})
        )
        stored = {
            (str(name), str(bucket)): int(total) for name, bucket, total in rows if name in declared
        }
        counted: dict[Bucket, int] = {}
        for counter in collection.counters:
            await _count(look, snapshot, site, collection, counter=counter, counted=counted)
        for name in collection.sums:
            statement = look.statement(
                ("sum", collection.name, name), partial(_sum, collection, name)
            )
            ((total,),) = await snapshot.fetch(statement({"tenant": site.id}))
            counted[sum_of(name), ""] = int(total)
    return stored, counted


async def _count(
    look: Look,
    snapshot: Snapshot,
    site: Site,
    collection: Collection,
    *,
    counter: Counter,
    counted: dict[Bucket, int],
) -> None:
    key = ("count", collection.name, counter.name)
    statement: Statement = look.statement(key, partial(_groups, collection, counter))
    decoders = [type(collection.by_name[name]).decode for name in counter.fields]
    for *values, number in await snapshot.fetch(statement({"tenant": site.id})):
        try:
            record = {
                name: decode(value) if decode else value
                for name, decode, value in zip(counter.fields, decoders, values, strict=True)
            }
        except (ValueError, TypeError):
            # The check of the records says so.
            continue
        for bucket in counter.buckets(record):
            at = (counter.name, bucket)
            counted[at] = counted.get(at, 0) + number


async def _repair(look: Look, site: Site, collection: Collection, bucket: Bucket) -> None:
    """Corrects a total by what it is wrong by, unless it has changed since it was read: whatever
    happens at the same time adds to it or subtracts from it."""
    for _ in range(ATTEMPTS):
        stored, counted = await _totals(look, site, collection)
        seen, right = stored.get(bucket), counted.get(bucket, 0)
        if (seen or 0) == right:
            return
        values = {
            "tenant": site.id,
            "collection": collection.name,
            "of_counter": bucket[0],
            "of_bucket": bucket[1],
            "right": right,
            "seen": seen or 0,
        }
        if seen is None:
            missing = look.statement("missing total", _missing)
            names = ("tenant_id", "collection", "counter", "bucket", "total")
            row = (site.id, collection.name, *bucket, right)
            bound = missing(dict(zip(names, row, strict=True)))
        else:
            bound = look.statement("correct total", _correction)(values)
        async with look.parts.database.transaction(EVERY_TENANT) as tx:
            changed = await tx.execute(*bound)
        if changed:
            return


def _stored() -> sa.Select[Any]:
    t = record_counts.c
    return sa.select(t.counter, t.bucket, t.total).where(
        t.tenant_id == tenant, t.collection == sa.bindparam("collection", required=True)
    )


def _groups(collection: Collection, counter: Counter) -> sa.Select[Any]:
    t = tables[collection.name].c
    columns = [t[name] for name in counter.fields]
    counted = sa.select(*columns, sa.func.count()).where(t.tenant_id == tenant)
    return counted.group_by(*columns) if columns else counted


def _sum(collection: Collection, name: str) -> sa.Select[Any]:
    t = tables[collection.name].c
    total: Any = sa.func.coalesce(sa.func.sum(t[name]), sa.literal_column("0"))
    return sa.select(sa.cast(total, dialects.Integer())).where(t.tenant_id == tenant)


def _correction() -> sa.Update:
    t = record_counts.c
    return (
        sa.update(record_counts)
        .where(
            t.tenant_id == tenant,
            t.collection == sa.bindparam("collection", required=True),
            t.counter == sa.bindparam("of_counter", required=True),
            t.bucket == sa.bindparam("of_bucket", required=True),
            t.total == sa.bindparam("seen", required=True, type_=dialects.Integer()),
        )
        .values(total=sa.bindparam("right", required=True, type_=dialects.Integer()))
    )


def _missing() -> Any:
    key = ("tenant_id", "collection", "counter", "bucket")
    return dialects.insert_missing(record_counts, key, ("total",))
