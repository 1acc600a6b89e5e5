"""The archive of a backup: a tar file with checksums.

    masthead.json                  format, schema revision, tables with their columns
    secret.key                     the root secrets, the active one first
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
from collections.abc import AsyncIterable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, Final

import msgspec

from masthead.errors import MastheadError

FORMAT: Final = 1
HEADER: Final = "masthead.json"
SECRETS: Final = "secret.key"
TABLES: Final = "tables/"
OBJECTS: Final = "objects/"
SUMS: Final = "SHA256SUMS"

CHUNK_BYTES: Final = 1024 * 1024
_BLOCK: Final = tarfile.BLOCKSIZE
_END: Final = bytes(2 * _BLOCK)

CountBytes = Callable[[int], None]
"""Called with the number of bytes that were read since the last call."""


class DamagedArchive(MastheadError):
    message = "The archive is damaged or incomplete. Nothing was restored."


class NotAnArchive(MastheadError):
    message = "This file is not a backup made by `masthead backup`."


class TableLayout(msgspec.Struct, frozen=True):
    columns: list[str]
    binary: list[str]
    """Columns of bytes, which are written as Base64."""


class Header(msgspec.Struct, frozen=True):
    format: int
    version: str
    """Of Masthead."""
    created: str
    engine: str
    revision: str
    """Of the schema."""
    tables: dict[str, TableLayout]


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


@dataclass
class Contents:
    header: Header
    secrets: str
    bytes: int


def read_contents(path: Path, count: CountBytes = lambda _: None) -> Contents:
    """Reads the whole archive; raises `DamagedArchive` unless every checksum is right."""
    try:
        return _read_contents(path, count)
    except (tarfile.TarError, UnicodeError, ValueError) as error:
        raise (DamagedArchive if _has_header(path) else NotAnArchive) from error


def _read_contents(path: Path, count: CountBytes) -> Contents:
    size = path.stat().st_size
    sums = hashlib.sha256()
    small: dict[str, bytes] = {}
    for name, file, end in _entries(path):
        if name == SUMS:
            is_valid = _digest_of(file, count) == sums.hexdigest() and end + len(_END) == size
            if not is_valid:
                raise DamagedArchive
            header = msgspec.json.decode(small[HEADER], type=Header)
            return Contents(header, small[SECRETS].decode().strip(), size)
        if not small and name != HEADER:
            raise NotAnArchive
        if name in (HEADER, SECRETS):
            small[name] = file.read()
            file.seek(0)
        sums.update(_sum_line(name, _digest_of(file, count)))
    raise DamagedArchive if small else NotAnArchive


def entries(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """The rows and stored files of an archive that `read_contents` has checked."""
    for name, file, _ in _entries(path):
        if name.startswith((TABLES, OBJECTS)):
            yield name, file


def _entries(path: Path) -> Iterator[tuple[str, IO[bytes], int]]:
    """Each entry with its content and the offset of its end, with padding."""
    with tarfile.open(path, "r:") as tar:
        while (entry := tar.next()) is not None:
            # Otherwise `tarfile` holds every entry in memory.
            tar.members.clear()  # type: ignore[attr-defined]
            file = tar.extractfile(entry)
            if file is None:
                raise DamagedArchive
            yield entry.name, file, entry.offset_data + entry.size + -entry.size % _BLOCK


def _has_header(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(len(HEADER)) == HEADER.encode()


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
    rows: list[list[Any]] = _ROWS.decode_lines(gzip.decompress(file.read()))
    for row in rows:
        for position in positions:
            if row[position] is not None:
                row[position] = base64.b64decode(row[position])
    return rows


_ROWS: Final = msgspec.json.Decoder(list[Any])
