"""The queue of imports: an uploaded export, the job for it, and the deletion of the file."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec
from msgspec.structs import asdict

from masthead.base import clock
from masthead.base.caller import Caller
from masthead.base.errors import SweptAway
from masthead.engine.records.collection import Record, file_key
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.collection import PREVIEW, SWEEP_JOB, import_runs
from masthead.faces.importers.source import Options
from masthead.faces.importers.write.batch_sizes import DEFAULT_BATCH
from masthead.faces.importers.write.run_record import NewRun, create_run

RUN_JOB: Final = "imports.run"
PREVIEW_JOB: Final = "imports.preview"
FILE_STAYS: Final = timedelta(days=7)
"""How long an uploaded file waits for the import, or for another attempt at its pictures."""


class QueuedImport(msgspec.Struct, frozen=True, kw_only=True):
    """`object_key` is that of the uploaded file, which is deleted when it is no longer needed."""

    platform: str
    file_name: str
    object_key: str
    id: str = ""
    """The id of the run; '' for a new one."""
    file_size: int = 0
    options: Options = msgspec.field(default_factory=Options)
    batch_size: int = DEFAULT_BATCH
    dry_run: bool = False
    emit_events: bool = False


class StoredOptions(Options, frozen=True, kw_only=True):
    """The field `options` of the run, from which a worker resumes it."""

    batch_size: int = DEFAULT_BATCH
    emit_events: bool = False


async def queue_import(
    records: Records, caller: Caller, wanted: QueuedImport, *, sweep_id: str = ""
) -> Record:
    """Returns the run's record, which has its state and report. `sweep_id`: the job that would
    have deleted a file whose import was never recorded. Raises `SweptAway` if it has begun."""
    options = StoredOptions(
        **asdict(wanted.options), batch_size=wanted.batch_size, emit_events=wanted.emit_events
    )
    new = NewRun(
        wanted.platform,
        wanted.file_name,
        wanted.object_key,
        asdict(options),
        wanted.dry_run,
        wanted.id,
        wanted.file_size,
    )
    async with records.unit(caller, emit_events=False) as unit:
        run = await create_run(unit, new)
        await enqueue_task(unit, run["id"], run["task"])
        if sweep_id:
            if not await unit.cancel(sweep_id):
                raise SweptAway
            await sweep_later(unit, run["id"], FILE_STAYS)
    return run


async def enqueue_task(unit: Unit, run_id: str, task: str) -> None:
    """A preview is a job of another kind: a person waits for it, and the import of another site
    may take hours."""
    kind = PREVIEW_JOB if task == PREVIEW else RUN_JOB
    await unit.enqueue(kind, {"run_id": run_id, "task": task})


async def sweep_later(unit: Unit, run_id: str, after: timedelta) -> str:
    """Deletes the uploaded file after this time, if nothing needs it then. Returns the job's id."""
    run_at = clock.to_text(clock.from_text(unit.now) + after)
    return await unit.enqueue(SWEEP_JOB, {"run_id": run_id}, run_at)


async def drop_file(unit: Unit, run: Record) -> None:
    """The record forgets the uploaded file, so nothing is started any more that needs it. A job
    deletes it."""
    if run["object_key"]:
        await unit.update(import_runs, run["id"], {}, stamped={"object_key": ""})


def folder_of(tenant_id: str, run_id: str) -> str:
    """The folder of a run's files in the object store."""
    return file_key(tenant_id, import_runs, run_id, "").rstrip("/")
