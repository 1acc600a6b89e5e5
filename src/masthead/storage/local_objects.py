"""Stored files in a local folder.

Writes do not use obstore: its local store never calls fsync, and an acknowledged upload has to
survive a power cut.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from obstore.store import LocalStore

from masthead.base.config import private_files
from masthead.base.errors import DiskFull, Unavailable
from masthead.base.whole_file import sync_folder
from masthead.storage.disk import is_disk_full

if TYPE_CHECKING:
    pass
from masthead.storage.objects import Data, ObjectStore, check_key, first_part

WRITE_BYTES = 1024 * 1024
"""Local writes gather so much before they switch to a thread."""
MAX_UPLOAD_AGE = timedelta(days=1)
"""Older unfinished uploads are removed."""


class LocalObjectStore(ObjectStore):
    """A folder. A write is a temporary file, fsync, rename, fsync of the folder."""

    delete_batch = 8
    """Files per batch. Deleting a large file takes milliseconds, in which commits wait for the same
    disk."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(LocalStore(folder))
        self._folder = folder
        self._unfinished = folder / ".unfinished"
        self._unfinished.mkdir(exist_ok=True)
        _remove_older_than(self._unfinished, MAX_UPLOAD_AGE)

    async def put(self, key: str, data: Data, *, content_type: str | None = None) -> None:
        path = self._folder / check_key(key)
        temporary = self._unfinished / secrets.token_hex(16)
        first, rest = (
            (data, None) if isinstance(data, bytes) else await first_part(data, WRITE_BYTES)
        )
        if rest is None:
            with _file_errors():
                await asyncio.to_thread(_store, first, temporary, path, self._folder)
            return
        try:
            with _file_errors():
                # Not in a thread: it takes microseconds, and a cancellation meanwhile would leak
                # the open file.
                file = open(temporary, "xb", opener=private_files.opener)  # noqa: ASYNC230, SIM115
            with file:
                await _write_all(file, first, rest)
                with _file_errors():
                    await asyncio.to_thread(_sync_file, file)
            with _file_errors():
                await asyncio.to_thread(_rename_durably, temporary, path, self._folder)
        finally:
            _forget(temporary)

    async def _delete(self, keys: list[str]) -> None:
        with _file_errors():
            await asyncio.to_thread(_unlink_durably, [self._folder / key for key in keys])

    async def sweep(self) -> None:
        with _file_errors():
            await asyncio.to_thread(_remove_older_than, self._unfinished, MAX_UPLOAD_AGE)

    async def _ping(self) -> None:
        with _file_errors():
            await asyncio.to_thread(_touch, self._unfinished / "ping")


@contextmanager
def _file_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise (DiskFull if is_disk_full(error) else Unavailable) from error


def _store(content: bytes, temporary: Path, path: Path, folder: Path) -> None:
    """A small object in one call: each switch to a thread costs as much as writing it."""
    try:
        with open(temporary, "xb", opener=private_files.opener) as file:
            file.write(content)
            _sync_file(file)
        _rename_durably(temporary, path, folder)
    finally:
        _forget(temporary)


def _forget(temporary: Path) -> None:
    """A disk that takes nothing more may not give it up either; the sweep removes it then."""
    with suppress(OSError):
        temporary.unlink()


async def _write_all(file: BinaryIO, first: bytes, rest: AsyncIterator[bytes]) -> None:
    buffer = bytearray(first)
    async for chunk in rest:
        buffer += chunk
        if len(buffer) >= WRITE_BYTES:
            with _file_errors():
                await asyncio.to_thread(file.write, bytes(buffer))
            buffer.clear()
    with _file_errors():
        await asyncio.to_thread(file.write, bytes(buffer))


def _sync_file(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _rename_durably(temporary: Path, path: Path, folder: Path) -> None:
    created = []
    parent = path.parent
    while parent != folder and not parent.exists():
        created.append(parent)
        parent = parent.parent
    path.parent.mkdir(parents=True, exist_ok=True)
    os.replace(temporary, path)
    # A new folder's entry is in its parent, which has to be synced as well.
    for changed in {path.parent, *(each.parent for each in created)}:
        sync_folder(changed)


def _unlink_durably(paths: list[Path]) -> None:
    changed = set()
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()
            changed.add(path.parent)
    for folder in changed:
        sync_folder(folder)


def _touch(path: Path) -> None:
    """Fails if the folder is missing or can't be written to."""
    path.write_bytes(b"")


def _remove_older_than(folder: Path, age: timedelta) -> None:
    oldest = time.time() - age.total_seconds()
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < oldest:
                path.unlink()
