"""The bounds of a soak, and whether a run kept to them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.faults.ledger import Ledger
from tests.soak.watch import Sample

MOST_MEMORY = 40.0
"""Megabytes by which memory may grow from the second to the last quarter."""
MOST_HANDLES = 20
MOST_THREADS = 4
MOST_WAL = 160.0
"""Megabytes, ever. The writer keeps it below 128, and a write under way comes to it."""
MOST_DISK = 4.0
"""Kilobytes for each acknowledged request: a record, its revisions, its words in the search, its
events with their deliveries, a file."""
SLOWER = 3.0
"""Times as long as for a single visitor."""


@dataclass(frozen=True)
class Line:
    what: str
    bound: str
    found: str
    holds: bool


@dataclass(frozen=True)
class Run:
    """From `began` on, by `time.perf_counter`, all visitors were there."""

    minutes: float
    sites: int
    began: float
    ended: float
    samples: Sequence[Sample]
    ledger: Ledger
    """The whole run's; the idle part is before `began`."""
    idle_from: float
    heard: int
    cut_off: int
    letters: int
    deliveries: int
    checked: int
    losses: Sequence[str]
    problems: Sequence[str]

    def latencies(self, first: float, last: float) -> list[float]:
        return [took for at, took in self.ledger.latencies if first <= at < last]

    def during(self) -> list[Sample]:
        return [each for each in self.samples if self.began <= each.at <= self.ended]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so many are not above."""
    if not values:
        return 0.0
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def judged(run: Run) -> list[Line]:
    failed = {
        name: times for name, times in run.ledger.answers.items() if name.split()[-1][0] == "5"
    }
    acknowledged = run.ledger.acknowledged
    seconds = run.latencies(run.began, run.ended)
    idle = percentile(run.latencies(run.idle_from, run.began), 0.99)
    busy = percentile(seconds, 0.99)
    disk = (run.samples[-1].disk_mb - run.samples[0].disk_mb) * 1024 / max(1, acknowledged)
    memory, handles, threads = (
        _growth(run, of) for of in (lambda s: s.memory_mb, lambda s: s.handles, lambda s: s.threads)
    )
    wal = max(each.wal_mb for each in run.samples)
    undocumented, unanswered = len(run.ledger.undocumented), run.ledger.unanswered
    bad = len(run.losses) + len(run.problems)
    return [
        Line("answers of 500 and above", "0", f"{sum(failed.values())} {failed or ''}", not failed),
        Line("undocumented answers", "0", f"{undocumented}", undocumented == 0),
        Line("requests without an answer", "0", f"{unanswered}", unanswered == 0),
        Line("realtime connections cut off", "0", f"{run.cut_off}", run.cut_off == 0),
        Line("lost, invented or left over", "0", f"{bad} of {run.checked:,} checked", bad == 0),
        _most("growth of memory", memory, MOST_MEMORY, "MB"),
        _most("growth of file handles", handles, MOST_HANDLES, ""),
        _most("growth of threads", threads, MOST_THREADS, ""),
        _most("longest WAL", wal, MOST_WAL, "MB"),
        _most("disk for each acknowledged request", disk, MOST_DISK, "KB"),
        Line(
            "p99",
            f"{SLOWER:g} × {idle * 1000:.0f} ms, that of a single visitor",
            f"{busy * 1000:.0f} ms",
            busy <= SLOWER * idle,
        ),
    ]


def _most(what: str, found: float, bound: float, unit: str) -> Line:
    return Line(what, f"{bound:g} {unit}".strip(), f"{found:.1f} {unit}".strip(), found <= bound)


def _growth(run: Run, of: Callable[[Sample], float]) -> float:
    """From the second quarter, when caches are full, to the last."""
    values = [of(each) for each in run.during()]
    quarter = max(1, len(values) // 4)
    return statistics.median(values[-quarter:]) - statistics.median(values[quarter : 2 * quarter])


def processor_share(samples: Sequence[Sample]) -> list[tuple[float, float]]:
    """Cores that were busy between samples."""
    return [(b.at, (b.processor - a.processor) / (b.at - a.at)) for a, b in pairwise(samples)]
