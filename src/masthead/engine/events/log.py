"""Reads a tenant's events from the outbox: newest first, or after a known event."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.engine.events.outbox import events
from masthead.storage.database import Database, scope_of

MAX_ITEMS = 100


class LoggedEvent(msgspec.Struct, frozen=True):
    id: str
    name: str
    created: str
    payload: str
    """JSON text."""
    collection: str = ""
    """The collection of the event's record; only `get` reads this field and the next."""
    record_id: str = ""

    @property
    def created_seconds(self) -> int:
        return int(clock.from_text(self.created).timestamp())


class EventLog:
    def __init__(self, database: Database) -> None:
        self._database = database
        t = events.c
        mine = t.tenant_id == sa.bindparam("tenant")
        self._position = database.compile(
            sa.select(t.version, t.ordinal).where(mine, t.id == sa.bindparam("id"))
        )
        self._one = database.compile(
            sa.select(t.id, t.name, t.created, t.payload, t.collection, t.record_id).where(
                mine, t.id == sa.bindparam("id")
            )
        )
        listing = sa.select(t.id, t.name, t.created, t.payload).where(mine).limit(MAX_ITEMS)
        newest = (t.version.desc(), t.ordinal.desc())
        oldest = (t.version, t.ordinal)
        named = t.name == sa.bindparam("name")
        later = sa.tuple_(t.version, t.ordinal) > sa.tuple_(
            sa.bindparam("version", type_=sa.BigInteger()),
            sa.bindparam("ordinal", type_=sa.BigInteger()),
        )
        self._newest = database.compile(listing.order_by(*newest))
        self._newest_named = database.compile(listing.where(named).order_by(*newest))
        recent = t.created > sa.bindparam("since")
        self._oldest = database.compile(listing.where(recent).order_by(*oldest))
        self._oldest_named = database.compile(listing.where(recent, named).order_by(*oldest))
        self._after = database.compile(listing.where(later).order_by(*oldest))
        self._after_named = database.compile(listing.where(later, named).order_by(*oldest))

    async def get(self, tenant_id: TenantId, event_id: str) -> LoggedEvent | None:
        rows = await self._fetch(tenant_id, self._one, {"tenant": tenant_id, "id": event_id})
        return LoggedEvent(*rows[0]) if rows else None

    async def newest(
        self, tenant_id: TenantId, *, name: str | None = None, since: str | None = None
    ) -> list[LoggedEvent]:
        """At most 100 events created after `since`, newest first.

        If `since` is a whole second, as in an item's time, that second is included: more of its
        events may have been committed since then. A client detects a repeated event by its id, but
        can't detect a missing one."""
        values = {"tenant": tenant_id, "name": name}
        statement = self._newest_named if name else self._newest
        found = await self._fetch(tenant_id, statement, values)
        is_second = since is not None and since.endswith(".000Z")
        return [
            event
            for event in (LoggedEvent(*row) for row in found)
            if not since or event.created > since or (is_second and event.created == since)
        ]

    async def oldest(
        self, tenant_id: TenantId, *, name: str | None = None, since: str = ""
    ) -> list[LoggedEvent]:
        """At most 100 events created after `since`, oldest first; `after` continues from there.

        It scans earlier events too, so it is not for a request.
        """
        values = {"tenant": tenant_id, "name": name, "since": since}
        statement = self._oldest_named if name else self._oldest
        found = await self._fetch(tenant_id, statement, values, slow=True)
        return [LoggedEvent(*row) for row in found]

    async def after(
        self, tenant_id: TenantId, event_id: str, *, name: str | None = None
    ) -> list[LoggedEvent] | None:
        """At most 100 events after this one, oldest first and without a gap; None if there is no
        such event."""
        rows = await self._fetch(tenant_id, self._position, {"tenant": tenant_id, "id": event_id})
        if not rows:
            return None
        version, ordinal = rows[0]
        values = {"tenant": tenant_id, "version": version, "ordinal": ordinal, "name": name}
        statement = self._after_named if name else self._after
        return [LoggedEvent(*row) for row in await self._fetch(tenant_id, statement, values)]

    async def _fetch(
        self, tenant_id: TenantId, statement: Any, values: dict[str, Any], *, slow: bool = False
    ) -> Any:
        return await self._database.fetch(scope_of(tenant_id), *statement(values), slow=slow)
