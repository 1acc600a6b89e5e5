"""The keys of the stored files that the rows of a snapshot refer to.

Thumbnails are not included: the first request creates them again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import msgspec

from masthead.engine.records.collection import Collection, Record, file_key
from masthead.engine.records.fields.file import File
from masthead.faces.importers.collection import import_runs
from masthead.faces.importers.collection import stored_keys as run_keys
from masthead.faces.importers.member_csv.collection import QUEUED, RUNNING, member_imports
from masthead.faces.site_export.collection import READY, export_key, site_exports
from masthead.features.privacy.collection import gdpr_requests
from masthead.features.privacy.export import archive_key
from masthead.features.trash.collection import trash
from masthead.service.schema import registry, tables
from masthead.storage.snapshot import Snapshot


async def stored_keys(snapshot: Snapshot) -> AsyncIterator[str]:
    for collection in registry.collections:
        keys_of = key_reader(collection)
        if keys_of is None:
            continue
        columns = list(tables[collection.name].columns)
        names = [each.name for each in columns]
        async for rows in snapshot.rows(*columns):
            for row in rows:
                for key in keys_of(dict(zip(names, row, strict=True))):
                    yield key


def key_reader(collection: Collection) -> Callable[[Record], list[str]] | None:
    """Finds the keys in a stored row; None for a collection without files."""
    if collection.name == trash.name:
        return _trashed_keys
    if collection.name == gdpr_requests.name:
        return _request_keys
    if collection.name == import_runs.name:
        return _import_keys
    if collection.name == site_exports.name:
        return _export_keys
    if collection.name == member_imports.name:
        return _upload_keys
    fields = [each.name for each in collection.fields if isinstance(each, File)]
    if not fields:
        return None

    def record_keys(record: Record) -> list[str]:
        tenant_id, record_id = record["tenant_id"], record["id"]
        return [file_key(tenant_id, collection, record_id, record[name]) for name in fields]

    return record_keys


def _request_keys(request: Record) -> list[str]:
    is_export = request["type"] == "export" and request["status"] == "ready"
    return [archive_key(request)] if is_export else []


def _export_keys(export: Record) -> list[str]:
    return [export_key(export)] if export["state"] == READY else []


def _upload_keys(upload: Record) -> list[str]:
    # Before the import is started, the file may be missing: it is stored after its record.
    return [upload["object_key"]] if upload["status"] in (QUEUED, RUNNING) else []


def _trashed_keys(entry: Record) -> list[str]:
    return msgspec.json.decode(entry["files"] or "[]", type=list[str])


def _import_keys(run: Record) -> list[str]:
    return run_keys({**run, "report": msgspec.json.decode(run["report"] or "null")})
