"""Takes a backup: one archive of a snapshot of the database, its files and its secrets.

The service may run meanwhile. The rows of the snapshot decide which files belong to the backup: a
later file is left out, and a file that was deleted since is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.base.config.settings import Settings
from masthead.base.version import running_version
from masthead.base.whole_file import whole_file
from masthead.engine.records.search.index import search_queue
from masthead.features.statistics.tables import day_readers, day_salts
from masthead.service.backup.archive import FORMAT, HEADER, SECRETS, Header
from masthead.service.backup.stored_files import stored_keys
from masthead.service.schema import tables
from masthead.storage.archives import ArchiveCounts, ArchiveWriter, RowChunks, layout_of
from masthead.storage.full_text import documents
from masthead.storage.metadata import all_tables
from masthead.storage.migrate import HEAD
from masthead.storage.objects import ObjectStore
from masthead.storage.snapshot import Snapshot, open_snapshot
from masthead.storage.urls import engine_of

Count = Callable[[str, int], None]
"""Called with `records` or `media` and the number of new ones."""

LEFT_OUT: Final = (documents.name, search_queue.name, day_salts.name, day_readers.name)
"""The search index differs between database engines; a restore rebuilds it. Readers of a day are
forgotten after it, and a backup is kept for longer."""


async def take_backup(
    settings: Settings, objects: ObjectStore, path: Path, count: Count = lambda _kind, _count: None
) -> ArchiveCounts:
    """The database must have the current schema."""
    secrets = ",".join(str(each) for each in settings.load_root_secrets())
    taken = ArchiveCounts()
    with whole_file(path, replaces=False) as file:
        archive = ArchiveWriter(file, clock.now().timestamp())
        try:
            async with open_snapshot(settings.database_url) as snapshot:
                archive.add(HEADER, msgspec.json.encode(_header(settings)))
                archive.add(SECRETS, f"{secrets}\n".encode())
                await _add_rows(archive, snapshot, taken, count)
                await _add_objects(archive, snapshot, objects, taken, count=count)
            taken.bytes = archive.finish()
        finally:
            archive.close()
    return taken


def _header(settings: Settings) -> Header:
    return Header(
        format=FORMAT,
        version=running_version().version,
        created=clock.to_text(clock.now()),
        engine=engine_of(settings.database_url),
        revision=HEAD,
        tables={str(table.name): layout_of(table) for table in _tables()},
    )


def _tables() -> list[sa.Table]:
    return [each for each in all_tables().sorted_tables if each.name not in LEFT_OUT]


async def _add_rows(
    archive: ArchiveWriter, snapshot: Snapshot, taken: ArchiveCounts, count: Count
) -> None:
    for table in _tables():
        are_records = table.name in tables
        chunks = RowChunks(archive, table.name)
        async for rows in snapshot.rows(*table.columns):
            for row in rows:
                chunks.add(row)
            if are_records:
                taken.records += len(rows)
                count("records", len(rows))
        chunks.flush()


async def _add_objects(
    archive: ArchiveWriter,
    snapshot: Snapshot,
    objects: ObjectStore,
    taken: ArchiveCounts,
    *,
    count: Count,
) -> None:
    async for key in stored_keys(snapshot):
        if await archive.add_object(objects, key, key, taken):
            count("media", 1)
