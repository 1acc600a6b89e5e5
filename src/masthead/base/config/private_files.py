"""Keeps the files of an installation private: mode 0600 at creation, corrected at each start.

The database has addresses and password hashes. By default other users of the machine could read the
data directory and new files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from masthead.base.config.settings import Settings

OTHERS_MODE = 0o077
_SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal")


def opener(path: str, flags: int) -> int:
    """For `open(…, opener=…)`."""
    return os.open(path, flags, 0o600)


def create(path: Path) -> None:
    """Creates an empty file if there is none. SQLite gives its other files the same mode."""
    with suppress(FileExistsError, FileNotFoundError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def exposed(settings: Settings) -> list[Path]:
    """Files and folders of the service that other users of the machine can open."""
    return [path for path in _installation_paths(settings) if path.stat().st_mode & OTHERS_MODE]


def protect(settings: Settings) -> None:
    for path in exposed(settings):
        # `masthead doctor` reports files of another user.
        with suppress(PermissionError, FileNotFoundError):
            path.chmod(path.stat().st_mode & ~OTHERS_MODE & 0o777)


def _installation_paths(settings: Settings) -> Iterator[Path]:
    folder = settings.data_dir
    names = ["secret.key", "secret.id", "demo.json", "deep-check.json", "limits.db.lock", "mail"]
    paths = [folder / name for name in names]
    paths += [folder / f"limits.db{suffix}" for suffix in _SQLITE_SUFFIXES]
    file = settings.sqlite_path
    if file is not None:
        paths += [file.with_name(file.name + suffix) for suffix in _SQLITE_SUFFIXES]
    media = urlsplit(settings.storage_url)
    # A folder elsewhere may be shared on purpose. The folder's mode protects every file in it.
    if media.scheme == "file" and Path(unquote(media.path)).is_relative_to(folder.absolute()):
        paths.append(Path(unquote(media.path)))
    return (path for path in paths if path.exists())
