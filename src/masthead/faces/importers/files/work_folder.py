"""The folder of an uploaded export while a worker reads it.

Readers open an export by its path, so a worker that is killed leaves its copy behind. It is locked
as long as its process lives: a worker that starts deletes those without a lock, and never the
folder of another worker.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = "masthead-import-"


@contextmanager
def work_folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix=f"new-{_PREFIX}"))
    lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # It gets its final name only once it is locked.
        folder = made.rename(made.with_name(made.name.removeprefix("new-")))
        try:
            yield folder
        finally:
            shutil.rmtree(folder)
    finally:
        os.close(lock)


def delete_abandoned() -> None:
    """Deletes the folders of processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        # It has a lock, belongs to another user, or was deleted in between.
        with suppress(OSError):
            _delete_unlocked(folder)


def _delete_unlocked(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(lock)
