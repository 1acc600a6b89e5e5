"""A long task: a job that works on a record while a person waits. The record says how far it is and
how it has ended. Only the newest attempt writes: a worker that was stopped for an hour finds in its
next transaction that another one has the job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from masthead.base.caller import system
from masthead.base.errors import MastheadError, Unavailable
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.jobs.runner import MAX_ATTEMPTS, Job, Stopped
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit


class LongTask(ABC):
    """An attempt at it. The task fails for good after the last attempt, which may have killed the
    worker, and after an error that no further attempt would mend."""

    collection: ClassVar[Collection]
    key: ClassVar[str] = "id"
    """The name of the record's id in the payload of the job."""
    state: ClassVar[str] = "state"
    """The field that is `queued` or `running` until the task has ended."""
    attempts: ClassVar[int] = MAX_ATTEMPTS - 1
    gave_up: ClassVar[str]
    """The reason for the person who waits, if no attempt has succeeded."""

    def __init__(self, records: Records, job: Job) -> None:
        self.records = records
        self.job = job
        self.tenant_id: TenantId = job.tenant_id
        self.id: str = job.payload[self.key]

    async def run(self) -> None:
        record = await self.find()
        if record is not None and record[self.state] in ("queued", "running"):
            await self._attempt(record)
        await self.tidy()

    async def _attempt(self, record: Record) -> None:
        if self.job.attempts > self.attempts:
            await self.fail(record, self.gave_up)
            return
        try:
            await self.work(record)
        except Stopped:
            raise
        # Part of the job's edge.
        except Exception as error:
            if await self.find() is None and isinstance(error, MastheadError):
                # The person has cancelled it.
                return
            if self.may_be_mended(error) and self.job.attempts < self.attempts:
                raise
            log.exception("task.failed", kind=self.job.kind, record_id=self.id)
            await self.fail(record, self.reason(error))

    @abstractmethod
    async def work(self, record: Record) -> None:
        """Also ends the record. An attempt may find what an earlier one has done."""

    async def ended(self, unit: Unit, record: Record) -> None:
        """In the transaction of the end."""
        return

    async def tidy(self) -> None:
        """After an attempt that has ended, and again if the worker died before: removes what is
        left of a task that was cancelled or has failed."""
        return

    def may_be_mended(self, error: Exception) -> bool:
        """Whether another attempt may succeed."""
        return isinstance(error, Unavailable) or not isinstance(error, MastheadError)

    def reason(self, error: Exception) -> str:
        return self.gave_up if self.may_be_mended(error) else str(error)

    async def fail(self, record: Record, reason: str) -> None:
        await self.end("failed", error=reason[:1000])

    async def end(self, state: str, **stamped: Any) -> None:
        async with self.unit() as unit:
            stamped |= {self.state: state, "finished_at": unit.now}
            record = await unit.update(self.collection, self.id, {}, stamped=stamped)
            await self.ended(unit, record)

    async def stamp(self, **values: Any) -> None:
        """Raises `NotFound` when the person has cancelled the task, which ends it."""
        async with self.unit() as unit:
            await unit.update(self.collection, self.id, {}, stamped=values)

    @asynccontextmanager
    async def unit(self) -> AsyncIterator[Unit]:
        """A transaction of this attempt. Raises `Stopped` if it is not the newest."""
        async with self.records.unit(system(self.tenant_id), emit_events=False) as unit:
            await self.require_turn(unit)
            yield unit

    async def require_turn(self, unit: Unit) -> None:
        # What the cleaner ends has no job any more.
        if self.job.id and not await unit.has_turn(self.job.id, self.job.attempts):
            raise Stopped

    async def find(self) -> Record | None:
        key = {"id": self.id}
        return await self.records.find_one(self.collection, key, tenant_id=self.tenant_id)
