"""Takes a backup: one archive of the database as it is at one moment, its files and its secrets.

The service goes on meanwhile. Which files belong to the backup is decided by the rows of that
moment: a file that came later is left out, and one that was deleted since is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
import sqlalchemy as sa

import masthead
from masthead import clock
from masthead.backup.archive import (
    FORMAT,
    HEADER,
    OBJECTS,
    SECRETS,
    ArchiveWriter,
    Header,
    RowChunks,
    TableLayout,
)
from masthead.backup.stored_files import stored_keys
from masthead.config.settings import Settings
from masthead.errors import MastheadError, NotFound, Unavailable
from masthead.records.search.index import search_queue
from masthead.schema import metadata, tables
from masthead.site_export.output import whole_file
from masthead.storage.dialects import Blob
from masthead.storage.full_text import documents
from masthead.storage.migrate import HEAD
from masthead.storage.objects import ObjectStore, StoredObject
from masthead.storage.snapshot import Snapshot, open_snapshot
from masthead.storage.urls import engine_of

Tell = Callable[[str, int], None]
"""Is called with `records` or `media` and how many more there are."""

REBUILT: Final = (documents.name, search_queue.name)
"""The search index differs from database to database; a restore has it made anew."""
_SHOWN_MISSING: Final = 10


class UnreachableStorage(MastheadError):
    message = "The media storage does not answer. Check MASTHEAD_STORAGE_URL."


class FileExists(MastheadError):
    """The message names the file."""


@dataclass
class Taken:
    records: int = 0
    media: int = 0
    bytes: int = 0
    missing: int = 0
    first_missing: list[str] = field(default_factory=list)
    """Keys of stored files that rows name and the store does not have."""

    def miss(self, key: str) -> None:
        self.missing += 1
        if self.missing <= _SHOWN_MISSING:
            self.first_missing.append(key)


async def take_backup(
    settings: Settings, objects: ObjectStore, path: Path, tell: Tell = lambda _kind, _count: None
) -> Taken:
    """The database must have the current schema."""
    _refuse_existing(path)
    secrets = ",".join(str(each) for each in settings.load_root_secrets())
    taken = Taken()
    with whole_file(path) as file:
        archive = ArchiveWriter(file, clock.now().timestamp())
        try:
            async with open_snapshot(settings.database_url) as snapshot:
                archive.add(HEADER, msgspec.json.encode(_header(settings)))
                archive.add(SECRETS, f"{secrets}\n".encode())
                await _add_rows(archive, snapshot, taken, tell)
                await _add_objects(archive, snapshot, objects, taken, tell)
            taken.bytes = archive.finish()
        finally:
            archive.close()
        # It may have come meanwhile, from another backup with the same name.
        _refuse_existing(path)
    return taken


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise FileExists(f"{path} exists already. Name a new file.")


def _header(settings: Settings) -> Header:
    return Header(
        format=FORMAT,
        version=masthead.__version__,
        created=clock.to_text(clock.now()),
        engine=engine_of(settings.database_url),
        revision=HEAD,
        tables={str(table.name): _layout(table) for table in _tables()},
    )


def _tables() -> list[sa.Table]:
    return [each for each in metadata.sorted_tables if each.name not in REBUILT]


def _layout(table: sa.Table) -> TableLayout:
    return TableLayout(
        columns=[str(each.name) for each in table.columns],
        binary=[str(each.name) for each in table.columns if isinstance(each.type, Blob)],
    )


async def _add_rows(archive: ArchiveWriter, snapshot: Snapshot, taken: Taken, tell: Tell) -> None:
    for table in _tables():
        are_records = table.name in tables
        chunks = RowChunks(archive, table.name)
        async for rows in snapshot.rows(*table.columns):
            for row in rows:
                chunks.add(row)
            if are_records:
                taken.records += len(rows)
                tell("records", len(rows))
        chunks.flush()


async def _add_objects(
    archive: ArchiveWriter, snapshot: Snapshot, objects: ObjectStore, taken: Taken, tell: Tell
) -> None:
    async for key in stored_keys(snapshot):
        try:
            stored = await _get(objects, key)
            if stored is None:
                taken.miss(key)
                continue
            await archive.add_stream(OBJECTS + key, stored.size, stored.chunks)
        except Unavailable as error:
            raise UnreachableStorage from error
        taken.media += 1
        tell("media", 1)


async def _get(objects: ObjectStore, key: str) -> StoredObject | None:
    try:
        return await objects.get(key)
    except NotFound:
        return None
