"""Looks again and again at a process: memory, file handles, threads, its files on disk."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]
from bench.process import anonymous_megabytes

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Sample:
    at: float
    """Seconds of `time.perf_counter`."""
    memory_mb: float
    """Without mapped files, which the system keeps as memory allows; with that of its children."""
    handles: int
    threads: int
    wal_mb: float
    disk_mb: float
    """The database and all stored files, without the WAL."""
    processor: float
    """Seconds of the processor so far."""


class Watch:
    def __init__(self, pid: int, folder: Path) -> None:
        self._process = psutil.Process(pid)
        self._folder = folder
        self.samples: list[Sample] = []

    def look(self) -> Sample:
        wal, disk = _bytes_in(self._folder)
        with self._process.oneshot():
            used = self._process.cpu_times()
            sample = Sample(
                time.perf_counter(),
                anonymous_megabytes(self._process.pid),
                self._process.num_fds(),
                self._process.num_threads(),
                wal / MEGABYTE,
                disk / MEGABYTE,
                used.user + used.system + used.children_user + used.children_system,
            )
        self.samples.append(sample)
        return sample

    async def go_on(self, every_seconds: float) -> None:
        while True:
            await asyncio.to_thread(self.look)
            await asyncio.sleep(every_seconds)


def _bytes_in(folder: Path) -> tuple[int, int]:
    """Sizes of the WAL and of everything else."""
    wal = rest = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                size = os.stat(os.path.join(where, name)).st_size
            except FileNotFoundError:
                continue
            if name.endswith("-wal"):
                wal += size
            elif not name.endswith((".log", "-shm")):
                rest += size
    return wal, rest
