"""The record of a run (`import_runs`): its options, its progress and its report."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_marked
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.collection import (
    DONE,
    FAILED,
    IMPORT,
    PREVIEW,
    QUEUED,
    RUNNING,
    import_runs,
)
from masthead.faces.importers.report import Report, read_report
from masthead.faces.importers.write.previous_imports import PreviousImports

INTERRUPTED: Final = staff_marked(
    "The run was interrupted. Start it again: it continues where it stopped."
)
CONTINUED: Final = staff_marked(
    "A later import of the same site continued it. To undo both, undo import %(id)s."
)
SAVE_SECONDS: Final = 1.0
MAX_OPEN_RUNS: Final = 100


class NewRun(Struct, frozen=True):
    platform: str
    file_name: str
    object_key: str = ""
    options: Mapping[str, Any] | None = None
    dry_run: bool = False
    id: str = ""
    """'' for a new one."""
    file_size: int = 0


async def _always(_unit: Unit) -> None:
    """A shell runs one import at a time."""


class RunLog:
    """Updates the record of one run. Without a `run_id`, as in a dry run from a shell, it stores
    nothing. `require_turn` raises in each transaction if another worker has the run by now."""

    _next_save = 0.0

    def __init__(
        self,
        records: Records,
        tenant_id: TenantId,
        run_id: str = "",
        require_turn: Callable[[Unit], Awaitable[None]] = _always,
    ) -> None:
        self.run_id = run_id
        self._require_turn = require_turn
        self._records = records
        self._tenant_id = tenant_id

    async def start(self) -> Report | None:
        """Marks the run as running; returns the report of the attempt before, if there was one."""
        if not self.run_id:
            return None
        async with self._unit() as unit:
            await self._require_turn(unit)
            (run,) = await unit.find(import_runs, {"id": self.run_id}, limit=1)
            started = run["started_at"] or clock.to_text(self._records.clock())
            stamped = {"state": RUNNING, "started_at": started, "error": ""}
            await unit.update(import_runs, self.run_id, {}, stamped=stamped)
        return read_report(run["report"]) if run["report"] else None

    async def continue_unfinished(self, report: Report, previous: PreviousImports) -> None:
        """Takes over the items that earlier runs from the same source have created before they
        failed, so that one undo removes all of them. The report is stored, so that the run can be
        undone if it ends before its first batch."""
        if not self.run_id:
            return
        async with self._unit() as unit:
            failed = {"task": IMPORT, "state": FAILED, "platform": report.platform}
            for run in await unit.find(import_runs, failed, limit=MAX_OPEN_RUNS):
                known = run["report"] or {}
                if known.get("namespace") == report.namespace and not known.get("continued_by"):
                    await previous.adopt(unit, [run["id"]])
                    stamped = {
                        "error": CONTINUED % {"id": self.run_id},
                        "report": {**known, "continued_by": self.run_id},
                    }
                    await unit.update(import_runs, run["id"], {}, stamped=stamped)
            await self.save(unit, report)

    async def save(self, unit: Unit, report: Report) -> None:
        """Commits together with the batch, which the report counts already."""
        if self.run_id:
            await self._require_turn(unit)
            stamped = {"report": report.stored()}
            await unit.update(import_runs, self.run_id, {}, stamped=stamped)

    async def save_now_and_then(self, report: Report) -> None:
        """The progress of what commits nothing itself."""
        now = asyncio.get_running_loop().time()
        if self.run_id and now >= self._next_save:
            self._next_save = now + SAVE_SECONDS
            async with self._unit() as unit:
                await self.save(unit, report)

    async def finish(self, report: Report) -> None:
        await self._end(DONE, report=report.stored())

    async def fail(self, error: str) -> None:
        await self._end(FAILED, error=error[:1000])

    async def _end(self, state: str, **stamped: Any) -> None:
        if not self.run_id:
            return
        stamped |= {"state": state, "finished_at": clock.to_text(self._records.clock())}
        async with self._unit() as unit:
            await self._require_turn(unit)
            await unit.update(import_runs, self.run_id, {}, stamped=stamped)

    def _unit(self) -> Any:
        return self._records.unit(system(self._tenant_id), emit_events=False)


async def create_run(unit: Unit, new: NewRun) -> Record:
    return await unit.create(
        import_runs,
        {"id": new.id},
        stamped={
            "platform": new.platform,
            "task": PREVIEW if new.dry_run else IMPORT,
            "state": QUEUED,
            "file_name": "".join(each for each in new.file_name if each.isprintable())[:255],
            "object_key": new.object_key,
            "file_size": new.file_size,
            "options": dict(new.options or {}),
            "dry_run": new.dry_run,
        },
    )


async def open_shell_run(records: Records, tenant_id: TenantId, new: NewRun) -> RunLog:
    """A run from a shell. Earlier ones in state `running` were interrupted: a shell runs one
    import at a time."""
    async with records.unit(system(tenant_id), emit_events=False) as unit:
        open_runs = await unit.find(
            import_runs,
            {"state": RUNNING, "task": IMPORT, "object_key": ""},
            limit=MAX_OPEN_RUNS,
        )
        for run in open_runs:
            stamped = {"state": FAILED, "error": INTERRUPTED}
            await unit.update(import_runs, run["id"], {}, stamped=stamped)
        run = await create_run(unit, new)
    return RunLog(records, tenant_id, run["id"])
