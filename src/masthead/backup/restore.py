"""Restores a backup into an empty installation, of the same database or of the other one.

The archive is read to its end before anything is written, so a damaged one leaves no trace.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from masthead.backup.archive import (
    CHUNK_BYTES,
    FORMAT,
    OBJECTS,
    Contents,
    entries,
    read_contents,
    read_rows,
)
from masthead.backup.take import UnreachableStorage
from masthead.config import root_secret
from masthead.config.settings import Settings
from masthead.config.values import parse_secret_keys
from masthead.errors import MastheadError, Unavailable
from masthead.records.search.index import queue_all_records
from masthead.schema import registry, tables
from masthead.storage.load import Loading, NotEmpty, open_loading, require_empty
from masthead.storage.migrate import HEAD
from masthead.storage.objects import ObjectStore, open_object_store

Tell = Callable[[str, int], None]
"""Is called with `checked` and bytes, or with `records` or `media` and how many more there are."""

_NOT_OURS: Final = frozenset({"lost+found"})
"""A file system of its own has it from the start."""


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
    """The message says what stopped it, and what to empty."""


@dataclass
class Restored:
    bytes: int
    records: int = 0
    media: int = 0


async def restore_backup(
    settings: Settings, path: Path, tell: Tell = lambda _kind, _count: None
) -> Restored:
    await _require_empty(settings)
    contents = await _checked(path, tell)
    _check_versions(contents)
    _check_secrets(settings, contents)
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    objects = open_object_store(settings.storage_url)
    await _require_empty_storage(objects)
    try:
        return await _restore(settings, path, contents, objects, tell)
    except NotEmpty:
        raise
    except (MastheadError, OSError) as error:
        raise Unfinished(
            f"The restore stopped ({error}); empty the data directory and the media storage, "
            "and start again."
        ) from error


async def _require_empty(settings: Settings) -> None:
    folder = settings.data_dir
    found = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
    held = [name for name in found if name not in _NOT_OURS]
    if held:
        raise NotEmpty(
            f"The data directory {folder} is not empty (it holds {held[0]}). "
            "Restore into an empty one."
        )
    await require_empty(settings.database_url)


async def _require_empty_storage(objects: ObjectStore) -> None:
    try:
        async for _ in objects.list_keys():
            raise NotEmpty("The media storage is not empty. Restore into an empty one.")
    except Unavailable as error:
        raise UnreachableStorage from error


async def _checked(path: Path, tell: Tell) -> Contents:
    try:
        return await asyncio.to_thread(read_contents, path, lambda count: tell("checked", count))
    except OSError as error:
        raise CannotRead(f"{path} can't be read ({error.strerror}).") from error


def _check_versions(contents: Contents) -> None:
    # Revisions are numbered with leading zeros: text order is their order.
    if contents.header.format > FORMAT or contents.header.revision > HEAD:
        raise NewerArchive


def _check_secrets(settings: Settings, contents: Contents) -> None:
    if settings.secret_key is None:
        return
    configured = {str(each) for each in settings.secret_key}
    if not {str(each) for each in parse_secret_keys(contents.secrets)} <= configured:
        raise OtherSecret


async def _restore(
    settings: Settings, path: Path, contents: Contents, objects: ObjectStore, tell: Tell
) -> Restored:
    restored = Restored(contents.bytes)
    # The database comes last: until then nothing can start on half an installation.
    async with open_loading(settings.database_url, contents.header.revision) as loading:
        for name, file in entries(path):
            if name.startswith(OBJECTS):
                await objects.put(name.removeprefix(OBJECTS), _chunks(file))
                restored.media += 1
                tell("media", 1)
            else:
                records = await _load_rows(loading, contents, name, file)
                restored.records += records
                tell("records", records)
        await loading.bring_up_to_date()
        for collection in registry.collections:
            if collection.searchable:
                await loading.execute(queue_all_records(tables[collection.name], collection))
        if settings.secret_key is None:
            root_secret.write_new(settings.data_dir / "secret.key", contents.secrets)
    return restored


async def _load_rows(loading: Loading, contents: Contents, name: str, file: IO[bytes]) -> int:
    """Returns how many records they were: rows of a collection."""
    table = name.split("/")[1]
    layout = contents.header.tables[table]
    rows = read_rows(file, layout)
    await loading.insert(table, layout.columns, rows)
    return len(rows) if table in tables else 0


async def _chunks(file: IO[bytes]) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
        yield chunk
