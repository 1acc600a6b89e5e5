"""Reading the outbox as a log: what happened to a tenant, newest first or from a known event on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from masthead import clock
from masthead.events.outbox import events
from masthead.ids import TenantId
from masthead.storage.database import Database, scope_of

MAX_ITEMS = 100


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    id: str
    name: str
    created: str
    payload: str
    """JSON text."""

    @property
    def created_seconds(self) -> int:
        return int(clock.from_text(self.created).timestamp())


class EventLog:
    def __init__(self, database: Database) -> None:
        self._database = database
        t = events.c
        mine = t.tenant_id == sa.bindparam("tenant")
        self._place = database.compile(
            sa.select(t.version, t.ordinal).where(mine, t.id == sa.bindparam("id"))
        )
        self._first_since = database.compile(
            sa.select(t.version)
            .where(mine, t.created > sa.bindparam("since"))
            .order_by(t.created, t.version)
            .limit(1)
        )
        listing = sa.select(t.id, t.name, t.created, t.payload).where(mine).limit(MAX_ITEMS)
        newest = (t.version.desc(), t.ordinal.desc())
        oldest = (t.version, t.ordinal)
        from_version = t.version >= sa.bindparam("version")
        named = t.name == sa.bindparam("name")
        later = sa.tuple_(t.version, t.ordinal) > sa.tuple_(
            sa.bindparam("version", type_=sa.BigInteger()),
            sa.bindparam("ordinal", type_=sa.BigInteger()),
        )
        self._newest = database.compile(listing.where(from_version).order_by(*newest))
        self._newest_named = database.compile(listing.where(from_version, named).order_by(*newest))
        recent = t.created > sa.bindparam("since")
        self._oldest = database.compile(listing.where(from_version, recent).order_by(*oldest))
        self._oldest_named = database.compile(
            listing.where(from_version, recent, named).order_by(*oldest)
        )
        self._after = database.compile(listing.where(later).order_by(*oldest))
        self._after_named = database.compile(listing.where(later, named).order_by(*oldest))

    async def newest(
        self, tenant_id: TenantId, *, name: str | None = None, since: str | None = None
    ) -> list[LoggedEvent]:
        """At most 100, newest first; only those created after `since`."""
        values: dict[str, Any] = {"tenant": tenant_id, "version": 0, "name": name}
        if since:
            version = await self._version_after(tenant_id, since)
            if version is None:
                return []
            values["version"] = version
        statement = self._newest_named if name else self._newest
        found = await self._fetch(tenant_id, statement, values)
        return [LoggedEvent(*row) for row in found if not since or row[2] > since]

    async def oldest(
        self, tenant_id: TenantId, *, name: str | None = None, since: str = ""
    ) -> list[LoggedEvent]:
        """At most 100 created after `since`, oldest first: where `after` goes on from."""
        version = await self._version_after(tenant_id, since)
        if version is None:
            return []
        values = {"tenant": tenant_id, "version": version, "name": name, "since": since}
        statement = self._oldest_named if name else self._oldest
        return [LoggedEvent(*row) for row in await self._fetch(tenant_id, statement, values)]

    async def after(
        self, tenant_id: TenantId, event_id: str, *, name: str | None = None
    ) -> list[LoggedEvent] | None:
        """At most 100 that follow the event, oldest first and without a gap; None if there is no
        such event."""
        rows = await self._fetch(tenant_id, self._place, {"tenant": tenant_id, "id": event_id})
        if not rows:
            return None
        version, ordinal = rows[0]
        values = {"tenant": tenant_id, "version": version, "ordinal": ordinal, "name": name}
        statement = self._after_named if name else self._after
        return [LoggedEvent(*row) for row in await self._fetch(tenant_id, statement, values)]

    async def _version_after(self, tenant_id: TenantId, since: str) -> int | None:
        values = {"tenant": tenant_id, "since": since}
        rows = await self._fetch(tenant_id, self._first_since, values)
        return rows[0][0] if rows else None

    async def _fetch(self, tenant_id: TenantId, statement: Any, values: dict[str, Any]) -> Any:
        return await self._database.fetch(scope_of(tenant_id), statement, statement.bind(values))
