"""A zip that is written entry by entry, and safe file names for its entries."""

from __future__ import annotations

import asyncio
import re
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime
from typing import IO, BinaryIO, ParamSpec, Self, TypeVar

from masthead.engine.records.write.slugs import slugify
from masthead.storage.cancelling import complete

P = ParamSpec("P")
T = TypeVar("T")

LONGEST_NAME = 100
_LEVEL = 3
_PLAIN = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{LONGEST_NAME - 1}}}")
# Windows treats these as devices, with any extension.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])")
_ENDS_WITH_ID = re.compile(r"-[a-z0-9]{15}\Z")


def file_stem(slug: str, record_id: str) -> str:
    """A file name, without extension, for a slug, which may hold anything but slashes and blanks.

    The slug itself where every file system can store it, else a simplified slug with the record's
    id. It is unique in a collection, also on file systems that ignore case.
    """
    if is_plain(slug):
        return slug
    return f"{slugify(slug, LONGEST_NAME - 16)}-{record_id}"


def is_plain(slug: str) -> bool:
    return bool(
        _PLAIN.fullmatch(slug) and not _DEVICES.fullmatch(slug) and not _ENDS_WITH_ID.search(slug)
    )


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Converting and compressing a page of texts would block the event loop, on which the server
    answers requests. A cancelled caller waits for the thread, which uses the open file."""
    return await complete(asyncio.to_thread(work, *args, **kwargs))


class Archive:
    def __init__(self, file: BinaryIO, moment: datetime) -> None:
        self._zip = zipfile.ZipFile(file, "w")
        self._moment = (
            *(moment.year, moment.month, moment.day),
            *(moment.hour, moment.minute, moment.second),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: object, trace: object) -> None:
        # After an error the file is discarded, and that error must not be replaced by another.
        with suppress(OSError, ValueError) if error else nullcontext():
            self._zip.close()

    def entry(self, name: str, *, compress: bool = True) -> AbstractContextManager[IO[bytes]]:
        """A stream for one entry. Only one may be open at a time."""
        return self._zip.open(self._info(name, compress), "w", force_zip64=True)

    def add(self, name: str, data: bytes) -> None:
        self._zip.writestr(self._info(name, compress=True), data)

    async def add_stored(self, name: str, chunks: AsyncIterator[bytes]) -> None:
        """Uncompressed, because media files are compressed already."""
        with self.entry(name, compress=False) as entry:
            async for chunk in chunks:
                await in_thread(entry.write, chunk)

    def _info(self, name: str, compress: bool) -> zipfile.ZipInfo:
        info = zipfile.ZipInfo(name, self._moment)
        info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        # `ZipFile` ignores its own level for entries that are given as `ZipInfo`.
        info._compresslevel = _LEVEL  # type: ignore[attr-defined]
        info.external_attr = 0o644 << 16
        return info
