"""The numbers as metrics of Prometheus, and their names: `docs/metrics.md` explains each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.utils import floatToGoString

from masthead.base.counters import CACHES, COUNTERS
from masthead.service.metrics.queues import Waiting
from masthead.service.metrics.snapshot import CACHE_BYTES, Totals
from masthead.web.request_counts import BOUNDS

FACES = (
    ("/api/v1", "v1"),
    ("/api/collections", "records"),
    ("/api/files", "records"),
    ("/api/", "service"),
    ("/admin", "admin"),
    ("/assets/admin", "admin"),
)
SITE = "site"

GAUGES = {
    "masthead_requests_in_flight": "Requests that are being answered.",
    "masthead_process_memory_bytes": "Resident memory.",
    "masthead_process_open_files": "Open files and connections.",
    "masthead_database_connections": "Open connections to the database.",
    "masthead_database_connections_idle": "Those of them that nobody uses.",
}
"""Sums over the processes."""


class Present(msgspec.Struct, frozen=True):
    """The state of what the processes share. None: the database does not answer."""

    waiting: list[Waiting] | None
    given_up: int | None
    database_bytes: int | None
    is_disk_full: bool
    free_bytes: int
    version: str
    build: str


def rendered(totals: Totals, present: Present, accept: str) -> tuple[bytes, str]:
    """The page, and its content type."""
    registry = CollectorRegistry()
    registry.register(_Collected(list(_families(totals, present))))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Collected:
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _families(totals: Totals, present: Present) -> Iterator[Metric]:
    yield from _requests(totals)
    for counter in COUNTERS:
        values = totals.counters.get(counter.name, {})
        yield _counter(counter.name, counter.help, counter.labels, values.items())
    cached = totals.counters.get("masthead_cache_reads", {})
    said = "Answers that were found in memory, or had to be made."
    yield _counter("masthead_cache_reads", said, ("cache", "result"), cached.items())
    used = totals.counters.get("masthead_process_cpu_seconds", {})
    yield _counter("masthead_process_cpu_seconds", "Processor time.", (), used.items())
    for name, help_text in GAUGES.items():
        if name in totals.gauges:
            yield GaugeMetricFamily(name, help_text, totals.gauges[name])
    held = GaugeMetricFamily(CACHE_BYTES, "Bytes of a cache.", labels=("cache",))
    for name in CACHES:
        held.add_metric([name], totals.gauges.get(f"{CACHE_BYTES} {name}", 0.0))
    yield held
    running = "Server processes of this service."
    yield GaugeMetricFamily("masthead_processes", running, totals.processes)
    yield from _standard(totals)
    yield from _shared(present)


def _standard(totals: Totals) -> Iterator[Metric]:
    """The standard metrics of each process, which the label `pid` names."""
    families: dict[str, Metric] = {}
    for pid, each in totals.standard:
        family = families.setdefault(each.name, Metric(each.name, each.help, each.kind))
        for name, labels, value in each.samples:
            family.add_sample(name, {**labels, "pid": pid}, value)
    yield from families.values()


def _requests(totals: Totals) -> Iterator[Metric]:
    answers = CounterMetricFamily(
        "masthead_requests",
        "Requests that were answered. status 499: the client left before the answer.",
        labels=("method", "route", "status", "face"),
    )
    for (route, method, status), count in totals.requests.items():
        answers.add_metric([method, route, str(status), face_of(route)], count)
    yield answers
    times = HistogramMetricFamily(
        "masthead_request_seconds",
        "From the request's headers to the end of its answer.",
        labels=("route", "face"),
    )
    for route, (seconds, buckets) in totals.times.items():
        counted, shown = 0, []
        for bound, number in zip((*BOUNDS, float("inf")), buckets, strict=True):
            counted += number
            shown.append((str(floatToGoString(bound)), counted))  # type: ignore[no-untyped-call]
        times.add_metric([route, face_of(route)], shown, seconds)
    yield times


def _shared(present: Present) -> Iterator[Metric]:
    is_up = present.waiting is not None
    yield GaugeMetricFamily("masthead_database_up", "1 if the database answers.", int(is_up))
    if present.waiting is not None and present.given_up is not None:
        depth = GaugeMetricFamily(
            "masthead_queue_depth", "Work that is due and not done.", labels=("kind",)
        )
        oldest = GaugeMetricFamily(
            "masthead_queue_oldest_seconds", "How long the oldest of it is due.", labels=("kind",)
        )
        for each in present.waiting:
            depth.add_metric([each.kind], each.depth)
            oldest.add_metric([each.kind], each.oldest_seconds)
        yield depth
        yield oldest
        given_up = "Jobs that failed for good and wait for an operator."
        yield GaugeMetricFamily("masthead_jobs_given_up", given_up, present.given_up)
    if present.database_bytes is not None:
        size = "The size of the database."
        yield GaugeMetricFamily("masthead_database_bytes", size, present.database_bytes)
    full = "1 if nothing can be stored."
    yield GaugeMetricFamily("masthead_disk_full", full, int(present.is_disk_full))
    free = "Free bytes on the disk of the data directory."
    yield GaugeMetricFamily("masthead_disk_free_bytes", free, present.free_bytes)
    info = GaugeMetricFamily(
        "masthead_build_info", "The version that runs.", labels=("version", "build")
    )
    info.add_metric([present.version, present.build], 1)
    yield info


def _counter(
    name: str,
    help_text: str,
    labels: tuple[str, ...],
    values: Iterable[tuple[tuple[str, ...], float]],
) -> Metric:
    family = CounterMetricFamily(name, help_text, labels=labels)
    for each, number in values:
        family.add_metric(each, number)
    return family


def face_of(route: str) -> str:
    return next((face for prefix, face in FACES if route.startswith(prefix)), SITE)
