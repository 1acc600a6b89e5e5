"""The log of a tenant's changes, which realtime clients are told from.

A unit writes its changes in its own transaction, at the version that it took under the tenant's
lock: so the order of the log is the order of commits, and a reader that has read up to a version
never finds an earlier one later. A tenant is logged only while it is watched, which `watch` begins
and `sweep` ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.engine.records.tables import record_changes, tenant_states
from masthead.engine.records.write.unit_changes import LogPlace
from masthead.storage import dialects
from masthead.storage.batches import remove_in_batches
from masthead.storage.database import EVERY_TENANT, Database, Statement, scope_of

RETENTION = timedelta(hours=4)
"""How long a change stays in the log, and a tenant watched after its last client has left."""
RENEW_SECONDS = RETENTION.total_seconds() / 8
"""Between two renewals of a watch by who listens, whatever the clock says."""
OVER_SECONDS = 2 * RENEW_SECONDS
"""How long a watch stays over before it ends: the clock may have jumped, and then it is renewed."""
MAX_CHANGES = 50_000
"""The most changes of one tenant. Older ones are deleted."""
READ_AT_ONCE = 50
"""With their records, which may be a megabyte each."""
SWEEP_BATCH = 500

_tenant: Any = sa.bindparam("tenant", required=True)
_version: Any = sa.bindparam("version", required=True, type_=dialects.Integer())


class LoggedChange(NamedTuple):
    place: LogPlace
    collection: str
    record_id: str
    action: str
    record_version: int
    state: dict[str, Any]
    """The logged fields after the change, or before a deletion."""
    previous: dict[str, Any]
    """The old values of the fields that an update has changed."""


class LogState(NamedTuple):
    """The state of a tenant's log."""

    version: int
    identity: int
    changes_from: int
    """The log has every change after this version; -1 if the tenant is not watched."""

    @property
    def is_watched(self) -> bool:
        return self.changes_from >= 0

    def has_after(self, place: LogPlace) -> bool:
        """Whether all changes after this place are in the log, or there are none."""
        if place.version > self.version:
            return False
        is_newest = place.version == self.version
        return is_newest or (self.is_watched and place.version >= self.changes_from)


class ChangeLog:
    def __init__(
        self, database: Database, now: clock.Clock, *, over_seconds: float = OVER_SECONDS
    ) -> None:
        self._database = database
        self._now = now
        self._over_seconds = over_seconds
        self._over: dict[str, float] = {}
        """Tenants whose watch is over by the clock, and since when the last sweeps have seen it."""
        t, c = tenant_states.c, record_changes.c
        is_unwatched = t.watched_until == ""
        self._watch = database.compile(
            sa.update(tenant_states)
            .where(t.tenant_id == _tenant)
            .values(
                changes_from=sa.case((is_unwatched, t.version), else_=t.changes_from),
                watched_until=sa.bindparam("until", required=True),
            )
            .returning(t.version)
        )
        states = (t.tenant_id, t.version, t.identity_version, t.changes_from, t.watched_until)
        self._states = database.compile(
            sa.select(*states).where(
                dialects.any_of(t.tenant_id, sa.bindparam("tenants", required=True))
            )
        )
        later = sa.tuple_(c.version, c.ordinal) > sa.tuple_(
            _version, sa.bindparam("ordinal", required=True, type_=dialects.Integer())
        )
        self._after = database.compile(
            sa.select(
                c.version,
                c.ordinal,
                c.collection,
                c.record_id,
                c.action,
                c.record_version,
                c.state,
                c.previous,
            )
            .where(c.tenant_id == _tenant, later)
            .order_by(c.version, c.ordinal)
            .limit(READ_AT_ONCE)
        )
        self._watched = database.compile(
            sa.select(t.tenant_id, t.watched_until).where(t.watched_until != "")
        )
        self._newest_old = database.compile(_newest_old())
        self._beyond = database.compile(
            sa.select(c.version)
            .where(c.tenant_id == _tenant)
            .order_by(c.version.desc(), c.ordinal.desc())
            .offset(MAX_CHANGES)
            .limit(1)
        )
        self._forget = database.compile(
            sa.update(tenant_states)
            .where(t.tenant_id == _tenant, t.changes_from < _version)
            .values(changes_from=_version)
            .returning(t.version)
        )
        self._unwatch = database.compile(
            sa.update(tenant_states)
            .where(t.tenant_id == _tenant, t.watched_until < sa.bindparam("now", required=True))
            .values(watched_until="")
            .returning(t.version)
        )
        self._remove = database.compile(_remove())

    async def watch(self, tenant_id: TenantId) -> int:
        """From now on, and for some hours, every change of the tenant is logged. Returns the
        tenant's version: the update waits for open units, and later ones see it."""
        until = clock.to_text(self._now() + RETENTION)
        rows = await self._write(tenant_id, self._watch, {"tenant": tenant_id, "until": until})
        return int(rows[0][0]) if rows else 0

    async def states(self, tenants: Iterable[str]) -> dict[str, LogState]:
        listed = self._database.list_value(list(tenants))
        rows = await self._database.fetch(EVERY_TENANT, *self._states({"tenants": listed}))
        return {
            tenant_id: LogState(version, identity, changes_from if watched_until else -1)
            for tenant_id, version, identity, changes_from, watched_until in rows
        }

    async def after(self, tenant_id: TenantId, place: LogPlace) -> list[LoggedChange]:
        """The next changes, oldest first: at most `READ_AT_ONCE`."""
        bound = self._after({"tenant": tenant_id, **place._asdict()})
        rows = await self._database.fetch(scope_of(tenant_id), *bound)
        return [
            LoggedChange(
                LogPlace(version, ordinal),
                collection,
                record_id,
                action,
                record_version,
                msgspec.json.decode(state),
                msgspec.json.decode(previous) if previous else {},
            )
            for (
                version,
                ordinal,
                collection,
                record_id,
                action,
                record_version,
                state,
                previous,
            ) in rows
        ]

    async def sweep(self) -> None:
        """Removes old changes, and ends the watch of tenants that no client has listened to for
        long."""
        now = self._now()
        old = clock.to_text(now - RETENTION)
        watched = await self._database.fetch(EVERY_TENANT, *self._watched(), slow=True)
        moment, text = time.monotonic(), clock.to_text(now)
        over = [tenant_id for tenant_id, watched_until in watched if watched_until < text]
        self._over = {each: self._over.get(each, moment) for each in over}
        for tenant_id, _ in watched:
            scope, values = TenantId(tenant_id), {"tenant": tenant_id}
            if moment - self._over.get(tenant_id, moment) >= self._over_seconds:
                ended = {**values, "now": text}
                if rows := await self._write(scope, self._unwatch, ended):
                    await self._remove_until(scope, rows[0][0])
                continue
            version = max(
                await self._version_of(scope, self._newest_old, {**values, "old": old}),
                await self._version_of(scope, self._beyond, values),
            )
            if version:
                # First, so that nobody trusts a log that is being shortened.
                await self._write(scope, self._forget, {**values, "version": version})
                await self._remove_until(scope, version)

    async def _version_of(
        self, tenant_id: TenantId, statement: Statement, values: dict[str, Any]
    ) -> int:
        rows = await self._database.fetch(scope_of(tenant_id), *statement(values), slow=True)
        return int(rows[0][0] or 0) if rows else 0

    async def _remove_until(self, tenant_id: TenantId, version: int) -> None:
        values = {"tenant": tenant_id, "version": version}
        removal, scope = self._remove(values), scope_of(tenant_id)
        await remove_in_batches(self._database, removal, SWEEP_BATCH, scope=scope)

    async def _write(
        self, tenant_id: TenantId, statement: Statement, values: dict[str, Any]
    ) -> list[Any]:
        async with self._database.transaction(scope_of(tenant_id)) as tx:
            return await tx.fetch(*statement(values))


def _newest_old() -> sa.Select[Any]:
    """The last version that is old: later versions have later times."""
    c = record_changes.c
    return sa.select(sa.func.max(c.version)).where(
        c.tenant_id == _tenant, c.created < sa.bindparam("old", required=True)
    )


def _remove() -> sa.Delete:
    c = record_changes.c
    some = (
        sa.select(c.version, c.ordinal)
        .where(c.tenant_id == _tenant, c.version <= _version)
        .order_by(c.version, c.ordinal)
        .limit(sa.literal_column(str(SWEEP_BATCH)))
    )
    return sa.delete(record_changes).where(
        c.tenant_id == _tenant, sa.tuple_(c.version, c.ordinal).in_(some)
    )
