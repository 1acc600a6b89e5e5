"""Which objects of the store belong to the rows of a snapshot.

Thumbs are not among them: they are made again at the first request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from masthead.importers.collection import import_runs
from masthead.privacy.collection import gdpr_requests
from masthead.privacy.export import archive_key
from masthead.records.collection import Collection, Record
from masthead.records.fields.file import File
from masthead.records.write.unit import file_key
from masthead.schema import registry, tables
from masthead.storage.snapshot import Snapshot


async def stored_keys(snapshot: Snapshot) -> AsyncIterator[str]:
    for collection in registry.collections:
        keys_of = _reader_of(collection)
        if keys_of is None:
            continue
        columns = list(tables[collection.name].columns)
        names = [each.name for each in columns]
        async for rows in snapshot.rows(*columns):
            for row in rows:
                for key in keys_of(dict(zip(names, row, strict=True))):
                    yield key


def _reader_of(collection: Collection) -> Callable[[Record], list[str]] | None:
    if collection.name == gdpr_requests.name:
        return _of_request
    if collection.name == import_runs.name:
        return _of_import
    fields = [each.name for each in collection.fields if isinstance(each, File)]
    if not fields:
        return None

    def of_record(record: Record) -> list[str]:
        tenant_id, record_id = record["tenant_id"], record["id"]
        return [file_key(tenant_id, collection, record_id, record[name]) for name in fields]

    return of_record


def _of_request(request: Record) -> list[str]:
    is_export = request["type"] == "export" and request["status"] == "ready"
    return [archive_key(request)] if is_export else []


def _of_import(run: Record) -> list[str]:
    """The uploaded export, and what the run has left; a run from a shell names files elsewhere."""
    report: dict[str, Any] = msgspec.json.decode(run["report"] or "null") or {}
    named = [run["object_key"], report.get("redirects"), report.get("errors")]
    own = file_key(run["tenant_id"], import_runs, run["id"], "")
    return [key for key in named if isinstance(key, str) and key.startswith(own)]
