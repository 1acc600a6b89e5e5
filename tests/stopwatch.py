"""Elapsed time without the time that processes waited for a core, which depends on the machine."""

from __future__ import annotations

import os
import time
from pathlib import Path


class Stopwatch:
    """Starts when it is constructed, for this process and the others."""

    def __init__(self, *others: int) -> None:
        self._processes = (os.getpid(), *others)
        self._waited = self._waits()
        self._began = time.monotonic()

    def seconds(self) -> float:
        waited = sum(now - before for now, before in zip(self._waits(), self._waited, strict=True))
        return time.monotonic() - self._began - waited

    def _waits(self) -> list[float]:
        return [_waited_seconds(pid) for pid in self._processes]


def _waited_seconds(pid: int) -> float:
    """Returns how long the main thread, which runs the event loop, has waited for a processor; 0
    once it has ended or if it is unknown."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
