"""Writes a file atomically: it appears under its name only when it is complete and on the disk."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, cast

from masthead.base.errors import MastheadError

PRIVATE: Final = 0o600
PUBLIC: Final = 0o666
"""Less what the process's umask takes away."""


class CannotWrite(MastheadError):
    """A file that a command was asked to write. The message names it."""

    message = "The file can't be written."


class FileExists(MastheadError):
    """The message names the file."""


@contextmanager
def whole_file(path: Path, mode: int = PRIVATE, *, replaces: bool = True) -> Iterator[BinaryIO]:
    """For the file that a person names. By default only its owner can read it: exports and
    backups have the addresses of members. Raises `CannotWrite` or `FileExists`, and leaves no file
    then."""
    if path.is_dir():
        raise CannotWrite(f"{path} is a folder; name a file to write.")
    if not replaces:
        _refuse_existing(path)
    try:
        with replacing_file(path, mode) as file:
            yield file
            if not replaces:
                # Again, because another process may have written it meanwhile.
                _refuse_existing(path)
    except OSError as error:
        raise CannotWrite(f"{path} can't be written ({error.strerror}).") from error


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise FileExists(f"{path} exists already. Name a new file.")


@contextmanager
def replacing_file(path: Path, mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """A temporary file in the same folder, renamed to `path` once it is complete and synced. If
    anything fails, an existing file stays unchanged. Raises `OSError`."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield cast(BinaryIO, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """After this, a file that was renamed into the folder is there even after a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
