"""The file of an import that was uploaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO

from masthead.base.errors import NotFound
from masthead.base.languages.words import staff_words
from masthead.storage.file_chunks import write_chunks
from masthead.storage.objects import ObjectStore


async def fetch(objects: ObjectStore, key: str, path: Path) -> None:
    with path.open("wb") as file:
        await fetch_into(file, objects, key)


async def fetch_into(file: BinaryIO, objects: ObjectStore, key: str) -> None:
    try:
        stored = await objects.get(key)
    except NotFound as error:
        raise NotFound(staff_words("The uploaded file is gone. Upload it again.")) from error
    await write_chunks(stored.chunks, file)


def reopened(file: BinaryIO) -> Callable[[], AbstractContextManager[BinaryIO]]:
    """Reads an open file again from its start, and leaves it open."""

    @contextmanager
    def opened() -> Iterator[BinaryIO]:
        file.seek(0)
        yield file

    return opened
