"""The generated root secret of an install: one file, made once, however many processes start."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path


def read_or_create(path: Path) -> str:
    """The file's text; a missing file is made first, mode 0600, durable before it is returned."""
    try:
        return path.read_text("utf-8").strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _create_unless_present(path, secrets.token_urlsafe(48))
    # Another process may have been first: what is in the file is the secret.
    return path.read_text("utf-8").strip()


def write_new(path: Path, text: str) -> None:
    """The same with a text that is given; a file that is there stays as it is."""
    _create_unless_present(path, text)


def _create_unless_present(path: Path, text: str) -> None:
    # A hard link appears complete and never replaces a file, which neither O_EXCL (others could
    # read a half-written file) nor a rename (the last process would win) can promise.
    descriptor, temporary = tempfile.mkstemp(prefix=".secret-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
        _sync_folder(path.parent)
    finally:
        os.unlink(temporary)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
