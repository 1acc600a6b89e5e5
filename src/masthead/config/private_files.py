"""The files of an installation: created with mode 0600, and repaired at each start.

The database holds addresses and password hashes. The data directory may be open to every user of
the machine, and a new file usually is as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from masthead.config.settings import Settings

OTHERS = 0o077
_OF_SQLITE = ("", "-wal", "-shm", "-journal")


def opener(path: str, flags: int) -> int:
    """For `open(…, opener=…)`."""
    return os.open(path, flags, 0o600)


def create(path: Path) -> None:
    """An empty file, unless there is one: SQLite makes its other files like the first."""
    with suppress(FileExistsError, FileNotFoundError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def exposed(settings: Settings) -> list[Path]:
    """Files and folders of the service that other users of the machine may open."""
    return [path for path in _of_installation(settings) if path.stat().st_mode & OTHERS]


def protect(settings: Settings) -> None:
    for path in exposed(settings):
        # `masthead doctor` reports files of another user.
        with suppress(PermissionError, FileNotFoundError):
            path.chmod(path.stat().st_mode & ~OTHERS & 0o777)


def _of_installation(settings: Settings) -> Iterator[Path]:
    folder = settings.data_dir
    names = ["secret.key", "demo.json", "limits.db.lock", "mail"]
    paths = [folder / name for name in names]
    paths += [folder / f"limits.db{suffix}" for suffix in _OF_SQLITE]
    file = settings.sqlite_path
    if file is not None:
        paths += [file.with_name(file.name + suffix) for suffix in _OF_SQLITE]
    media = urlsplit(settings.storage_url)
    # A folder elsewhere is the operator's to share. Closing the folder closes every file in it.
    if media.scheme == "file" and Path(unquote(media.path)).is_relative_to(folder.absolute()):
        paths.append(Path(unquote(media.path)))
    return (path for path in paths if path.exists())
