"""The parts of a deep check: sites, steps, batches and the faults that they find.

A step goes through one kind of row or file of a site, batch by batch. The database's part of a
batch is read in one snapshot, so that a change under way is seen whole or not at all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import OpenUnit
from masthead.engine.records.read.decoding import engine_decoder
from masthead.features.webhooks.fanout import Fanout
from masthead.service.installation import Installation
from masthead.service.schema import tables
from masthead.storage import dialects
from masthead.storage.database import Row, Statement
from masthead.storage.snapshot import Snapshot, Snapshots

Cursor = tuple[Any, ...]
"""Where a step goes on: the key of the last row that it has checked; empty at its beginning."""
DONE: Cursor = ("done",)
"""The cursor of a step that can't go on from within."""
BATCH = 100
"""Records in a batch: each may hold a megabyte."""

tenant: Any = sa.bindparam("tenant", required=True)


class Site(NamedTuple):
    id: TenantId
    """Empty for the platform's own records."""
    slug: str


PLATFORM = Site(TenantId(""), "")


class Fault(NamedTuple):
    check: str
    collection: str
    """Or another table, or the folder of a file."""
    id: str
    detail: str
    repair: Callable[[], Awaitable[None]] | None = None
    """None if it can't be derived again."""


class Batch(NamedTuple):
    after: Cursor
    checked: int
    faults: list[Fault]


class Step(NamedTuple):
    check: str
    """The line of the report in which its rows are counted."""
    about: str
    run: Callable[[Site, Cursor], AsyncIterator[Batch]]

    @property
    def name(self) -> str:
        return f"{self.check}/{self.about}"


class Look(msgspec.Struct, dict=True):
    """The installation, its snapshots, and the statements of all steps."""

    parts: Installation
    snapshots: Snapshots

    @cached_property
    def _statements(self) -> dict[Hashable, Statement]:
        return {}

    @cached_property
    def fanout(self) -> Fanout:
        return Fanout(self.parts.database, tables)

    def statement(self, key: Hashable, build: Callable[[], sa.ClauseElement]) -> Statement:
        """Compiled once."""
        if key not in self._statements:
            self._statements[key] = self.parts.database.compile(build())
        return self._statements[key]

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        return self.snapshots.snapshot()

    def list_value(self, values: Sequence[object]) -> object:
        return self.parts.database.list_value(values)

    def unit(self, site: Site) -> OpenUnit:
        """For a repair, which fires no event."""
        return self.parts.records.unit(system(site.id or None), emit_events=False)

    def after(self, collection: Collection) -> Statement:
        """The next rows of a collection with all fields, in the order of their ids."""
        return self.statement(("after", collection.name), lambda: _after(collection))

    async def page(
        self, snapshot: Snapshot, collection: Collection, site: Site, after: Cursor
    ) -> list[Row]:
        values = {"tenant": site.id, "after": after[0] if after else ""}
        return await snapshot.fetch(self.after(collection)(values))

    async def some(
        self, snapshot: Snapshot, site: Site, collection: Collection, ids: Sequence[str]
    ) -> dict[str, Record | None]:
        """The records with these ids; None for one that can't be read."""
        statement = self.statement(("some", collection.name), lambda: _some(collection))
        values = {"tenant": site.id, "ids": self.list_value(ids)}
        rows = await snapshot.fetch(statement(values))
        return {id_of(collection, row): decoded(collection, row) for row in rows}

    async def existing(
        self, snapshot: Snapshot, tenant_id: str, name: str, ids: Sequence[str]
    ) -> set[str]:
        """Those of the ids that records of a collection have."""
        statement = self.statement(("existing", name), lambda: _existing(name))
        values = {"tenant": tenant_id, "ids": self.list_value(ids)}
        return {found for (found,) in await snapshot.fetch(statement(values))}


class Here(NamedTuple):
    """One batch of a site's records, in its snapshot."""

    look: Look
    snapshot: Snapshot
    site: Site
    collection: Collection


def _after(collection: Collection) -> sa.Select[Any]:
    t = tables[collection.name].c
    return (
        sa.select(*(t[each.name] for each in collection.all_fields))
        .where(t.tenant_id == tenant, t.id > sa.bindparam("after", required=True))
        .order_by(t.id)
        .limit(sa.literal_column(str(BATCH)))
    )


def _some(collection: Collection) -> sa.Select[Any]:
    t = tables[collection.name].c
    return sa.select(*(t[each.name] for each in collection.all_fields)).where(*_of_ids(t))


def _existing(name: str) -> sa.Select[Any]:
    t = tables[name].c
    return sa.select(t.id).where(*_of_ids(t))


def _of_ids(t: Any) -> list[Any]:
    return [t.tenant_id == tenant, dialects.any_of(t.id, sa.bindparam("ids", required=True))]


def id_of(collection: Collection, row: Row) -> str:
    return str(row[next(n for n, each in enumerate(collection.all_fields) if each.name == "id")])


def decoded(collection: Collection, row: Row) -> Record | None:
    """None for a row that can't be read."""
    try:
        return engine_decoder(collection).record(row)
    except (ValueError, TypeError, LookupError, msgspec.MsgspecError):
        return None
