"""Where an archive is: a file of this machine, or `s3://bucket/key` with the `AWS_*` variables.

An archive in a bucket is written to a temporary file first, and read from one: its entries need
their sizes before their content, and a restore checks all of it before it writes anything.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from masthead.base.errors import BadRequest, MastheadError, NotFound, Unavailable
from masthead.base.whole_file import FileExists
from masthead.storage.file_chunks import chunks_of, write_chunks
from masthead.storage.objects import ObjectStore
from masthead.storage.open_objects import open_object_store

_BUCKET: Final = "s3://"
_NAME: Final = "archive.tar"


class UnreachableBucket(MastheadError):
    """The message names the address."""


class NoSuchArchive(MastheadError):
    """The message names the address."""


class NoRoom(MastheadError):
    """The message names the folder for temporary files."""


class BadAddress(MastheadError):
    """The message names the address."""


@asynccontextmanager
async def written_archive(named: str) -> AsyncIterator[Path]:
    """The path to write to. An archive in a bucket appears there when the block has ended, and
    never replaces another."""
    if not named.startswith(_BUCKET):
        yield Path(named)
        return
    objects, key = _open(named)
    with _translated(named):
        await _refuse_existing(objects, key, named)
    with tempfile.TemporaryDirectory(prefix="masthead-backup-") as folder:
        path = Path(folder) / _NAME
        yield path
        with _translated(named):
            # Again: another backup may have written it meanwhile.
            await _refuse_existing(objects, key, named)
            with path.open("rb") as file:
                await objects.put(key, chunks_of(file), content_type="application/x-tar")


@asynccontextmanager
async def read_archive(named: str) -> AsyncIterator[Path]:
    """The path to read from."""
    if not named.startswith(_BUCKET):
        yield Path(named)
        return
    objects, key = _open(named)
    with tempfile.TemporaryDirectory(prefix="masthead-backup-") as folder:
        path = Path(folder) / _NAME
        with _translated(named):
            stored = await objects.get(key)
            with path.open("wb") as file:
                await write_chunks(stored.chunks, file)
        yield path


def _open(named: str) -> tuple[ObjectStore, str]:
    folder, _, key = named.removeprefix(_BUCKET).rpartition("/")
    if not folder or not key:
        raise BadAddress(f"{named} must be s3://bucket/key")
    return open_object_store(_BUCKET + folder), key


async def _refuse_existing(objects: ObjectStore, key: str, named: str) -> None:
    try:
        await objects.head(key)
    except NotFound:
        return
    raise FileExists(f"{named} exists already. Name a new file.")


@contextmanager
def _translated(named: str) -> Iterator[None]:
    try:
        yield
    except NotFound as error:
        raise NoSuchArchive(f"There is no archive {named}") from error
    except BadRequest as error:
        raise BadAddress(f"{named} can't be the name of an archive") from error
    except OSError as error:
        raise NoRoom(
            f"The archive can't be stored in {tempfile.gettempdir()} ({error.strerror}). Set TMPDIR"
        ) from error
    except Unavailable as error:
        raise UnreachableBucket(
            f"The bucket of {named} does not answer, or refuses the AWS variables"
        ) from error
