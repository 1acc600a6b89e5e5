"""The numbers of one process at a moment, and their sum over the processes of one `serve`.

Each process writes its numbers into a folder of the service, once a second. The one that is asked
adds its own to what the others have written. prometheus-client has a mode for this, which we do not
use: it writes each count into a mapped file, in the path of every request, and a process that
writes into such a file while the disk is full is killed.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from masthead.base.counters import CACHES, COUNTERS
from masthead.web.request_counts import OTHER, RequestCounts

CACHE_BYTES: Final = "masthead_cache_bytes"
FRESH_SECONDS: Final = 10.0
"""Gauges of an older snapshot are ignored: its process may have died."""

Labels = tuple[str, ...]


class StandardFamily(msgspec.Struct):
    """One of those that Prometheus' clients show of every process."""

    name: str
    help: str
    kind: str
    samples: list[tuple[str, dict[str, str], float]]


class Snapshot(msgspec.Struct):
    at: float
    requests: list[tuple[str, str, int, int]] = []
    """Route, method, status, count."""
    times: dict[str, tuple[float, list[int]]] = {}
    """The seconds of all requests by route, and how many are in which bucket."""
    counters: dict[str, list[tuple[list[str], float]]] = {}
    """Labels and numbers by the counter's name."""
    gauges: dict[str, float] = {}
    """The present state; shown as the sum over the processes."""
    pid: str = ""
    standard: list[StandardFamily] = []
    """Shown for each process."""


class Totals:
    """The sum of snapshots."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str, int], int] = {}
        self.times: dict[str, tuple[float, list[int]]] = {}
        self.counters: dict[str, dict[Labels, float]] = {}
        self.gauges: dict[str, float] = {}
        self.processes = 0
        self.standard: list[tuple[str, StandardFamily]] = []
        """Each with the process that it is of."""

    def add(self, snapshot: Snapshot, now: float) -> None:
        for route, method, status, count in snapshot.requests:
            key = (route, method, status)
            self.requests[key] = self.requests.get(key, 0) + count
        for route, (seconds, buckets) in snapshot.times.items():
            before, counted = self.times.get(route, (0.0, [0] * len(buckets)))
            summed = [one + other for one, other in zip(counted, buckets, strict=True)]
            self.times[route] = (before + seconds, summed)
        for name, entries in snapshot.counters.items():
            values = self.counters.setdefault(name, {})
            for labels, number in entries:
                values[tuple(labels)] = values.get(tuple(labels), 0) + number
        if now - snapshot.at > FRESH_SECONDS:
            return
        self.processes += 1
        for name, value in snapshot.gauges.items():
            self.gauges[name] = self.gauges.get(name, 0) + value
        self.standard += [(snapshot.pid, family) for family in snapshot.standard]


def take(requests: RequestCounts, gauges: dict[str, float]) -> Snapshot:
    # Copied at once: nothing else runs on the event loop meanwhile.
    snapshot = Snapshot(
        time.time(),
        gauges={**gauges, **_process_gauges(), **_cache_gauges()},
        pid=str(os.getpid()),
        standard=_standard_families(),
    )
    for route, counts in requests.routes.items():
        shown = route or OTHER
        snapshot.times[shown] = (counts.seconds, list(counts.buckets))
        snapshot.requests += [(shown, *key, count) for key, count in counts.answers.items()]
    for counter in COUNTERS:
        entries: list[tuple[list[str], float]]
        entries = [(list(labels), number) for labels, number in counter.values.items()]
        snapshot.counters[counter.name] = entries
    snapshot.counters["masthead_cache_reads"] = [
        entry
        for name, reads in CACHES.items()
        for entry in (([name, "hit"], float(reads.hits)), ([name, "miss"], float(reads.misses)))
    ]
    snapshot.counters["masthead_process_cpu_seconds"] = [([], time.process_time())]
    return snapshot


def _cache_gauges() -> dict[str, float]:
    return {f"{CACHE_BYTES} {name}": float(each.bytes) for name, each in CACHES.items()}


def _process_gauges() -> dict[str, float]:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        memory = pages * resource.getpagesize()
        files = len(os.listdir("/proc/self/fd"))
    except OSError:
        # Not on Linux: the most that it ever was, in kilobytes, and no count of files.
        memory, files = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, 0
    return {"masthead_process_memory_bytes": memory, "masthead_process_open_files": files}


def _standard_families() -> list[StandardFamily]:
    # Imported with the first snapshot: most services are started without metrics.
    from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR

    found = (each.collect() for each in (PROCESS_COLLECTOR, PLATFORM_COLLECTOR, GC_COLLECTOR))
    return [
        StandardFamily(
            family.name,
            family.documentation,
            family.type,
            [(each.name, each.labels, each.value) for each in family.samples],
        )
        for families in found
        for family in families
    ]


class SharedFolder:
    """Snapshots of the processes of one `serve`. A process that has died leaves its counts behind,
    so that their sum never falls."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = folder / f"{os.getpid()}.json"

    def write(self, snapshot: Snapshot) -> None:
        new = self._own.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(snapshot))
        new.replace(self._own)

    def others(self) -> Iterable[Snapshot]:
        for path in self._folder.glob("*.json"):
            if path != self._own:
                try:
                    yield msgspec.json.decode(path.read_bytes(), type=Snapshot)
                except (OSError, msgspec.MsgspecError):
                    # Half of a file can't be seen, but a disk may fail.
                    continue


def summed(snapshots: Sequence[Snapshot]) -> Totals:
    totals, now = Totals(), time.time()
    for each in snapshots:
        totals.add(each, now)
    return totals
