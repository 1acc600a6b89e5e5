"""The file that an export ends up in: there when it is whole, and not before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from masthead.errors import MastheadError


class CannotWrite(MastheadError):
    """The message is one sentence for the person who named the file."""


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its name, and the place of what had it, once all is written.

    Only its owner may read it: an export has the members' addresses and the drafts.
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
