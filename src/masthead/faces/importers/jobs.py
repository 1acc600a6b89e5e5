"""The jobs of imports, which the worker runs.

Every batch commits with the progress of the run, so another worker can resume it after a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from masthead.base import clock
from masthead.base.caller import system
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.collection import (
    FAILED,
    PREVIEW,
    QUEUED,
    RUNNING,
    SWEEP_JOB,
    import_runs,
)
from masthead.faces.importers.member_csv.collection import MEMBERS_JOB
from masthead.faces.importers.tasks.queue import (
    FILE_STAYS,
    PREVIEW_JOB,
    RUN_JOB,
    drop_file,
    folder_of,
    sweep_later,
)
from masthead.faces.importers.write.run_record import INTERRUPTED
from masthead.features.media.services import SharedServices

CONCURRENCY: Final = {RUN_JOB: 1, PREVIEW_JOB: 1, MEMBERS_JOB: 1}


def handlers(services: SharedServices) -> Mapping[str, Handler]:
    async def run(job: Job) -> None:
        # Imported with the first job, because its parsers are slow to load.
        from masthead.faces.importers.tasks.work import ImportJob

        await ImportJob(services, job).run()

    async def run_members(job: Job) -> None:
        from masthead.faces.importers.member_csv.run import MemberImport

        await MemberImport(services.records, services.objects, job).run()

    return {
        RUN_JOB: run,
        PREVIEW_JOB: run,
        MEMBERS_JOB: run_members,
        SWEEP_JOB: partial(_sweep, services),
    }


async def _sweep(services: SharedServices, job: Job) -> None:
    """`imports.sweep`: the files of a run that is deleted, or whose file was not used for long."""
    records, run_id = services.records, job.payload["run_id"]
    if not await records.find_one(import_runs, {"id": run_id}, tenant_id=job.tenant_id):
        await services.objects.delete_prefix(folder_of(job.tenant_id, run_id))
        return
    async with records.unit(system(job.tenant_id), emit_events=False) as unit:
        # Again, because it may have been started or deleted since.
        for run in await unit.find(import_runs, {"id": run_id}, limit=1):
            is_young = clock.from_text(run["updated"]) + FILE_STAYS > records.clock()
            if is_young or await _has_job(unit, run):
                if run["object_key"]:
                    await sweep_later(unit, run_id, FILE_STAYS)
                return
            if run["task"] == PREVIEW:
                await unit.delete(import_runs, run_id)
                return
            if run["state"] in (QUEUED, RUNNING):
                # Its job is gone.
                stamped = {"state": FAILED, "error": INTERRUPTED}
                await unit.update(import_runs, run_id, {}, stamped=stamped)
            await drop_file(unit, run)


async def _has_job(unit: Unit, run: Record) -> bool:
    """Whether a worker will do its task, or does it: they may all have been stopped for long."""
    if run["state"] not in (QUEUED, RUNNING):
        return False
    kind = PREVIEW_JOB if run["task"] == PREVIEW else RUN_JOB
    return any(each["run_id"] == run["id"] for each in await unit.waiting_jobs(kind))
