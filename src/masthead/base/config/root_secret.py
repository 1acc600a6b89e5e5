"""The generated root secret: a file that is created once, even if several processes start."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from masthead.base.whole_file import sync_folder


def read_or_create(path: Path) -> str:
    """The file's text. A missing file is created first, with mode 0600, and synced."""
    try:
        return path.read_text("utf-8").strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _create_unless_present(path, secrets.token_urlsafe(48))
    # Another process may have created the file first.
    return path.read_text("utf-8").strip()


def write_new(path: Path, text: str) -> None:
    """Creates the file with this text; an existing file stays."""
    _create_unless_present(path, text)


def _create_unless_present(path: Path, text: str) -> None:
    # A hard link is complete when it appears and never replaces a file. With O_EXCL others could
    # read a partial file, and with a rename the last process would win.
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
        sync_folder(path.parent)
    finally:
        os.unlink(temporary)
