"""The file, folder, zip or gz that somebody hands to an importer, as names to open.

The readers of all platforms stand on this. Everything here may come from a stranger's upload, so
the tricks of archives are refused before an entry is read, and nothing is ever unpacked to disk.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, Final, Self, TypeVar

from masthead.importers.source import BadFile

MAX_ENTRIES: Final = 50_000
# A site's uploads have every picture in many sizes.
MAX_IN_FOLDER: Final = 300_000
MAX_CANDIDATES: Final = 200
MAX_UNPACKED: Final = 32 * 1024**3
# Text of real exports packs 5 to 30 times; deflate's own limit, which bombs sit at, is 1032.
MAX_RATIO: Final = 100
FREE_OF_RATIO: Final = 16 * 1024**2
# The standard library makes an object of half a kilobyte for each entry of a directory before
# anybody can count them, so what bounds the memory is the size of the directory.
_MAX_DIRECTORY: Final = 6 * 1024**2
_CHUNK: Final = 256 * 1024

_ZIP_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP_START: Final = b"\x1f\x8b"
_READABLE: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED: Final = 0x1 | 0x40
_CLUTTER: Final = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})

Found = TypeVar("Found")

_DAMAGED: Final = "The archive is damaged or cut off."
_BOMB: Final = "The archive unpacks to far more than a real export would."
_TOO_MANY: Final = f"The export has more than {MAX_ENTRIES:,} files."


class Files(ABC):
    """Names with their sizes, sorted; every name opens as often as asked, always as a stream."""

    sizes: Mapping[str, int | None]
    """Without clutter, and below the one top folder if there is but one; the size is None where
    only unpacking tells it."""
    is_single: bool = False
    """One file was given, not a collection of them."""

    @abstractmethod
    def open(self, name: str) -> BinaryIO:
        """Bytes as they are read, never all at once; reading raises `BadFile` on damage."""

    @abstractmethod
    def close(self) -> None: ...

    def find(self, name: str) -> str | None:
        """The name as the export spells it: archives made elsewhere change the case."""
        if name in self.sizes:
            return name
        wanted = name.casefold()
        return next((each for each in self.sizes if each.casefold() == wanted), None)

    def candidates(self, ending: str, but: Callable[[str], bool]) -> list[str]:
        """Names that end so, but for some: those to look into for what they are."""
        found = [name for name in self.sizes if name.lower().endswith(ending) and not but(name)]
        if len(found) > MAX_CANDIDATES:
            raise BadFile(f"There are {len(found):,} {ending} files in it; give the one to import.")
        return found

    def read(self, name: str, limit: int) -> bytes:
        with self.open(name) as stream:
            content = stream.read(limit + 1)
        if len(content) > limit:
            raise BadFile(f"A file of the export has more than {limit:,} bytes.")
        return content

    def check(self, names: Iterable[str]) -> None:
        """Reads to the end, so that damage is known before anything is written."""
        for name in names:
            with self.open(name) as stream:
                while stream.read(_CHUNK):
                    pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_files(path: Path) -> Files:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _Folder(path)
        # A pipe or a device could keep a reader waiting for ever.
        if not stat.S_ISREG(mode):
            raise BadFile("This is neither a file nor a folder.")
        start = _start_of(path)
    except FileNotFoundError:
        raise BadFile("There is no such file.") from None
    except OSError:
        raise BadFile("The file can't be read.") from None
    if start.startswith(_ZIP_STARTS):
        return _Zip(path)
    if path.suffix.lower() == ".zip":
        raise BadFile("The file is named .zip, but it is no zip archive.")
    return _Single(path)


def _start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


class _Single(Files):
    is_single = True

    def __init__(self, path: Path) -> None:
        packed = _start_of(path).startswith(_GZIP_START)
        name = path.name[:-3] if packed and path.suffix.lower() == ".gz" else path.name
        self.sizes = {name: None if packed else path.stat().st_size}
        self._path = path

    def open(self, name: str) -> BinaryIO:
        return _unpacked(self._path.open("rb"))

    def close(self) -> None:
        """Nothing is kept open between two readings."""


class _Folder(Files):
    def __init__(self, path: Path) -> None:
        found = _walk(path)
        self._root = path
        self._names = _below_one_top({name: name for name in found})
        self.sizes = {name: found[real] for name, real in sorted(self._names.items())}

    def open(self, name: str) -> BinaryIO:
        try:
            # The folder may have changed since it was listed.
            opened = os.open(
                self._root / self._names[name], os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            )
        except OSError:
            raise BadFile(f"The file {name!r} can't be read.") from None
        return _unpacked(os.fdopen(opened, "rb"))

    def close(self) -> None:
        """Nothing is kept open between two readings."""


def _walk(root: Path) -> dict[str, int]:
    """Regular files only, with their sizes: what a link names may lie anywhere."""
    found: dict[str, int] = {}
    for folder, _, files in os.walk(root, followlinks=False):
        for file in files:
            path = Path(folder, file)
            name = path.relative_to(root).as_posix()
            status = path.lstat()
            if _is_clutter(name) or not stat.S_ISREG(status.st_mode):
                continue
            found[name] = status.st_size
            if len(found) > MAX_IN_FOLDER:
                raise BadFile(f"The folder has more than {MAX_IN_FOLDER:,} files.")
    return found


class _Zip(Files):
    def __init__(self, path: Path) -> None:
        file = _ArchiveFile(path, "rb")
        try:
            self._archive = _open_archive(file)
            found = _checked_entries(self._archive, path.stat().st_size)
        except BaseException:
            file.close()
            raise
        self._file = file
        self._entries = _below_one_top(found)
        self.sizes = {name: self._entries[name].file_size for name in sorted(self._entries)}

    def open(self, name: str) -> BinaryIO:
        try:
            return _buffered(_Guarded(self._archive.open(self._entries[name])))
        except _BROKEN as error:
            raise BadFile(_DAMAGED) from error

    def close(self) -> None:
        self._archive.close()
        self._file.close()


class _ArchiveFile(io.FileIO):
    """A file that does not hand out a huge directory at one go."""

    limit = _MAX_DIRECTORY

    def read(self, size: int | None = -1, /) -> bytes:
        unbounded = size is None or size < 0 or size > self.limit
        content = super().read(self.limit + 1 if unbounded else size)
        if len(content) > self.limit:
            raise BadFile(_TOO_MANY)
        return content


def _open_archive(file: _ArchiveFile) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(file)
    # The directory's numbers are the file's own claims: a lie shows as any of these.
    except (*_BROKEN, OverflowError, UnicodeError) as error:
        raise BadFile(_DAMAGED) from error
    file.limit = MAX_UNPACKED
    return archive


def _checked_entries(archive: zipfile.ZipFile, archive_size: int) -> dict[str, zipfile.ZipInfo]:
    entries: dict[str, zipfile.ZipInfo] = {}
    unpacked = 0
    for entry in archive.infolist():
        name = _checked_name(entry)
        _check_entry(entry, archive_size)
        unpacked += entry.file_size
        if entry.is_dir() or _is_clutter(name):
            continue
        if name in entries:
            raise BadFile("The archive holds two files of the same name.")
        entries[name] = entry
        if len(entries) > MAX_ENTRIES:
            raise BadFile(_TOO_MANY)
    # Entries that share their packed bytes are each within the ratio; together they are not.
    if unpacked > min(MAX_UNPACKED, FREE_OF_RATIO + MAX_RATIO * archive_size):
        raise BadFile(_BOMB)
    if not entries:
        raise BadFile("The archive is empty.")
    return entries


def _checked_name(entry: zipfile.ZipInfo) -> str:
    if any(character < " " for character in entry.orig_filename):
        raise BadFile("The archive holds a file name with control characters.")
    name = entry.filename.replace("\\", "/")
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or parts[0].endswith(":"):
        raise BadFile("The archive holds a file name that leads out of it.")
    return name


def _check_entry(entry: zipfile.ZipInfo, archive_size: int) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise BadFile("The archive holds a link, which no export has.")
    if entry.flag_bits & _ENCRYPTED:
        raise BadFile("The archive is protected with a password.")
    if entry.compress_type not in _READABLE:
        raise BadFile("The archive is packed in a way that is not supported.")
    if entry.header_offset + entry.compress_size > archive_size:
        raise BadFile(_DAMAGED)
    if entry.file_size > FREE_OF_RATIO + MAX_RATIO * entry.compress_size:
        raise BadFile(_BOMB)


def _below_one_top(files: dict[str, Found]) -> dict[str, Found]:
    """Many tools pack a folder rather than what is in it."""
    tops = {name.split("/", 1)[0] for name in files}
    if len(tops) != 1 or not all("/" in name for name in files):
        return files
    return {name.split("/", 1)[1]: file for name, file in files.items()}


def _is_clutter(name: str) -> bool:
    parts = name.split("/")
    return parts[0] == "__MACOSX" or parts[-1] in _CLUTTER or parts[-1].startswith("._")


_BROKEN: Final = (
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    ValueError,
    # What `zipfile` says to a way of packing that it does not know.
    NotImplementedError,
    OSError,
)


def _unpacked(file: IO[bytes]) -> BinaryIO:
    """A gz is known by its first bytes; its name may say anything."""
    packed = file.read(2) == _GZIP_START
    file.seek(0)
    if not packed:
        return file  # type: ignore[return-value]
    return _buffered(_Guarded(gzip.GzipFile(fileobj=file), packed=file))


class _Guarded(io.RawIOBase):
    """Says damage in one way, and stops a stream that grows beyond what its packed bytes allow.

    An entry of a zip needs no such stop: it never gives more than the size that was checked.
    """

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, packed: IO[bytes] | None = None) -> None:
        self._stream = stream
        self._packed = packed
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        try:
            piece = self._stream.read(len(buffer))
        except _BROKEN as error:
            raise BadFile(_DAMAGED) from error
        buffer[: len(piece)] = piece
        self._given += len(piece)
        if self._packed is not None:
            self._check_ratio(self._packed.tell())
        return len(piece)

    def _check_ratio(self, read: int) -> None:
        if self._given > min(MAX_UNPACKED, FREE_OF_RATIO + MAX_RATIO * read):
            raise BadFile(_BOMB)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            if self._packed is not None:
                self._packed.close()
        super().close()


def _buffered(raw: io.RawIOBase) -> BinaryIO:
    return io.BufferedReader(raw, _CHUNK)
