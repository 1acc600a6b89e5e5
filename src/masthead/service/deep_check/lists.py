"""Checks the rows of `listed_values`: each record is in exactly the lists that its collection
declares for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from masthead.engine.records.changes import Listing
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.derived.list_items import listed_values
from masthead.service.deep_check.faults import Batch, Cursor, Fault, Here, Look, Site, tenant

ITEMS = 500
_KEYS = 50
"""Rows that are looked up by their keys at once."""
_KEY = ("field", "value", "created", "record_id")


def has_lists(collection: Collection) -> bool:
    return bool(collection.listings or collection.indexed_lists)


async def missing_items(here: Here, records: Sequence[Record]) -> list[Fault]:
    look, snapshot, site, collection = here
    expected = [
        (*listing, record["id"]) for record in records for listing in collection.listed(record)
    ]
    statement = look.statement("items by key", _by_keys)
    found: set[tuple[str, ...]] = set()
    for start in range(0, len(expected), _KEYS):
        keys = expected[start : start + _KEYS]
        keys += keys[-1:] * (_KEYS - len(keys))
        values = {"tenant": site.id, "collection": collection.name}
        for number, key in enumerate(keys):
            values |= {f"{name}_{number}": part for name, part in zip(_KEY, key, strict=True)}
        found |= {tuple(row) for row in await snapshot.fetch(statement(values))}
    lost: dict[str, list[str]] = {}
    for name, value, position, record_id in expected:
        if (name, value, position, record_id) not in found:
            lost.setdefault(record_id, []).append(f"{name} {value!r}")
    return [
        Fault(
            "lists",
            collection.name,
            record_id,
            f"it is not in the list {', '.join(names)}",
            partial(_list_again, look, site, collection, record_id),
        )
        for record_id, names in lost.items()
    ]


async def _list_again(look: Look, site: Site, collection: Collection, record_id: str) -> None:
    async with look.unit(site) as unit:
        await unit.list_again(collection, record_id)


async def check_items(
    look: Look, collection: Collection, site: Site, after: Cursor
) -> AsyncIterator[Batch]:
    """Finds rows of records that are not in the list, or do not exist any more."""
    after = after or ("", "", "", "")
    statement = look.statement("items after", _after)
    while True:
        async with look.snapshot() as snapshot:
            values = {"tenant": site.id, "collection": collection.name}
            values |= {f"last_{name}": part for name, part in zip(_KEY, after, strict=True)}
            rows = [tuple(row) for row in await snapshot.fetch(statement(values))]
            if not rows:
                return
            here = Here(look, snapshot, site, collection)
            listed = await _listed(here, {row[-1] for row in rows})
        faults = [
            Fault(
                "lists",
                collection.name,
                row[-1],
                f"it is in the list {row[0]} {row[1]!r}, to which it does not belong",
                partial(_remove, look, site, collection, row),
            )
            for row in rows
            if not _is_listed(row, listed)
        ]
        after = rows[-1]
        yield Batch(after, len(rows), faults)


def _is_listed(row: tuple[str, ...], listed: dict[str, set[Listing] | None]) -> bool:
    lists = listed.get(row[-1], set())
    # The lists of a record that can't be read are not known.
    return lists is None or Listing(*row[:3]) in lists


async def _listed(here: Here, ids: set[str]) -> dict[str, set[Listing] | None]:
    look, snapshot, site, collection = here
    found: dict[str, set[Listing] | None] = {}
    wanted = sorted(ids)
    # Few at once: each may hold a megabyte.
    for start in range(0, len(wanted), _KEYS):
        some = await look.some(snapshot, site, collection, wanted[start : start + _KEYS])
        found |= {name: collection.listed(each) if each else None for name, each in some.items()}
    return found


async def _remove(look: Look, site: Site, collection: Collection, row: tuple[str, ...]) -> None:
    async with look.unit(site) as unit:
        record_id = row[-1]
        for record in await unit.find(collection, {"id": record_id}, limit=1):
            if Listing(*row[:3]) in collection.listed(record):
                # A change has put it there since.
                return
        key = {f"key_{name}": part for name, part in zip(_KEY, row, strict=True)}
        statement = look.statement("remove item", _removal)
        await unit.execute(statement, {**key, "tenant": site.id, "collection": collection.name})


def _own() -> list[Any]:
    t = listed_values.c
    return [t.tenant_id == tenant, t.collection == sa.bindparam("collection", required=True)]


def _key() -> list[Any]:
    return [listed_values.c[name] for name in _KEY]


def _by_keys() -> sa.CompoundSelect[Any]:
    """A lookup for each key: with one condition for all of them, SQLite would read the whole
    collection's rows."""
    return sa.union_all(*(sa.select(*_key()).where(*_own(), *_is(n)) for n in range(_KEYS)))


def _is(number: int) -> list[Any]:
    return [
        listed_values.c[name] == sa.bindparam(f"{name}_{number}", required=True) for name in _KEY
    ]


def _after() -> sa.Select[Any]:
    last: list[Any] = [sa.bindparam(f"last_{name}", required=True) for name in _KEY]
    return (
        sa.select(*_key())
        .where(*_own(), sa.tuple_(*_key()) > sa.tuple_(*last))
        .order_by(*_key())
        .limit(sa.literal_column(str(ITEMS)))
    )


def _removal() -> sa.Delete:
    key = [listed_values.c[name] == sa.bindparam(f"key_{name}", required=True) for name in _KEY]
    return sa.delete(listed_values).where(*_own(), *key)
