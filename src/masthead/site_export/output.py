"""Writes a file atomically: it appears when it is complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from masthead.errors import MastheadError


class CannotWrite(MastheadError):
    """The message names the file."""


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A temporary file in the same folder, renamed to `path` once it is complete.

    Only its owner may read it, because an export has the addresses of members and the drafts.
    """
    if path.is_dir():
        raise CannotWrite(f"{path} is a folder; name a file to write.")
    try:
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115
            dir=path.parent, prefix=f".{path.name}.", suffix=".partial", delete=False
        )
    except OSError as error:
        raise CannotWrite(f"{path} can't be written ({error.strerror}).") from error
    try:
        with file:
            yield cast(BinaryIO, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(file.name)
        if isinstance(error, OSError):
            raise CannotWrite(f"{path} can't be written ({error.strerror}).") from error
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
