"""Actions of owners on a list of members: upload it, say what its columns mean, start the import,
or discard it."""

from __future__ import annotations

import asyncio
import io
from typing import Any, Final

import msgspec

from masthead.base import clock, ids
from masthead.base.caller import Caller
from masthead.base.errors import Conflict, NotFound
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Record, file_key
from masthead.engine.records.engine import Records
from masthead.faces.importers.files.csv_rows import CsvTable
from masthead.faces.importers.member_csv.checking import Head, inspect_list
from masthead.faces.importers.member_csv.collection import (
    ABANDONED_AFTER,
    MEMBERS_JOB,
    QUEUED,
    RUNNING,
    STUCK_AFTER,
    UPLOADED,
    member_imports,
)
from masthead.faces.importers.member_csv.run import ChosenOptions
from masthead.faces.importers.source import BadFile
from masthead.storage.objects import ObjectStore
from masthead.web.multipart import Upload
from masthead.web.services import WebServices

HEAD_BYTES: Final = 1024 * 1024
"""The beginning of the file that is read to check its first rows."""
NO_FILE: Final = staff_words("Choose a file first.")
STARTED: Final = staff_words("The import has already started.")


async def upload_list(services: WebServices, caller: Caller, file: Upload | None) -> str:
    """Stores the file and returns the id of its import. Raises `BadFile`."""
    if file is None or not file.size:
        raise BadFile(NO_FILE)
    tenant_id, records = caller.tenant_id, services.records
    assert tenant_id is not None
    found = await asyncio.to_thread(inspect_list, file)
    import_id = ids.new_id()
    key = file_key(tenant_id, member_imports, import_id, "members.csv")
    stamped = {
        "id": import_id,
        "file_name": _file_name(file.filename),
        "object_key": key,
        "encoding": found.encoding,
        "delimiter": found.delimiter,
        "options": {"columns": found.columns},
        "rows": found.rows,
        "expires_at": clock.to_text(records.clock() + ABANDONED_AFTER),
    }
    # The record comes first, so that the file is deleted with it whatever happens.
    async with records.unit(caller) as unit:
        await unit.create(member_imports, {}, stamped=stamped)
    await services.objects.put(key, file.chunks(), content_type="text/csv")
    return import_id


async def find_import(records: Records, caller: Caller, import_id: str) -> Record:
    """Checks the caller's rights first. The record has its hidden fields, such as where the file
    is."""
    await records.get(caller, member_imports, import_id)
    assert caller.tenant_id is not None
    return await records.require(member_imports, {"id": import_id}, tenant_id=caller.tenant_id)


async def read_head(objects: ObjectStore, run: Record) -> Head:
    try:
        stored = await objects.get(run["object_key"], byte_range=(0, HEAD_BYTES))
    except NotFound as error:
        raise NotFound(staff_words("The uploaded file is gone. Upload it again.")) from error
    head = b"".join([chunk async for chunk in stored.chunks])
    table = await asyncio.to_thread(CsvTable, lambda: io.BytesIO(head))
    return Head(table, is_cut=stored.size > len(head))


def chosen_columns(run: Record) -> ChosenOptions:
    return msgspec.convert(run["options"] or {}, ChosenOptions, strict=False)


async def choose_columns(
    records: Records, caller: Caller, import_id: str, chosen: ChosenOptions, *, start: bool
) -> None:
    """Saves what the columns mean and, with `start`, starts the import. A form that is sent twice
    starts it once; after that, nothing changes."""
    stamped: dict[str, Any] = {"options": msgspec.to_builtins(chosen)}
    async with records.unit(caller, emit_events=False) as unit:
        found = await unit.require(member_imports, {"id": import_id})
        if found["status"] != UPLOADED:
            return
        if start:
            until = records.clock() + STUCK_AFTER
            stamped |= {"status": QUEUED, "expires_at": clock.to_text(until)}
            await unit.enqueue(MEMBERS_JOB, {"import_id": import_id})
        await unit.update(member_imports, import_id, {}, stamped=stamped)


async def discard_list(records: Records, caller: Caller, import_id: str) -> None:
    """Deletes an import with its file. Raises `Conflict` for one that is under way."""
    run = await find_import(records, caller, import_id)
    if run["status"] in (QUEUED, RUNNING):
        raise Conflict(STARTED)
    await records.delete(caller, member_imports, import_id)


def _file_name(given: str) -> str:
    return "".join(each for each in given if each.isprintable())[-255:]
