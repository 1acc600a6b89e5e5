"""A tar file of rows and stored files with checksums, as backups and archives of one site are.

    <header>.json                  what it is; its name is the kind of archive
    tables/posts/000001.jsonl.gz   rows, one JSON array per line
    objects/…                      stored files under their keys
    SHA256SUMS                     the SHA-256 of every entry above, in the format of `sha256sum -c`

`SHA256SUMS` is the last entry: an archive without it is not complete.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import tarfile
import zlib
from collections.abc import AsyncIterable, Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, Final

import msgspec
import sqlalchemy as sa

from masthead.base.errors import MastheadError, NotFound, Unavailable
from masthead.storage.dialects import Blob
from masthead.storage.file_chunks import CHUNK_BYTES
from masthead.storage.objects import ObjectStore

TABLES: Final = "tables/"
OBJECTS: Final = "objects/"
SUMS: Final = "SHA256SUMS"

MAX_SMALL_BYTES: Final = 16 * 1024 * 1024
"""The size of an entry that is read into memory: the header and the like."""
MAX_ROWS_BYTES: Final = 256 * 1024 * 1024
"""The unpacked size of the rows of one entry: a post of the greatest length takes 80 MB."""
_MAX_NAME_BYTES: Final = 64 * 1024
_SHOWN_MISSING: Final = 10
_BLOCK: Final = tarfile.BLOCKSIZE
_END: Final = bytes(2 * _BLOCK)

CountBytes = Callable[[int], None]
"""Called with the number of bytes that were read since the last call."""


class DamagedArchive(MastheadError):
    message = "The archive is damaged or incomplete. Nothing was restored."


class UnreachableStorage(MastheadError):
    message = "The media storage does not answer. Check MASTHEAD_STORAGE_URL."


class OtherFile(MastheadError):
    message = "This file is no archive of this kind."


class TableLayout(msgspec.Struct, frozen=True):
    columns: list[str]
    binary: list[str]
    """Columns of bytes, which are written as Base64."""


def layout_of(table: sa.Table) -> TableLayout:
    return TableLayout(
        columns=[str(each.name) for each in table.columns],
        binary=[str(each.name) for each in table.columns if isinstance(each.type, Blob)],
    )


class ArchiveCounts(msgspec.Struct):
    """The contents of an archive."""

    records: int = 0
    media: int = 0
    bytes: int = 0
    missing: int = 0
    first_missing: list[str] = msgspec.field(default_factory=list)
    """Files that rows name and the store does not have."""
    unreadable: int = 0
    """Secrets that the root secret can't read, and that are left out."""


class ArchiveWriter:
    """Writes entries in sequence. A tar header precedes the content, so sizes must be known."""

    def __init__(self, file: BinaryIO, modified: float) -> None:
        self._file = file
        self._modified = int(modified)
        # On disk, because there may be a million entries.
        self._sums = TemporaryFile()  # noqa: SIM115 - closed by `close`

    def add(self, name: str, content: bytes) -> None:
        self._begin(name, len(content))
        self._file.write(content)
        self._end(name, len(content), hashlib.sha256(content).hexdigest())

    async def add_stream(self, name: str, size: int, chunks: AsyncIterable[bytes]) -> None:
        digest = hashlib.sha256()
        written = 0
        self._begin(name, size)
        async for chunk in chunks:
            digest.update(chunk)
            self._file.write(chunk)
            written += len(chunk)
        if written != size:
            raise DamagedArchive(f"{name} has {written} bytes instead of {size}. Try again.")
        self._end(name, size, digest.hexdigest())

    async def add_object(
        self, objects: ObjectStore, key: str, name: str, written: ArchiveCounts
    ) -> bool:
        """False, and noted, where the store does not have it."""
        try:
            stored = await objects.get(key)
            await self.add_stream(OBJECTS + name, stored.size, stored.chunks)
        except NotFound:
            written.missing += 1
            if written.missing <= _SHOWN_MISSING:
                written.first_missing.append(name)
            return False
        except Unavailable as error:
            raise UnreachableStorage from error
        written.media += 1
        return True

    def finish(self) -> int:
        """Returns the size of the whole archive."""
        size = self._sums.tell()
        self._begin(SUMS, size)
        self._sums.seek(0)
        while chunk := self._sums.read(CHUNK_BYTES):
            self._file.write(chunk)
        self._file.write(_padding(size) + _END)
        return self._file.tell()

    def close(self) -> None:
        self._sums.close()

    def _begin(self, name: str, size: int) -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode, entry.mtime = size, 0o600, self._modified
        self._file.write(entry.tobuf(tarfile.PAX_FORMAT))

    def _end(self, name: str, size: int, digest: str) -> None:
        self._file.write(_padding(size))
        self._sums.write(_sum_line(name, digest))


def _padding(size: int) -> bytes:
    return bytes(-size % _BLOCK)


def _sum_line(name: str, digest: str) -> bytes:
    return f"{digest}  {name}\n".encode()


def read_whole(
    path: Path, header: str, small: Sequence[str], count: CountBytes = lambda _: None
) -> dict[str, bytes]:
    """Reads all of it, and returns the header and those `small` entries that it has. Raises
    `DamagedArchive` unless every checksum is right, `OtherFile` if it has another header."""
    try:
        return _read_whole(path, header, small, count)
    except (tarfile.TarError, UnicodeError, ValueError) as error:
        raise (DamagedArchive if _begins_with(path, header) else OtherFile) from error


def _read_whole(
    path: Path, header: str, small: Sequence[str], count: CountBytes
) -> dict[str, bytes]:
    size = path.stat().st_size
    sums = hashlib.sha256()
    found: dict[str, bytes] = {}
    for name, file, end in _entries(path):
        if name == SUMS:
            is_valid = _digest_of(file, count) == sums.hexdigest() and end + len(_END) == size
            if not is_valid or not found:
                raise DamagedArchive
            return found
        if not found and name != header:
            raise OtherFile
        if name == header or name in small:
            found[name] = _read_small(file)
        sums.update(_sum_line(name, _digest_of(file, count)))
    raise DamagedArchive if found else OtherFile


def _read_small(file: IO[bytes]) -> bytes:
    content = file.read(MAX_SMALL_BYTES + 1)
    if len(content) > MAX_SMALL_BYTES:
        raise DamagedArchive
    file.seek(0)
    return content


def entries(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """The rows and stored files of an archive that `read_whole` has checked."""
    for name, file, _ in _entries(path):
        if name.startswith((TABLES, OBJECTS)):
            yield name, file


def _entries(path: Path) -> Iterator[tuple[str, IO[bytes], int]]:
    """Each entry with its content and the offset of its end, with padding."""
    with tarfile.open(path, "r:", tarinfo=_PlainEntry) as tar:
        while (entry := tar.next()) is not None:
            # Otherwise `tarfile` holds every entry in memory.
            tar.members.clear()  # type: ignore[attr-defined]
            # A link would name another file, and a sparse one claims any size.
            if entry.type != tarfile.REGTYPE or entry.issparse():
                raise DamagedArchive
            file = tar.extractfile(entry)
            assert file is not None
            yield entry.name, file, entry.offset_data + entry.size + -entry.size % _BLOCK


class _PlainEntry(tarfile.TarInfo):
    """`tarfile` reads the extended header of an entry into memory, whatever size it claims."""

    def _proc_pax(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.size > _MAX_NAME_BYTES:
            raise DamagedArchive
        return super()._proc_pax(tar)  # type: ignore[misc, no-any-return]

    def _proc_gnulong(self, _: tarfile.TarFile) -> tarfile.TarInfo:
        # Not of our archives.
        raise DamagedArchive


def _begins_with(path: Path, header: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(header)) == header.encode()


def _digest_of(file: IO[bytes], count: CountBytes) -> str:
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
        count(len(chunk))
    return digest.hexdigest()


class RowChunks:
    """Buffers the rows of one table and writes them in entries of bounded size."""

    def __init__(self, archive: ArchiveWriter, table: str) -> None:
        self._archive = archive
        self._table = table
        self._number = 0
        self._waiting = bytearray()

    def add(self, row: Any) -> None:
        self._waiting += msgspec.json.encode(tuple(row)) + b"\n"
        if len(self._waiting) >= CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        self._number += 1
        content = gzip.compress(self._waiting, compresslevel=3, mtime=0)
        self._archive.add(f"{TABLES}{self._table}/{self._number:06}.jsonl.gz", content)
        self._waiting.clear()


def read_rows(file: IO[bytes], layout: TableLayout) -> list[list[Any]]:
    positions = [layout.columns.index(name) for name in layout.binary]
    rows: list[list[Any]] = _ROWS.decode_lines(_unpacked(file))
    for row in rows:
        for position in positions:
            if row[position] is not None:
                row[position] = base64.b64decode(row[position])
    return rows


def _unpacked(file: IO[bytes]) -> bytes:
    """A small entry may claim to unpack to more than the memory holds."""
    try:
        with gzip.GzipFile(fileobj=file) as unpacking:
            unpacked = unpacking.read(MAX_ROWS_BYTES + 1)
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise DamagedArchive from error
    if len(unpacked) > MAX_ROWS_BYTES:
        raise DamagedArchive
    return unpacked


_ROWS: Final = msgspec.json.Decoder(list[Any])
