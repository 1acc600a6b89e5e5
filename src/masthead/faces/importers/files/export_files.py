"""Opens the file, folder, zip or gz of an export, for the readers of all platforms.

An upload may be hostile, so archives are checked before an entry is read, and nothing is unpacked
to disk.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import tempfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, BinaryIO, Final, Self, TypeVar

from masthead.base.languages.words import staff_words
from masthead.faces.importers.source import BadFile

MAX_ENTRIES: Final = 50_000
# The uploads of a site have every picture in many sizes.
MAX_IN_FOLDER: Final = 300_000
MAX_CANDIDATES: Final = 200
MAX_UNPACKED: Final = 32 * 1024**3
# Real exports compress 5 to 30 times. The limit of deflate, which bombs use, is 1032.
MAX_RATIO: Final = 100
FREE_OF_RATIO: Final = 16 * 1024**2
# `zipfile` creates an object of half a kilobyte for each entry of a directory before they can be
# counted, so memory is bounded by the size of the directory.
_MAX_DIRECTORY: Final = 6 * 1024**2
_CHUNK: Final = 256 * 1024

_ZIP_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP_START: Final = b"\x1f\x8b"
_READABLE: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED: Final = 0x1 | 0x40
_CLUTTER: Final = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})

Found = TypeVar("Found")

_DAMAGED: Final = staff_words("The archive is damaged or cut off.")
_BOMB: Final = staff_words("The archive unpacks to far more than a real export would.")
_TOO_MANY: Final = staff_words(
    "The export has more than %(number)s files.", number=f"{MAX_ENTRIES:,}"
)


class Files(ABC):
    """The files of an export. Each can be opened as a stream, several times."""

    sizes: Mapping[str, int | None]
    """The sizes by name, sorted, without clutter and without a single top folder. The size of a gz
    is None."""
    is_single: bool = False
    """Whether the export is one file, not an archive or a folder."""

    @abstractmethod
    def open(self, name: str) -> BinaryIO:
        """Reading raises `BadFile` where the file is damaged."""

    @abstractmethod
    def close(self) -> None: ...

    def find(self, name: str) -> str | None:
        """The name in the export, which may differ in case."""
        if name in self.sizes:
            return name
        wanted = name.casefold()
        return next((each for each in self.sizes if each.casefold() == wanted), None)

    def candidates(self, extension: str, exclude: Callable[[str], bool]) -> list[str]:
        """The names of files that may be the export itself."""
        found = [
            name for name in self.sizes if name.lower().endswith(extension) and not exclude(name)
        ]
        if len(found) > MAX_CANDIDATES:
            raise BadFile(
                staff_words(
                    "There are %(number)s %(kind)s files in it; give the one to import.",
                    number=f"{len(found):,}",
                    kind=extension,
                )
            )
        return found

    def read(self, name: str, limit: int) -> bytes:
        with self.open(name) as stream:
            content = stream.read(limit + 1)
        if len(content) > limit:
            raise BadFile(
                staff_words(
                    "A file of the export has more than %(number)s bytes.", number=f"{limit:,}"
                )
            )
        return content

    def check(self, names: Iterable[str]) -> None:
        """Reads the files to their end, to find damage before anything is written."""
        for name in names:
            with self.open(name) as stream:
                while stream.read(_CHUNK):
                    pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_files(path: Path) -> Files:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _Folder(path)
        # Reading a pipe or a device could block for ever.
        if not stat.S_ISREG(mode):
            raise BadFile(staff_words("This is neither a file nor a folder."))
        start = _start_of(path)
    except FileNotFoundError:
        raise BadFile(staff_words("There is no such file.")) from None
    except OSError:
        raise BadFile(staff_words("The file can't be read.")) from None
    if start.startswith(_ZIP_STARTS):
        return _Zip(path)
    if path.suffix.lower() == ".zip":
        raise BadFile(staff_words("The file is named .zip, but it is not a zip archive."))
    return _Single(path)


def names_in_zip(file: BinaryIO) -> list[str]:
    """The names in an archive that was uploaded, checked as when it is opened."""
    with tempfile.TemporaryFile() as copy:
        if isinstance(file, io.BytesIO):
            copy.write(file.getvalue())
            copy.flush()
            file = copy
        with _ArchiveFile(os.dup(file.fileno()), "rb") as archive_file:
            size = archive_file.seek(0, os.SEEK_END)
            return list(_below_one_top(_checked_entries(_open_archive(archive_file), size)))


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
        """Nothing stays open."""


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
            raise BadFile(
                staff_words("The file %(name)s can't be read.", name=repr(name))
            ) from None
        return _unpacked(os.fdopen(opened, "rb"))

    def close(self) -> None:
        """Nothing stays open."""


def _walk(root: Path) -> dict[str, int]:
    """Regular files with their sizes. Links are ignored, because they may lead anywhere."""
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
                raise BadFile(
                    staff_words(
                        "The folder has more than %(number)s files.", number=f"{MAX_IN_FOLDER:,}"
                    )
                )
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
    """Refuses to read a huge directory of a zip."""

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
    # False numbers in the directory raise any of these.
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
            raise BadFile(staff_words("The archive contains two files with the same name."))
        entries[name] = entry
        if len(entries) > MAX_ENTRIES:
            raise BadFile(_TOO_MANY)
    # Entries may share their packed bytes, so the sum is checked, too.
    if unpacked > min(MAX_UNPACKED, FREE_OF_RATIO + MAX_RATIO * archive_size):
        raise BadFile(_BOMB)
    if not entries:
        raise BadFile(staff_words("The archive is empty."))
    return entries


def _checked_name(entry: zipfile.ZipInfo) -> str:
    if any(character < " " for character in entry.orig_filename):
        raise BadFile(staff_words("The archive holds a file name with control characters."))
    if not entry.filename:
        raise BadFile(staff_words("The archive holds a file without a name."))
    name = entry.filename.replace("\\", "/")
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or parts[0].endswith(":"):
        raise BadFile(staff_words("The archive holds a file name that leads out of it."))
    return name


def _check_entry(entry: zipfile.ZipInfo, archive_size: int) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise BadFile(staff_words("The archive contains a link, which no export has."))
    if entry.flag_bits & _ENCRYPTED:
        raise BadFile(staff_words("The archive is protected with a password."))
    if entry.compress_type not in _READABLE:
        raise BadFile(staff_words("The archive uses a compression method that is not supported."))
    if entry.header_offset + entry.compress_size > archive_size:
        raise BadFile(_DAMAGED)
    if entry.file_size > FREE_OF_RATIO + MAX_RATIO * entry.compress_size:
        raise BadFile(_BOMB)


def _below_one_top(files: dict[str, Found]) -> dict[str, Found]:
    """Many tools pack a folder instead of its content."""
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
    # `zipfile` raises it for an unknown compression method.
    NotImplementedError,
    OSError,
)


def _unpacked(file: IO[bytes]) -> BinaryIO:
    """A gz is recognized by its first bytes, not by its name."""
    packed = file.read(2) == _GZIP_START
    file.seek(0)
    if not packed:
        return file  # type: ignore[return-value]
    return _buffered(_Guarded(gzip.GzipFile(fileobj=file), packed=file))


class _Guarded(io.RawIOBase):
    """Raises `BadFile` for damage, and for a gz that grows beyond the allowed ratio.

    An entry of a zip has a checked size, so it has no ratio check here.
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
