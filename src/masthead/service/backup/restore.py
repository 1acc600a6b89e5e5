"""Restores a backup into an empty installation, on the same database engine or on the other one.

The whole archive is checked before anything is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

import msgspec

from masthead.base.config import root_secret
from masthead.base.config.settings import Settings
from masthead.base.config.values import parse_secret_keys
from masthead.base.errors import MastheadError, Unavailable
from masthead.engine.records.search.index import queue_all_records
from masthead.service.backup.archive import FORMAT, Contents, read_contents
from masthead.service.schema import registry, tables
from masthead.storage.archives import OBJECTS, UnreachableStorage, entries, read_rows
from masthead.storage.file_chunks import chunks_of
from masthead.storage.load import Loading, NotEmpty, open_loading, require_empty
from masthead.storage.migrate import HEAD, OLDEST, OLDEST_VERSION, NeverReleased
from masthead.storage.objects import ObjectStore
from masthead.storage.open_objects import open_object_store

Count = Callable[[str, int], None]
"""Called with `checked` and bytes, or with `records` or `media` and the number of new ones."""

_IGNORED: Final = frozenset({"lost+found"})
"""A newly created file system has it."""


class NewerArchive(MastheadError):
    message = "The archive was written by a newer version of Masthead. Upgrade this one first."


class CannotRead(MastheadError):
    """The message names the file."""


class OtherSecret(MastheadError):
    message = (
        "MASTHEAD_SECRET_KEY lacks a root secret that this archive was written with. "
        "Add it to the list, or unset the variable to use the archive's."
    )


class Unfinished(MastheadError):
    """The message names the cause and what to empty."""


class Restored(msgspec.Struct):
    bytes: int
    records: int = 0
    media: int = 0


async def restore_backup(
    settings: Settings, path: Path, count: Count = lambda _kind, _count: None
) -> Restored:
    await _require_empty(settings)
    contents = await check_archive(path, count)
    check_versions(contents)
    _check_secrets(settings, contents)
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    objects = open_object_store(settings.storage_url)
    await _require_empty_storage(objects)
    try:
        return await _restore(settings, path, contents, objects, count=count)
    except NotEmpty:
        raise
    except (MastheadError, OSError) as error:
        raise Unfinished(
            f"The restore stopped ({error}); empty the data directory and the media storage, "
            "and start again."
        ) from error


async def _require_empty(settings: Settings) -> None:
    folder = settings.data_dir
    names = {each.name for each in folder.iterdir()} if folder.is_dir() else set()
    if found := sorted(names - _IGNORED):
        raise NotEmpty(
            f"The data directory {folder} is not empty (it holds {found[0]}). "
            "Restore into an empty one."
        )
    await require_empty(settings.database_url)


async def _require_empty_storage(objects: ObjectStore) -> None:
    try:
        async for _ in objects.list_keys():
            raise NotEmpty("The media storage is not empty. Restore into an empty one.")
    except Unavailable as error:
        raise UnreachableStorage from error


async def check_archive(path: Path, count: Count) -> Contents:
    try:
        return await asyncio.to_thread(read_contents, path, lambda size: count("checked", size))
    except OSError as error:
        raise CannotRead(f"{path} can't be read ({error.strerror}).") from error


def check_versions(contents: Contents) -> None:
    # Revisions have leading zeros, so they compare as text.
    if contents.header.format > FORMAT or contents.header.revision > HEAD:
        raise NewerArchive
    if contents.header.revision < OLDEST:
        raise NeverReleased(
            f"No released version of Masthead wrote this archive. Restore it with version "
            f"{OLDEST_VERSION}, and take another backup."
        )


def _check_secrets(settings: Settings, contents: Contents) -> None:
    if settings.secret_key is None:
        return
    configured = {str(each) for each in settings.secret_key}
    if not {str(each) for each in parse_secret_keys(contents.secrets)} <= configured:
        raise OtherSecret


async def _restore(
    settings: Settings, path: Path, contents: Contents, objects: ObjectStore, *, count: Count
) -> Restored:
    restored = Restored(contents.bytes)
    # The database is committed last, so that no service can start on an incomplete installation.
    async with open_loading(settings.database_url, contents.header.revision) as loading:
        for name, file in entries(path):
            if name.startswith(OBJECTS):
                await objects.put(name.removeprefix(OBJECTS), chunks_of(file))
                restored.media += 1
                count("media", 1)
            else:
                records = await _load_rows(loading, contents, name, file)
                restored.records += records
                count("records", records)
        await loading.bring_up_to_date()
        for collection in registry.collections:
            if collection.searchable:
                await loading.execute(queue_all_records(tables[collection.name], collection))
        if settings.secret_key is None:
            root_secret.write_new(settings.data_dir / "secret.key", contents.secrets)
    return restored


async def _load_rows(loading: Loading, contents: Contents, name: str, file: IO[bytes]) -> int:
    """Returns the number of records, which are rows of a collection."""
    table = name.split("/")[1]
    layout = contents.header.tables[table]
    rows = read_rows(file, layout)
    await loading.insert(table, layout.columns, rows)
    return len(rows) if table in tables else 0
