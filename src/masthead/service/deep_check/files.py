"""Checks stored files: each that a record names is there and whole, and none is left behind."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from typing import Any

import msgspec
import sqlalchemy as sa

from masthead.base.errors import NotFound
from masthead.base.ids import is_id
from masthead.engine.jobs.tables import jobs
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.write.trash import TRASH
from masthead.faces.importers.collection import SWEEP_JOB
from masthead.faces.importers.tasks.queue import folder_of
from masthead.features.media.jobs import THUMBS
from masthead.features.privacy.collection import gdpr_requests
from masthead.service.backup.stored_files import key_reader
from masthead.service.deep_check.faults import BATCH, DONE, Batch, Cursor, Fault, Look, Site, tenant
from masthead.service.schema import registry, tables
from masthead.storage import dialects
from masthead.storage.objects import ObjectInfo
from masthead.storage.snapshot import Snapshot

FILES = 500
AT_ONCE = 8
"""Requests to the object store."""
YOUNG = timedelta(days=1)
"""A file is stored before its record is: a younger one may belong to a change under way."""
_FOLDERS = {"exports": gdpr_requests.name}
"""The folders of a site that do not have the name of their collection."""

Named = tuple[str, Record]
"""A record's row and the key of one of its files."""


async def check_stored(
    look: Look, collection: Collection, site: Site, after: Cursor
) -> AsyncIterator[Batch]:
    """The files of a collection's records."""
    keys_of = key_reader(collection)
    assert keys_of is not None
    names = [each.name for each in tables[collection.name].columns]
    statement = look.statement(("rows", collection.name), lambda: _rows(collection))
    last = after[0] if after else ""
    while True:
        async with look.snapshot() as snapshot:
            rows = await snapshot.fetch(statement({"tenant": site.id, "after": last}))
        if not rows:
            return
        records = [dict(zip(names, row, strict=True)) for row in rows]
        named = [(key, record) for record in records for key in keys_of(record) if key]
        limit = asyncio.Semaphore(AT_ONCE)
        problems = await asyncio.gather(*(_problem(look, limit, each) for each in named))
        wrong = [(each, text) for each, text in zip(named, problems, strict=True) if text]
        faults = await _confirmed(look, site, collection, wrong, keys_of=keys_of)
        last = records[-1]["id"]
        yield Batch((last,), len(named), faults)


async def _problem(look: Look, limit: asyncio.Semaphore, named: Named) -> str:
    key, record = named
    async with limit:
        try:
            stored = await look.parts.objects.get(key)
            digest, size = hashlib.sha256(), 0
            if not record.get("sha256"):
                return ""
            async for chunk in stored.chunks:
                digest.update(chunk)
                size += len(chunk)
        except NotFound:
            return "its file {key} is missing; restore it from a backup, or delete the record"
    if digest.hexdigest() != record["sha256"] or size != record["size"]:
        return "its file {key} is damaged; restore it from a backup"
    return ""


async def _confirmed(
    look: Look,
    site: Site,
    collection: Collection,
    wrong: Sequence[tuple[Named, str]],
    *,
    keys_of: Callable[[Record], list[str]],
) -> list[Fault]:
    """Looks at the records again: one may have been deleted, or its file replaced, since."""
    faults = []
    names = [each.name for each in tables[collection.name].columns]
    statement = look.statement(("row", collection.name), lambda: _row(collection))
    for (key, record), problem in wrong:
        async with look.snapshot() as snapshot:
            rows = await snapshot.fetch(statement({"tenant": site.id, "id": record["id"]}))
        if any(key in keys_of(dict(zip(names, row, strict=True))) for row in rows):
            detail = problem.format(key=key)
            faults.append(Fault("files", collection.name, record["id"], detail))
    return faults


async def check_left(look: Look, site: Site, after: Cursor) -> AsyncIterator[Batch]:
    """Files of the site without a record. A store lists them in an order of its own, so this step
    has no place to go on from, and reports at its end."""
    if after or not site.id:
        return
    found: list[ObjectInfo] = []
    faults: list[Fault] = []
    async for each in look.parts.objects.list_objects(site.id):
        found.append(each)
        if len(found) == FILES:
            faults += await _left(look, site, found)
            yield Batch((), len(found), [])
            found = []
    faults += await _left(look, site, found)
    yield Batch(DONE, len(found), faults)


async def _left(look: Look, site: Site, found: Sequence[ObjectInfo]) -> list[Fault]:
    # After the listing: a record that is there by now explains its file.
    latest = look.parts.records.clock() - YOUNG
    old = [each.key for each in found if each.last_modified <= latest]
    if not old:
        return []
    async with look.snapshot() as snapshot:
        kept = await _in_the_trash(look, snapshot, site) | await _to_be_removed(look, snapshot)
        names = await _file_names(look, snapshot, site, old)
    detail = "no record has this file; delete it if you don't need it"
    return [
        Fault("orphans", _folder(key), key, detail)
        for key in old
        if not kept & {_original(key), key.rpartition("/")[0]} and not _belongs(key, names)
    ]


async def _has_files(look: Look, folder: str) -> bool:
    """False for the empty folders that local storage keeps of a site that was deleted."""
    async for _ in look.parts.objects.list_keys(folder):
        return True
    return False


def _folder(key: str) -> str:
    return key.split("/")[1] if "/" in key else ""


def _original(key: str) -> str:
    """The key of the picture of which a thumbnail or copy is made."""
    *parts, folder, _ = key.split("/")
    return "/".join((*parts, folder.removeprefix(THUMBS))) if folder.startswith(THUMBS) else key


def _record_of(key: str) -> tuple[str, str]:
    """The collection and the id."""
    _, folder, name, *_ = (*key.split("/"), "", "")
    return _FOLDERS.get(folder, folder), name.partition(".")[0]


def _belongs(key: str, names: dict[tuple[str, str], frozenset[str]]) -> bool:
    allowed = names.get(_record_of(key))
    if allowed is None:
        return False
    return not allowed or _original(key).rpartition("/")[2] in allowed


async def _file_names(
    look: Look, snapshot: Snapshot, site: Site, keys: Sequence[str]
) -> dict[tuple[str, str], frozenset[str]]:
    """For each existing record the names that its files may have; none if it may have any."""
    wanted: dict[str, set[str]] = {}
    for key in keys:
        name, record_id = _record_of(key)
        if name in tables and is_id(record_id):
            wanted.setdefault(name, set()).add(record_id)
    found: dict[tuple[str, str], frozenset[str]] = {}
    for name, ids in wanted.items():
        collection = registry[name]
        if not collection.files:
            for each in await look.existing(snapshot, site.id, name, sorted(ids)):
                found[name, each] = frozenset()
            continue
        in_order = sorted(ids)
        for start in range(0, len(in_order), BATCH):
            some = await look.some(snapshot, site, collection, in_order[start : start + BATCH])
            for record_id, record in some.items():
                names = [record[each] for each in collection.files] if record else []
                found[name, record_id] = frozenset(names)
    return found


async def _in_the_trash(look: Look, snapshot: Snapshot, site: Site) -> set[str]:
    rows = await snapshot.fetch(look.statement("trashed", _trashed)({"tenant": site.id}))
    return {key for (files,) in rows for key in msgspec.json.decode(files, type=list[str])}


async def _to_be_removed(look: Look, snapshot: Snapshot) -> set[str]:
    """The keys and folders in jobs that have not given up."""
    rows = await snapshot.fetch(look.statement("removals", _removals)())
    found: set[str] = set()
    for tenant_id, payload in rows:
        wanted = msgspec.json.decode(payload)
        found.update(wanted.get("keys") or [wanted.get("key", "")])
        if "run_id" in wanted:
            found.add(folder_of(tenant_id, wanted["run_id"]))
    return found


async def check_folders(look: Look, _: Site, after: Cursor) -> AsyncIterator[Batch]:
    """Folders of sites that do not exist."""
    if after:
        return
    folders = [each for each in await look.parts.objects.folders() if is_id(each)]
    faults = []
    for start in range(0, len(folders), FILES):
        some = folders[start : start + FILES]
        async with look.snapshot() as snapshot:
            rows = await snapshot.fetch(
                look.statement("sites", _sites)({"ids": look.list_value(some)})
            )
        detail = "these are files of a site that does not exist; delete the folder"
        known = {each for (each,) in rows}
        left = [each for each in some if each not in known and await _has_files(look, each)]
        faults += [Fault("orphans", each, each, detail) for each in left]
    yield Batch(DONE, len(folders), faults)


def _rows(collection: Collection) -> sa.Select[Any]:
    table = tables[collection.name]
    return (
        sa.select(*table.columns)
        .where(table.c.tenant_id == tenant, table.c.id > sa.bindparam("after", required=True))
        .order_by(table.c.id)
        .limit(sa.literal_column(str(BATCH)))
    )


def _row(collection: Collection) -> sa.Select[Any]:
    table = tables[collection.name]
    return sa.select(*table.columns).where(
        table.c.tenant_id == tenant, table.c.id == sa.bindparam("id", required=True)
    )


def _trashed() -> sa.Select[Any]:
    t = tables[TRASH].c
    return sa.select(t.files).where(t.tenant_id == tenant, sa.cast(t.files, sa.Text) != "[]")


def _removals() -> sa.Select[Any]:
    j = jobs.c
    kinds: list[Any] = [
        sa.literal_column(f"'{kind}'") for kind in ("files.remove", "files.sweep", SWEEP_JOB)
    ]
    return sa.select(j.tenant_id, j.payload).where(
        sa.or_(*(j.kind == kind for kind in kinds)), j.failed_at == sa.literal_column("''")
    )


def _sites() -> sa.Select[Any]:
    t = tables["tenants"].c
    return sa.select(t.id).where(dialects.any_of(t.id, sa.bindparam("ids", required=True)))
