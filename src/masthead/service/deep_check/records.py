"""Checks each record by itself: that it can be read, that its relations lead to
records, that it is in its lists and in the search index, and that its secrets can be decrypted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from masthead.base.config.keyring import DecryptionError
from masthead.engine.records.collection import Collection, Pointer, Record
from masthead.engine.records.fields.relation_list import RelationList
from masthead.service.deep_check.documents import missing_documents
from masthead.service.deep_check.faults import (
    Batch,
    Cursor,
    Fault,
    Here,
    Look,
    Site,
    decoded,
    id_of,
)
from masthead.service.deep_check.lists import missing_items


async def check_records(
    look: Look, collection: Collection, site: Site, after: Cursor
) -> AsyncIterator[Batch]:
    while True:
        async with look.snapshot() as snapshot:
            rows = await look.page(snapshot, collection, site, after)
            if not rows:
                return
            faults, records = [], []
            for row in rows:
                record = decoded(collection, row)
                if record is None:
                    detail = "a field holds what can't be read; restore the record from a backup"
                    faults.append(Fault("records", collection.name, id_of(collection, row), detail))
                else:
                    records.append(record)
            here = Here(look, snapshot, site, collection)
            faults += await _dangling(here, records)
            faults += await missing_items(here, records)
            faults += await missing_documents(here, records)
        faults += _unreadable_secrets(look, collection, records)
        after = (id_of(collection, rows[-1]),)
        yield Batch(after, len(rows), faults)


def _unreadable_secrets(
    look: Look, collection: Collection, records: Sequence[Record]
) -> list[Fault]:
    detail = (
        "{} can't be decrypted with the current root secret; add the one that encrypted it to "
        "MASTHEAD_SECRET_KEY, or set it again"
    )
    return [
        Fault("secrets", collection.name, record["id"], detail.format(name))
        for name in collection.secrets
        for record in records
        if not _is_readable(look, collection, record, name)
    ]


def _is_readable(look: Look, collection: Collection, record: Record, name: str) -> bool:
    try:
        look.parts.records.reveal(collection, record, name)
    except DecryptionError:
        return False
    return True


async def _dangling(here: Here, records: Sequence[Record]) -> list[Fault]:
    look, snapshot, site, collection = here
    faults: list[Fault] = []
    for pointer in collection.pointers:
        named = {record["id"]: _targets(pointer, record) for record in records}
        wanted = sorted({target for targets in named.values() for target in targets})
        if not wanted:
            continue
        found = await look.existing(snapshot, site.id, pointer.to, wanted)
        faults += [
            Fault(
                "relations",
                collection.name,
                record_id,
                f"{pointer.name} names {target}, which is no record of {pointer.to}; save the "
                "record with another value",
            )
            for record_id, targets in named.items()
            for target in targets
            if target not in found
        ]
    return faults


def _targets(pointer: Pointer, record: Record) -> list[str]:
    if isinstance(pointer, RelationList):
        return list(record[pointer.name])
    return [record[pointer.name]] if record[pointer.name] else []
