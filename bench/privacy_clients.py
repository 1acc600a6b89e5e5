"""Clients of another tenant's API during an erasure, and the time of their calls by phase."""

from __future__ import annotations

import asyncio
import bisect
import statistics
import time
from dataclasses import dataclass, field
from itertools import pairwise

from bench.http import request_bytes
from bench.privacy_data import SMALL, TEXT

CLIENTS = 2
PAUSE_SECONDS = 0.01
MIN_CALLS = 100
"""For a meaningful 99th percentile."""
READ, WRITE = "read", "write"
FILES, COMPACTION = "files", "compaction"
_POST = {"title": "Another post", "status": "published", "content_html": TEXT}


class OtherTenant:
    """Two clients with an API key. Each lists, creates and pauses."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        headers = {"Host": f"{SMALL}.localhost:{port}", "Authorization": f"Bearer {key}"}
        self._list = request_bytes("GET", "/api/v1/posts?per_page=20", headers)
        self._create = request_bytes("POST", "/api/v1/posts", headers, _POST)

    async def use(self, until: asyncio.Event, calls: Calls) -> None:
        await asyncio.gather(*(self._one(until, calls) for _ in range(CLIENTS)))

    async def _one(self, until: asyncio.Event, calls: Calls) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        while not until.is_set():
            for kind, request in ((READ, self._list), (WRITE, self._create)):
                began = time.perf_counter()
                writer.write(request)
                await _answer(reader)
                calls.add(kind, began, time.perf_counter() - began)
            await asyncio.sleep(PAUSE_SECONDS)
        writer.close()
        await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    (length,) = [
        int(line.split(b":")[1])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length:")
    ]
    body = await reader.readexactly(length)
    if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
        raise RuntimeError((head + body).decode(errors="replace"))


@dataclass
class Calls:
    """Start and duration of the calls of each kind."""

    moments: dict[str, list[tuple[float, float]]] = field(
        default_factory=lambda: {READ: [], WRITE: []}
    )

    def add(self, kind: str, began: float, took: float) -> None:
        self.moments[kind].append((began, took))

    def took(self, kind: str) -> list[float]:
        return [took for _, took in self.moments[kind]]


@dataclass
class Phases:
    """The phases of an erasure over time, from the counts in its receipt."""

    ends: list[tuple[float, str]] = field(default_factory=list)
    erased: dict[str, int] = field(default_factory=dict)

    def record(self, moment: float, erased: dict[str, int], *, is_complete: bool) -> None:
        grown = [name for name, count in erased.items() if count != self.erased.get(name, 0)]
        if is_complete:
            grown = [COMPACTION]
        if grown:
            self.ends.append((moment, grown[-1]))
        self.erased = dict(erased)

    def at(self, moment: float) -> str:
        """The phase whose count grows next."""
        number = bisect.bisect_left([end for end, _ in self.ends], moment)
        return self.ends[min(number, len(self.ends) - 1)][1] if self.ends else FILES

    def seconds(self, turns: list[tuple[float, float]]) -> dict[str, float]:
        """The duration of each phase within the turns."""
        found: dict[str, float] = {}
        for began, ended in turns:
            inside = [began, *(end for end, _ in self.ends if began < end < ended), ended]
            for start, stop in pairwise(inside):
                name = self.at((start + stop) / 2)
                found[name] = found.get(name, 0.0) + stop - start
        return found


def milliseconds(took: list[float]) -> dict[str, float]:
    ordered = sorted(took)
    return {
        "calls": len(ordered),
        "p50_ms": round(statistics.median(ordered) * 1000, 2),
        "p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1000, 2),
        "max_ms": round(ordered[-1] * 1000, 1),
    }


def compared(quiet: Calls, busy: Calls, phases: Phases) -> list[dict[str, object]]:
    """A row per kind of call over all phases, then one per phase and kind."""
    rows: list[dict[str, object]] = []
    for kind in (READ, WRITE):
        base = milliseconds(quiet.took(kind))
        rows.append({"phase": "none", "call": kind, **base, "times": 1.0})
        by_phase: dict[str, list[float]] = {"the whole": busy.took(kind)}
        for began, took in busy.moments[kind]:
            by_phase.setdefault(phases.at(began), []).append(took)
        for phase, calls in by_phase.items():
            if len(calls) >= MIN_CALLS:
                found = milliseconds(calls)
                times = round(found["p99_ms"] / base["p99_ms"], 2)
                rows.append({"phase": phase, "call": kind, **found, "times": times})
    return rows
