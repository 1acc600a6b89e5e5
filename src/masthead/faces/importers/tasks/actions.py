"""Actions of staff on an import: upload an export, which is previewed first; then run it, discard
it, try its pictures again, or undo it. The worker does the work."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec
from msgspec.structs import asdict

from masthead.base import ids
from masthead.base.caller import Caller
from masthead.base.errors import Conflict, MastheadError, SweptAway, Unavailable
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_words
from masthead.engine.records.access import check_id
from masthead.engine.records.collection import Record, file_key
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.collection import (
    DONE,
    FAILED,
    IMPORT,
    PICTURES,
    PREVIEW,
    QUEUED,
    RUNNING,
    UNDO,
    import_runs,
)
from masthead.faces.importers.platforms.guessing import guess_platform
from masthead.faces.importers.report import read_report
from masthead.faces.importers.source import BadFile, Options
from masthead.faces.importers.tasks.queue import (
    QueuedImport,
    StoredOptions,
    enqueue_task,
    queue_import,
    sweep_later,
)
from masthead.faces.importers.write.file_names import safe_name
from masthead.faces.importers.write.run_record import MAX_OPEN_RUNS
from masthead.web.multipart import Upload
from masthead.web.services import WebServices

UNUSED_AFTER: Final = timedelta(hours=1)
"""A file whose import was never recorded, because the server stopped between."""
BUSY: Final = staff_words("This import is already running.")
ANOTHER: Final = staff_words("Another import of this site is running. Wait until it has ended.")
TOO_LATE: Final = staff_words("This is no longer possible for this import. Its page shows what is.")


async def upload_export(
    services: WebServices, caller: Caller, upload: Upload, platform: str, *, options: Options
) -> Record:
    """Stores the file and queues its preview. Without a `platform` the file says where it comes
    from; raises `BadFile` where it does not, and where it is no export."""
    tenant_id = caller.tenant_id
    assert tenant_id is not None
    if not upload.size:
        raise BadFile(staff_words("The file is empty."))
    if not platform:
        platform = await asyncio.to_thread(guess_platform, upload.file)
    run_id = ids.new_id()
    key = file_key(tenant_id, import_runs, run_id, safe_name(upload.filename))
    async with services.records.unit(caller, emit_events=False) as unit:
        sweep_id = await sweep_later(unit, run_id, UNUSED_AFTER)
    await services.objects.put(key, upload.chunks())
    new = QueuedImport(
        platform=platform,
        file_name=upload.filename,
        object_key=key,
        id=run_id,
        file_size=upload.size,
        options=options,
        dry_run=True,
    )
    try:
        return await queue_import(services.records, caller, new, sweep_id=sweep_id)
    except MastheadError as error:
        # After a commit without an answer the import may exist, so the file is left to the sweep.
        if not isinstance(error, Unavailable) or isinstance(error, SweptAway):
            await services.objects.delete(key)
        raise


async def find_run(records: Records, tenant_id: TenantId, run_id: str) -> Record:
    """With its hidden fields. For owners."""
    check_id(run_id)
    return await records.require(import_runs, {"id": run_id}, tenant_id=tenant_id)


async def start_task(
    records: Records, caller: Caller, run_id: str, task: str, *, options: Options | None = None
) -> None:
    """`options` are of a new preview. Raises `Conflict` where the import is not ready for the
    task: a form that is sent twice starts it once."""
    async with records.unit(caller, emit_events=False) as unit:
        found = await unit.require(import_runs, {"id": run_id})
        run = found
        if task not in possible_tasks(run):
            raise Conflict(BUSY if run["state"] not in (DONE, FAILED) else TOO_LATE)
        if task != PREVIEW and await _is_another_at_work(unit, run_id):
            raise Conflict(ANOTHER)
        stamped: dict[str, Any] = {
            "task": task,
            "state": QUEUED,
            "dry_run": task == PREVIEW,
            "error": "",
            "finished_at": "",
        }
        if task in (PREVIEW, IMPORT):
            stamped |= {"report": None, "started_at": ""}
        if options is not None:
            stored = msgspec.convert(run["options"], StoredOptions)
            stamped["options"] = {**asdict(stored), **asdict(options)}
        await unit.update(import_runs, run_id, {}, stamped=stamped)
        await enqueue_task(unit, run_id, task)


async def _is_another_at_work(unit: Unit, run_id: str) -> bool:
    """One that changes the site. Two at once could take away each other's pictures."""
    for state in (QUEUED, RUNNING):
        for run in await unit.find(import_runs, {"state": state}, limit=MAX_OPEN_RUNS):
            is_from_shell = run["task"] == IMPORT and not run["object_key"]
            if run["id"] != run_id and run["task"] != PREVIEW and not is_from_shell:
                return True
    return False


async def discard_import(records: Records, caller: Caller, run_id: str) -> None:
    """Deletes a preview with its file."""
    async with records.unit(caller, emit_events=False) as unit:
        found = await unit.require(import_runs, {"id": run_id})
        if found["task"] != PREVIEW:
            raise Conflict(TOO_LATE)
        await unit.delete(import_runs, run_id)


def possible_tasks(run: Mapping[str, Any]) -> frozenset[str]:
    """The tasks that are possible for the import now."""
    task, has_file = run["task"], bool(run["object_key"])
    if run["state"] not in (DONE, FAILED) or not run["report"]:
        return frozenset()
    is_done = run["state"] == DONE
    if task == PREVIEW:
        return frozenset({PREVIEW, IMPORT}) if is_done and has_file else frozenset()
    if task == UNDO:
        return frozenset() if is_done else frozenset({UNDO})
    can_retry = has_file and (is_done or task == PICTURES)
    has_failed_pictures = can_retry and bool(read_report(run["report"]).images.failed)
    return frozenset({UNDO, PICTURES} if has_failed_pictures else {UNDO})
