"""Imports of an uploaded file: queued, and run by the worker.

Every batch commits with the progress of the run, so another worker can resume it after a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

from masthead.caller import system
from masthead.ids import TenantId
from masthead.importers.run.batch_sizes import DEFAULT_BATCH
from masthead.importers.run.run_record import NewRun, create_run
from masthead.importers.source import Options
from masthead.jobs.runner import Handler, Job
from masthead.records.collection import Record
from masthead.records.engine import Records

if TYPE_CHECKING:
    from masthead.importers.images.copying import ImportServices

RUN_JOB: Final = "imports.run"
MEMBERS_JOB: Final = "members.import"
CONCURRENCY: Final = {RUN_JOB: 1, MEMBERS_JOB: 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedImport:
    """`object_key` is that of the uploaded file, which is deleted after the run."""

    platform: str
    file_name: str
    object_key: str
    options: Options = field(default_factory=Options)
    batch_size: int = DEFAULT_BATCH
    dry_run: bool = False
    emit_events: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOptions(Options):
    """The field `options` of the run, from which a worker resumes it."""

    batch_size: int = DEFAULT_BATCH
    emit_events: bool = False


async def queue_import(records: Records, tenant_id: TenantId, wanted: QueuedImport) -> Record:
    """Returns the run's record, which has its state and report."""
    options = StoredOptions(
        **asdict(wanted.options), batch_size=wanted.batch_size, emit_events=wanted.emit_events
    )
    new = NewRun(
        wanted.platform, wanted.file_name, wanted.object_key, asdict(options), wanted.dry_run
    )
    async with records.unit(system(tenant_id), emit_events=False) as unit:
        run = await create_run(unit, new)
        await unit.enqueue(RUN_JOB, {"run_id": run["id"]})
    return run


class ImportWork:
    """Runs imports in the worker, and stops them between two batches."""

    def __init__(self) -> None:
        self._is_stopping = False

    def stop(self) -> None:
        """The current run stops after its batch and is queued again."""
        self._is_stopping = True

    def handlers(self, services: ImportServices) -> Mapping[str, Handler]:
        async def run(job: Job) -> None:
            # Imported with the first job, because its parsers are slow to load.
            from masthead.importers.run.queued import ImportJob

            await ImportJob(services, job, lambda: self._is_stopping).run()

        async def run_members(job: Job) -> None:
            from masthead.importers.member_csv.run import MemberImport

            work = MemberImport(services.records, services.objects, job, lambda: self._is_stopping)
            await work.run()

        return {RUN_JOB: run, MEMBERS_JOB: run_members}
