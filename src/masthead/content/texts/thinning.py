"""Thins the history of texts: all states of a day stay, one an hour for a week, one a day for a
year, and every state that was published.

The age of a state counts from the moment it was replaced, and its hour and its day are those in
which it was saved: the last state of an evening stays, however late the next change comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.due_records import work_off_due
from masthead.engine.records.engine import Records
from masthead.engine.records.filter.ast import And, Comparison, Identifier, Literal
from masthead.engine.records.filter.conditions import equals, newer
from masthead.engine.records.read.page import ListRequest

DATE_JOB: Final = "revisions.date"
WHOLE: Final = timedelta(days=1)
HOURLY: Final = timedelta(days=7)
DAILY: Final = timedelta(days=365)
_AT_ONCE: Final = 100
"""Revisions in one transaction; each may hold megabytes."""


def stamp_thinning(save_now: str, status: str) -> Mapping[str, str]:
    """For a new revision: when it is looked at first. One that was published never is."""
    return {"thin_at": "" if status == PUBLISHED else _later(save_now, WHOLE)}


async def thin_due(records: Records, revisions: Sequence[Collection]) -> None:
    """The worker's chore."""
    now = records.clock()
    for each in revisions:
        work = partial(_thin, records, each, now=now)
        await work_off_due(records, each, "thin_at", now, work=work, at_once=_AT_ONCE)


async def _thin(
    records: Records, revisions: Collection, tenant_id: TenantId, ids: list[str], *, now: datetime
) -> None:
    found = [
        state
        for each in ids
        for state in await records.find(revisions, {"id": each}, tenant_id=tenant_id)
    ]
    # What makes one needless is newer, and the newest of its time stays: another worker that does
    # the same removes no more.
    plans = [(each, await _next(records, revisions, each, now)) for each in found]
    async with records.unit(system(tenant_id), emit_events=False) as unit:
        for state, thin_at in plans:
            if await unit.find_one(revisions, {"id": state["id"]}) is None:
                continue
            if thin_at:
                await unit.stamp(revisions, state, {"thin_at": thin_at})
            else:
                await unit.delete(revisions, state["id"])


async def _next(records: Records, revisions: Collection, state: Record, now: datetime) -> str:
    """When the state is looked at again; '' if it goes now."""
    age = now - clock.from_text(state["created"])
    if age >= DAILY:
        return ""
    is_hourly = age < HOURLY
    if await _has_newer(records, revisions, state, until=_end_of(state["saved_at"], is_hourly)):
        return ""
    return _later(state["created"], HOURLY if is_hourly else DAILY)


async def _has_newer(records: Records, revisions: Collection, state: Record, *, until: str) -> bool:
    """Whether another state, which was not published either, was saved later, before `until`."""
    pointer = revisions.fields[0].name
    wanted = ListRequest(
        per_page=1,
        filter=And(
            (
                equals(pointer, state[pointer]),
                newer("saved_at", state["saved_at"]),
                Comparison(Identifier(("saved_at",)), "<", Literal(until)),
                Comparison(Identifier(("status",)), "!=", Literal(PUBLISHED)),
            )
        ),
        names=frozenset({"id"}),
        skip_total=True,
    )
    caller = system(TenantId(state["tenant_id"]))
    return bool((await records.page(caller, revisions, wanted)).items)


def _end_of(moment: str, is_hour: bool) -> str:
    """The end of the hour or the day, in UTC."""
    begin = clock.from_text(moment).replace(minute=0, second=0, microsecond=0)
    end = begin + timedelta(hours=1) if is_hour else begin.replace(hour=0) + timedelta(days=1)
    return clock.to_text(end)


def _later(moment: str, length: timedelta) -> str:
    return clock.to_text(clock.from_text(moment) + length)


def handlers(records: Records, revisions: Sequence[Collection]) -> Mapping[str, Handler]:
    async def date(job: Job) -> None:
        """`revisions.date`: for those that an earlier release has stored."""
        for each in revisions:
            await _date_all(records, each, job.tenant_id)

    return {DATE_JOB: date}


async def _date_all(records: Records, revisions: Collection, tenant_id: TenantId) -> None:
    caller, after = system(tenant_id), None
    while True:
        wanted = ListRequest(
            per_page=_AT_ONCE,
            after=after,
            names=frozenset({"created", "status"}),
            skip_total=True,
        )
        found = (await records.page(caller, revisions, wanted)).items
        if not found:
            return
        async with records.unit(caller, emit_events=False) as unit:
            for each in found:
                if each["status"] == PUBLISHED:
                    continue
                state = await unit.find_one(revisions, {"id": each["id"]})
                if state is not None and not state["thin_at"]:
                    stamps = stamp_thinning(state["created"], state["status"])
                    await unit.stamp(revisions, state, stamps)
        after = (found[-1]["created"], found[-1]["id"])
