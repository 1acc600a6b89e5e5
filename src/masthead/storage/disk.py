"""Whether the disk of the database is full, by the errors of the database and the file system.

Reads still work with a full disk, so this is a separate state and not an outage."""

from __future__ import annotations

import errno
import math
import os
import time
from pathlib import Path
from typing import Final

from masthead.base.logs import log

REMEMBERED_SECONDS: Final = 60.0
"""After the last refused write. A service that runs writes at least that often."""
HELD_SECONDS: Final = 2.0
"""The last bytes of a disk take small writes after a larger one was refused. So a write that
succeeds counts only so long after the refusal."""
LOG_SECONDS: Final = 60.0
MIN_FREE_BYTES: Final = 1024 * 1024
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)


logged: Final[dict[str | None, float]] = {}
"""The times of the last log line, by folder: the database and the counters of limits are two files
on one disk."""


class DiskState:
    def __init__(self, folder: Path | None = None) -> None:
        """`folder` is where the database is, if it is on this machine."""
        self._folder = folder
        self._refused_at = -math.inf
        self._written_at = -math.inf

    @property
    def is_full(self) -> bool:
        is_stored_again = self._written_at > self._refused_at
        limit = HELD_SECONDS if is_stored_again else REMEMBERED_SECONDS
        is_remembered = time.monotonic() - self._refused_at < limit
        return is_remembered or (self._folder is not None and has_no_space(self._folder))

    def note_full(self, cause: BaseException) -> None:
        now = self._refused_at = time.monotonic()
        folder = None if self._folder is None else str(self._folder)
        if now - logged.get(folder, -math.inf) >= LOG_SECONDS:
            logged[folder] = now
            log.error("storage.disk_full", cause=str(cause), folder=folder)

    def note_written(self) -> None:
        self._written_at = time.monotonic()


def has_no_space(folder: Path) -> bool:
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    # Some file systems do not tell their size. A part may be reserved for the superuser.
    blocks = found.f_bfree if os.geteuid() == 0 else found.f_bavail
    return found.f_blocks > 0 and blocks * found.f_frsize < MIN_FREE_BYTES


def is_disk_full(error: BaseException) -> bool:
    """Whether an error of a file, or of the library that stores files, says so."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _NO_SPACE
    return "No space left on device" in str(error) or "Disk quota exceeded" in str(error)
