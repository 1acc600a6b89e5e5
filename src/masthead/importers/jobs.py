"""Imports that somebody started in the admin: queued with their uploaded file, run by the worker.

Every batch commits with how far the run has come, so a worker that dies leaves a run that the next
one takes up where it stopped.
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
CONCURRENCY: Final = {RUN_JOB: 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedImport:
    """`object_key` is where the uploaded file lies; it goes when the run is over."""

    platform: str
    file_name: str
    object_key: str
    options: Options = field(default_factory=Options)
    batch_size: int = DEFAULT_BATCH
    dry_run: bool = False
    emit_events: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptOptions(Options):
    """What is kept with the run, so that whoever takes it up does the same."""

    batch_size: int = DEFAULT_BATCH
    emit_events: bool = False


async def queue_import(records: Records, tenant_id: TenantId, wanted: QueuedImport) -> Record:
    """The run's record, whose state and report tell how it goes."""
    options = KeptOptions(
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
    """The worker's side of it. An import may take longer than a process is given to end."""

    def __init__(self) -> None:
        self._is_stopping = False

    def stop(self) -> None:
        """A run in hand ends after its batch, and is queued again for whoever comes next."""
        self._is_stopping = True

    def handlers(self, services: ImportServices) -> Mapping[str, Handler]:
        async def run(job: Job) -> None:
            # Loaded with the first import: its parsers are a noticeable part of a start that may
            # never see one.
            from masthead.importers.run.queued import ImportJob

            await ImportJob(services, job, lambda: self._is_stopping).run()

        return {RUN_JOB: run}
