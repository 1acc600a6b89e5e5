"""What the importers ask of the database beside records: what was imported before, and how the
records of a batch stand now. Read for a whole batch at once."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from masthead.ids import TenantId
from masthead.importers.tables import import_items
from masthead.records.write.unit import Unit
from masthead.storage import dialects
from masthead.storage.database import Database, Row, Statement, scope_of
from masthead.storage.metadata import metadata

LONGEST_KEY = 300
"""Bytes. An e-mail address must fit as it is, because an erasure looks for it."""
REMEMBERED_AT_ONCE = 50
IMAGES = "images"
"""The `source` of copied images, whichever platform showed them."""

Fetch = Callable[[Statement, Mapping[str, Any]], Awaitable[list[Row]]]
"""A read, inside a unit or outside of any transaction."""


class Item(Struct, frozen=True):
    """What an item of an export has become."""

    collection: str
    record_id: str
    fingerprint: str
    record_version: int = 1


class Standing(Struct, frozen=True):
    """A record as it is now, as far as an import looks at it."""

    id: str
    version: int
    slug: str = ""
    status: str = ""


class StandingMember(Struct, frozen=True):
    id: str
    email: str
    version: int
    name: str
    tier: str
    payment_customer_id: str


def key_of(source_id: str) -> str:
    """As it is remembered: an id of any length, in what an index takes."""
    if len(source_id.encode()) <= LONGEST_KEY:
        return source_id
    return "sha256:" + hashlib.sha256(source_id.encode("utf-8", "surrogatepass")).hexdigest()


class Memory:
    def __init__(self, database: Database) -> None:
        self._database = database
        columns = import_items.c
        self._items = database.compile(
            sa.select(
                columns.source_id,
                columns.collection,
                columns.record_id,
                columns.fingerprint,
                columns.record_version,
            ).where(
                columns.tenant_id == sa.bindparam("tenant"),
                columns.source == sa.bindparam("source"),
                dialects.any_of(columns.source_id, sa.bindparam("keys")),
            )
        )
        self._remember: dict[int, Statement] = {}
        self._standing = {
            name: database.compile(_standing(name))
            for name in (*_SLUGGED, "comments", "_superusers")
        }
        self._taken = {name: database.compile(_taken(name)) for name in _SLUGGED}
        self._members = {by: database.compile(_members(by)) for by in ("id", "email")}
        self._redirects = database.compile(_redirects())

    def outside(self, tenant_id: TenantId) -> Fetch:
        """Reads of one tenant without a transaction."""

        def fetch(statement: Statement, values: Mapping[str, Any]) -> Awaitable[list[Row]]:
            return self._database.fetch(scope_of(tenant_id), statement, statement.bind(values))

        return fetch

    async def items(
        self, fetch: Fetch, tenant_id: TenantId, source: str, source_ids: Iterable[str]
    ) -> dict[str, Item]:
        """By the source id as it was asked for; what is missing was never imported."""
        asked = {key_of(each): each for each in source_ids}
        if not asked:
            return {}
        values = {"tenant": tenant_id, "source": source, "keys": self._list(asked)}
        return {asked[row[0]]: Item(*row[1:]) for row in await fetch(self._items, values)}

    async def remember(self, unit: Unit, source: str, items: Mapping[str, Item]) -> None:
        """By source id. Commits with the unit's records, so that the two never disagree."""
        waiting = list(items.items())
        for start in range(0, len(waiting), REMEMBERED_AT_ONCE):
            some = waiting[start : start + REMEMBERED_AT_ONCE]
            values: dict[str, object] = {"tenant_id": unit.tenant_id, "source": source}
            for number, (source_id, item) in enumerate(some):
                values[f"source_id_{number}"] = key_of(source_id)
                for name in _OF_ITEM:
                    values[f"{name}_{number}"] = getattr(item, name)
            await unit.execute(self._remembering(len(some)), values)

    def _remembering(self, count: int) -> Statement:
        if count not in self._remember:
            self._remember[count] = self._database.compile(_upsert(count))
        return self._remember[count]

    async def standing(
        self, fetch: Fetch, tenant_id: TenantId, collection: str, record_ids: Iterable[str]
    ) -> dict[str, Standing]:
        """By id; what is missing was deleted."""
        keys = list(record_ids)
        if not keys:
            return {}
        statement = self._standing[collection]
        rows = await fetch(statement, {"tenant": tenant_id, "keys": self._list(keys)})
        return {row[0]: Standing(*row) for row in rows}

    async def taken_slugs(
        self, fetch: Fetch, tenant_id: TenantId, collection: str, slugs: Iterable[str]
    ) -> set[str]:
        keys = list(slugs)
        if not keys:
            return set()
        statement = self._taken[collection]
        rows = await fetch(statement, {"tenant": tenant_id, "keys": self._list(keys)})
        return {row[0] for row in rows}

    async def members(
        self, fetch: Fetch, tenant_id: TenantId, by: str, keys: Iterable[str]
    ) -> dict[str, StandingMember]:
        """`by` is id or email."""
        wanted = list(keys)
        if not wanted:
            return {}
        rows = await fetch(self._members[by], {"tenant": tenant_id, "keys": self._list(wanted)})
        found = [StandingMember(*row) for row in rows]
        return {each.id if by == "id" else each.email: each for each in found}

    async def redirects(
        self, fetch: Fetch, tenant_id: TenantId, sources: Iterable[str]
    ) -> dict[str, str]:
        """Those of the old paths that lead somewhere, and where."""
        keys = list(sources)
        if not keys:
            return {}
        rows = await fetch(self._redirects, {"tenant": tenant_id, "keys": self._list(keys)})
        return {row[0]: row[1] for row in rows}

    def _list(self, keys: Iterable[str]) -> object:
        return self._database.list_value(list(keys))


_SLUGGED = ("posts", "pages", "products")
_OF_ITEM = ("collection", "record_id", "fingerprint", "record_version")


def _upsert(count: int) -> sa.Insert:
    """Of so many rows, no two of them with the same key."""
    shared: dict[str, Any] = {name: sa.bindparam(name) for name in ("tenant_id", "source")}
    rows = [
        {**shared, **{name: sa.bindparam(f"{name}_{number}") for name in ("source_id", *_OF_ITEM)}}
        for number in range(count)
    ]
    statement = dialects.insert(import_items).values(rows)
    return dialects.or_replace(statement, ("tenant_id", "source", "source_id"), _OF_ITEM)


def _standing(name: str) -> sa.Select[Any]:
    table = metadata.tables[name]
    slug, status = (
        table.c[each] if each in table.c else sa.literal_column("''") for each in ("slug", "status")
    )
    return sa.select(table.c.id, table.c.version, slug, status).where(*_these(table, "id"))


def _taken(name: str) -> sa.Select[Any]:
    table = metadata.tables[name]
    return sa.select(table.c.slug).where(*_these(table, "slug"))


def _members(by: str) -> sa.Select[Any]:
    table = metadata.tables["blog_members"]
    names = ("id", "email", "version", "name", "tier", "payment_customer_id")
    return sa.select(*(table.c[name] for name in names)).where(*_these(table, by))


def _redirects() -> sa.Select[Any]:
    table = metadata.tables["redirects"]
    return sa.select(table.c.source, table.c.destination).where(*_these(table, "source"))


def _these(table: sa.Table, name: str) -> Sequence[sa.ColumnElement[bool]]:
    return (
        table.c.tenant_id == sa.bindparam("tenant"),
        dialects.any_of(table.c[name], sa.bindparam("keys")),
    )
