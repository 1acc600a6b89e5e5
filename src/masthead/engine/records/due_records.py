"""Works off the records of all sites whose time has come."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

from masthead.base.caller import system
from masthead.base.errors import Unavailable
from masthead.base.ids import TenantId
from masthead.engine.jobs.isolation import isolated
from masthead.engine.records.collection import Collection
from masthead.engine.records.engine import Records

Work = Callable[[TenantId, list[str]], Awaitable[object]]
"""Handles some due records of a site. May be repeated."""
_AT_ONCE: Final = 1_000


async def work_off_due(
    records: Records,
    collection: Collection,
    name: str,
    until: datetime,
    *,
    work: Work,
    at_once: int,
) -> None:
    """Until no record is due by its date `name`. One that raises, or stays due, is left until the
    next time, and delays no other."""
    stuck: set[tuple[TenantId, str]] = set()
    handled: set[tuple[TenantId, str]] = set()
    while True:
        # In whole pages: each number is a statement of its own.
        pages = 1 + math.ceil(len(stuck) / at_once)
        due = await records.due(collection, name, until, pages * at_once)
        found = {(tenant_id, each) for tenant_id, ids in due.items() for each in ids}
        left = found & handled
        stuck |= left
        handled = found - stuck
        if not handled and not left:
            return
        for tenant_id, ids in due.items():
            fresh = [each for each in ids if (tenant_id, each) in handled]
            if fresh:
                await _work(collection, work, tenant_id, fresh)


async def _work(collection: Collection, work: Work, tenant_id: TenantId, ids: list[str]) -> None:
    kind = f"due.{collection.name}"
    if len(ids) > 1:
        try:
            await work(tenant_id, ids)
        except Unavailable:
            raise
        # Part of the job's edge. One of them raises; each by itself shows which.
        except Exception:
            for each in ids:
                with isolated(kind, tenant_id=tenant_id, record_id=each):
                    await work(tenant_id, [each])
        return
    with isolated(kind, tenant_id=tenant_id, record_id=ids[0]):
        await work(tenant_id, ids)


async def delete_expired(records: Records, collection: Collection) -> None:
    """The chore of a collection whose records have an end, `expires_at`: they are deleted without
    events, if that is still their end when they are locked."""

    async def delete(tenant_id: TenantId, ids: list[str]) -> None:
        async with records.unit(system(tenant_id), emit_events=False) as unit:
            for each in ids:
                found = await unit.find_one(collection, {"id": each})
                # Another worker may have deleted it.
                if found and "" < found["expires_at"] <= unit.now:
                    await unit.delete(collection, each)

    now = records.clock()
    await work_off_due(records, collection, "expires_at", now, work=delete, at_once=_AT_ONCE)
