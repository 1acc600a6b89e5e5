"""Deletes for good what is in the trash: when its time is over, or on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from masthead.base import clock
from masthead.base.caller import Caller, system
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.engine.audit.collection import EMPTIED_TRASH
from masthead.engine.audit.entries import log_action
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Record
from masthead.engine.records.due_records import work_off_due
from masthead.engine.records.engine import Records
from masthead.engine.records.filter.ast import Comparison, Identifier, Literal
from masthead.engine.records.read.page import ListRequest
from masthead.features.trash.collection import trash

EMPTY_JOB: Final = "trash.empty"
_AT_ONCE: Final = 100


def handlers(records: Records) -> Mapping[str, Handler]:
    async def empty(job: Job) -> None:
        """`trash.empty`: an interrupted run is repeated, and finds what is left."""
        await _delete_until(records, job.tenant_id, job.payload["until"])

    return {EMPTY_JOB: empty}


_Condition = Callable[[Record, str], bool]
"""Whether an entry is to be deleted at this time."""


async def delete_expired(records: Records) -> None:
    work = partial(_delete, records, lambda entry, now: entry["expires_at"] <= now)
    now = records.clock()
    await work_off_due(records, trash, "expires_at", now, work=work, at_once=_AT_ONCE)


async def begin_emptying(records: Records, caller: Caller) -> None:
    """For a page, which does not wait: the worker deletes what is in the trash now."""
    async with records.unit(caller) as unit:
        unit.refuse_if_read_only()
        log_action(unit, EMPTIED_TRASH)
        await unit.enqueue(EMPTY_JOB, {"until": unit.now})


async def empty_trash(records: Records, caller: Caller) -> int:
    """For a command: how many entries it has deleted."""
    assert caller.tenant_id is not None
    until = clock.to_text(records.clock())
    async with records.unit(caller) as unit:
        log_action(unit, EMPTIED_TRASH)
    return await _delete_until(records, caller.tenant_id, until)


async def _delete_until(records: Records, tenant_id: TenantId, until: str) -> int:
    """Deletes entries up to `until`: records that are deleted meanwhile stay in the trash."""
    earlier = Comparison(Identifier(("created",)), "<=", Literal(until))
    wanted = ListRequest(
        per_page=_AT_ONCE, filter=earlier, names=frozenset({"created"}), skip_total=True
    )
    count, after = 0, None
    while items := (
        await records.page(system(tenant_id), trash, replace(wanted, after=after))
    ).items:
        count += await _delete(
            records,
            lambda entry, _now: entry["created"] <= until,
            tenant_id,
            [each["id"] for each in items],
        )
        after = (items[-1]["created"], items[-1]["id"])
    return count


async def _delete(
    records: Records, condition: _Condition, tenant_id: TenantId, entry_ids: list[str]
) -> int:
    """Each entry in its own transaction, with the job that deletes its files."""
    count = 0
    for entry_id in entry_ids:
        try:
            async with records.unit(system(tenant_id)) as unit:
                if not condition(await unit.require(trash, {"id": entry_id}), unit.now):
                    raise NotFound
                await unit.delete(trash, entry_id)
        except NotFound:
            # Restored or deleted meanwhile, or restored and deleted again under the same id.
            continue
        count += 1
    return count
