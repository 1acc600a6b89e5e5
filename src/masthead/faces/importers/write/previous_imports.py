"""Records of earlier imports (table `import_items`), and their current state.

Each method reads or writes a whole batch in one statement. A read runs in the transaction of
`unit`, or outside of any transaction where `unit` is None.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.tables import import_items
from masthead.faces.importers.write.dry_unit import AnyUnit
from masthead.storage import dialects
from masthead.storage.database import Database, Row, Statement, scope_of
from masthead.storage.metadata import all_tables

LONGEST_KEY = 300
"""Bytes. An e-mail address must fit unchanged, because an erasure searches for it."""
ROWS_PER_INSERT = 50
IMAGES = "images"
"""The `source` of copied images, for all platforms."""

_TEXT = ("id", "version", "slug", "status")
_COLUMNS = {
    "posts": _TEXT,
    "pages": _TEXT,
    "products": ("id", "version", "slug"),
    "comments": ("id", "version"),
    "_superusers": ("id", "version", "email"),
    "redirects": ("id", "version", "source", "destination"),
    "media": ("id", "file"),
    "tiers": ("id", "name"),
    "blog_members": (
        *("id", "email", "version", "name", "tier", "payment_customer_id", "note", "labels"),
        "language",
    ),
}
"""The columns of `records`. Lists are stored JSON there."""
_REDIRECT_KEYS = ("redirect:", "redirect;")
"""Before and after all keys of redirects."""
_REDIRECTS_AT_ONCE = 1_000
_ITEM_COLUMNS = ("collection", "record_id", "fingerprint", "record_version", "run_id")


class Item(Struct, frozen=True):
    """The record that an item of an export was imported as."""

    collection: str
    record_id: str
    fingerprint: str
    record_version: int = 1
    run_id: str = ""
    """The run that has created the record."""


def key_of(source_id: str) -> str:
    """The id as it is stored; a digest where it is too long for the index."""
    if len(source_id.encode()) <= LONGEST_KEY:
        return source_id
    return "sha256:" + hashlib.sha256(source_id.encode("utf-8", "surrogatepass")).hexdigest()


class PreviousImports:
    def __init__(self, database: Database, tenant_id: TenantId, run_id: str = "") -> None:
        """`run_id` is of the run that writes; '' where it has no record."""
        self.run_id = run_id
        self._database = database
        self._tenant_id = tenant_id
        self._items = database.compile(
            sa.select(
                import_items.c.source_id, *(import_items.c[name] for name in _ITEM_COLUMNS)
            ).where(
                import_items.c.source == sa.bindparam("source"),
                *_matching(import_items, "source_id"),
            )
        )
        self._upserts: dict[int, Statement] = {}
        self._records: dict[tuple[str, str], Statement] = {}
        of_run = (
            import_items.c.tenant_id == sa.bindparam("tenant"),
            import_items.c.run_id == sa.bindparam("run"),
        )
        of_collection = (*of_run, import_items.c.collection == sa.bindparam("name"))
        some = (*of_collection, dialects.any_of(import_items.c.record_id, sa.bindparam("keys")))
        self._of_run = database.compile(
            sa.select(*(import_items.c[name] for name in _ITEM_COLUMNS))
            .where(*of_collection)
            .limit(sa.bindparam("limit"))
        )
        self._count = database.compile(
            sa.select(sa.func.count()).select_from(import_items).where(*of_run)
        )
        self._any = database.compile(
            sa.select(import_items.c.record_id).where(*of_run).limit(sa.literal_column("1"))
        )
        self._forget = database.compile(sa.delete(import_items).where(*some))
        self._release = database.compile(sa.update(import_items).where(*some).values(run_id=""))
        self._note_version = database.compile(
            sa.update(import_items).where(*some).values(record_version=sa.bindparam("version"))
        )
        self._adopt = database.compile(
            sa.update(import_items)
            .where(
                import_items.c.tenant_id == sa.bindparam("tenant"),
                dialects.any_of(import_items.c.run_id, sa.bindparam("keys")),
            )
            .values(run_id=sa.bindparam("run"))
        )
        self._imported_redirects = database.compile(_imported_redirects())

    async def items(
        self, source: str, source_ids: Iterable[str], unit: AnyUnit | None = None
    ) -> dict[str, Item]:
        """The items by source id. An id that is missing was never imported."""
        ids = {key_of(each): each for each in source_ids}
        rows = await self._fetch(unit, self._items, ids, source=source)
        return {ids[row[0]]: Item(*row[1:]) for row in rows}

    async def save(self, unit: Unit, source: str, items: Mapping[str, Item]) -> None:
        """Stores the items by source id. Commits together with the records that the unit writes."""
        pending = list(items.items())
        for start in range(0, len(pending), ROWS_PER_INSERT):
            rows = pending[start : start + ROWS_PER_INSERT]
            values: dict[str, object] = {"tenant_id": self._tenant_id, "source": source}
            for number, (source_id, item) in enumerate(rows):
                values[f"source_id_{number}"] = key_of(source_id)
                for name in _ITEM_COLUMNS:
                    values[f"{name}_{number}"] = getattr(item, name)
            await unit.execute(self._upsert(len(rows)), values)

    def _upsert(self, count: int) -> Statement:
        if count not in self._upserts:
            self._upserts[count] = self._database.compile(_upsert(count))
        return self._upserts[count]

    async def records(
        self, collection: str, keys: Iterable[str], unit: AnyUnit | None = None, *, by: str = "id"
    ) -> dict[str, Record]:
        """The records whose column `by` has one of the keys, by it. One that is missing was never
        there, or was deleted."""
        names = _COLUMNS[collection]
        if (collection, by) not in self._records:
            table = all_tables().tables[collection]
            found = sa.select(*(table.c[each] for each in names)).where(*_matching(table, by))
            self._records[collection, by] = self._database.compile(found)
        rows = await self._fetch(unit, self._records[collection, by], keys)
        records = [dict(zip(names, row, strict=True)) for row in rows]
        return {each[by]: each for each in records}

    async def copies(self, keys: Iterable[str]) -> dict[str, Record]:
        """The media records that earlier runs have created of pictures, by the key of the
        picture."""
        items = await self.items(IMAGES, keys)
        found = await self.records("media", {item.record_id for item in items.values()})
        return {
            key: found[each.record_id] for key, each in items.items() if each.record_id in found
        }

    async def imported_redirects(self, source: str) -> AsyncIterator[tuple[str, str]]:
        """Old path and destination of all that imports of this source have made."""
        after = _REDIRECT_KEYS[0]
        while True:
            values = {"tenant": self._tenant_id, "source": source, "after": after}
            rows = await self._database.fetch(
                scope_of(self._tenant_id),
                *self._imported_redirects(values),
            )
            for row in rows:
                yield row[1], row[2]
            if len(rows) < _REDIRECTS_AT_ONCE:
                return
            after = rows[-1][0]

    async def of_run(self, unit: Unit, collection: str, limit: int) -> list[Item]:
        """Some of what the run has created in a collection."""
        values = {"tenant": self._tenant_id, "run": self.run_id, "name": collection}
        rows = await unit.fetch(self._of_run, {**values, "limit": limit})
        return [Item(*row) for row in rows]

    async def count_of_run(self) -> int:
        """How many records the run has created."""
        values = {"tenant": self._tenant_id, "run": self.run_id}
        scope = scope_of(self._tenant_id)
        ((count,),) = await self._database.fetch(scope, *self._count(values))
        return int(count)

    async def has_created(self) -> bool:
        """Whether anything that the run has created is known. Runs of versions before did not note
        it."""
        values = {"tenant": self._tenant_id, "run": self.run_id}
        scope = scope_of(self._tenant_id)
        return bool(await self._database.fetch(scope, *self._any(values)))

    async def forget(self, unit: Unit, collection: str, record_ids: Iterable[str]) -> None:
        """A later import creates them again."""
        await self._change_some(unit, self._forget, collection, record_ids)

    async def release(self, unit: Unit, collection: str, record_ids: Iterable[str]) -> None:
        """The records stay, and are no longer the run's."""
        await self._change_some(unit, self._release, collection, record_ids)

    async def note_version(self, unit: Unit, collection: str, record_id: str, version: int) -> None:
        """The record has this version without an edit by a person."""
        await self._change_some(unit, self._note_version, collection, [record_id], version=version)

    async def adopt(self, unit: Unit, run_ids: Iterable[str]) -> None:
        """Makes the items that these runs have created those of this run."""
        keys = self._database.list_value(list(run_ids))
        values = {"tenant": self._tenant_id, "run": self.run_id, "keys": keys}
        await unit.execute(self._adopt, values)

    async def _change_some(
        self,
        unit: Unit,
        statement: Statement,
        collection: str,
        record_ids: Iterable[str],
        **more: int,
    ) -> None:
        if keys := list(record_ids):
            values = {"tenant": self._tenant_id, "run": self.run_id, "name": collection, **more}
            await unit.execute(statement, {**values, "keys": self._database.list_value(keys)})

    async def _fetch(
        self, unit: AnyUnit | None, statement: Statement, keys: Iterable[str], **more: str
    ) -> list[Row]:
        wanted = list(keys)
        if not wanted:
            return []
        values = {"tenant": self._tenant_id, "keys": self._database.list_value(wanted), **more}
        if unit is not None:
            return await unit.fetch(statement, values)
        return await self._database.fetch(scope_of(self._tenant_id), *statement(values))


def _upsert(count: int) -> sa.Insert:
    """Inserts or updates `count` rows with different keys."""
    shared: dict[str, Any] = {name: sa.bindparam(name) for name in ("tenant_id", "source")}
    names = ("source_id", *_ITEM_COLUMNS)
    rows = [
        {**shared, **{name: sa.bindparam(f"{name}_{number}") for name in names}}
        for number in range(count)
    ]
    statement = dialects.insert(import_items).values(rows)
    return dialects.or_replace(statement, ("tenant_id", "source", "source_id"), _ITEM_COLUMNS)


def _imported_redirects() -> sa.Select[Any]:
    table = all_tables().tables["redirects"]
    return (
        sa.select(import_items.c.source_id, table.c.source, table.c.destination)
        .join(
            table,
            sa.and_(
                table.c.tenant_id == import_items.c.tenant_id,
                table.c.id == import_items.c.record_id,
            ),
        )
        .where(
            import_items.c.tenant_id == sa.bindparam("tenant"),
            import_items.c.source == sa.bindparam("source"),
            import_items.c.source_id > sa.bindparam("after"),
            import_items.c.source_id < _REDIRECT_KEYS[1],
            import_items.c.collection == "redirects",
        )
        .order_by(import_items.c.source_id)
        .limit(_REDIRECTS_AT_ONCE)
    )


def _matching(table: sa.Table, name: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        table.c.tenant_id == sa.bindparam("tenant"),
        dialects.any_of(table.c[name], sa.bindparam("keys")),
    )
