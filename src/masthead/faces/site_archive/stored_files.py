"""The stored files of a site's records, by their names in an archive: without the tenant."""

from __future__ import annotations

from masthead.engine.records.collection import Collection, Record, file_key
from masthead.faces.importers.collection import import_runs, stored_keys


def has_files(collection: Collection) -> bool:
    return bool(collection.files) or collection.name == import_runs.name


def keys_of(collection: Collection, record: Record) -> list[str]:
    """The keys in the object store. Thumbnails and copies are not among them: they are made again
    when they are asked for."""
    if collection.name == import_runs.name:
        return stored_keys(record)
    return [
        file_key(record["tenant_id"], collection, record["id"], record[name])
        for name in collection.files
        if record[name]
    ]


def name_of(key: str) -> str:
    """`media/<id>/<file>` in an archive."""
    return key.partition("/")[2]
