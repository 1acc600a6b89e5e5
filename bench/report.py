"""The table of results, and the same figures as JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.load import Result

PEER, OURS = "PocketBase", "Masthead"


@dataclass(frozen=True)
class Target:
    limit: float
    is_ratio: bool = False
    """Whether the limit is the minimum ratio to PocketBase; otherwise it is our maximum."""

    def is_met(self, row: Row) -> bool | None:
        if self.is_ratio:
            return None if row.ratio is None else row.ratio >= self.limit
        ours = row.median(OURS)
        return None if ours is None else ours <= self.limit

    def text(self, unit: str) -> str:
        if self.is_ratio:
            return f">= {self.limit:g} x"
        return f"<= {self.limit:g} {unit}"


@dataclass(frozen=True)
class Row:
    name: str
    unit: str
    values: dict[str, list[float]]
    target: Target | None = None
    results: dict[str, list[Result]] = field(default_factory=dict)

    def median(self, side: str) -> float | None:
        values = self.values.get(side)
        return statistics.median(values) if values else None

    @property
    def ratio(self) -> float | None:
        peer, ours = self.median(PEER), self.median(OURS)
        return ours / peer if peer and ours is not None else None

    @property
    def problems(self) -> list[str]:
        return [
            f"{self.name}, {side}: {problem}"
            for side, results in self.results.items()
            for result in results
            for problem in result.problems
        ]

    @property
    def is_generator_bound(self) -> bool:
        return any(
            result.is_generator_bound for results in self.results.values() for result in results
        )


def table(rows: list[Row]) -> str:
    header = ["operation", "unit", f"{PEER} (min..max)", f"{OURS} (min..max)", "ratio", "target"]
    lines = [[*header, "met"], *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    if any(row.is_generator_bound for row in rows):
        text.append("* the load generator used a whole core: the true rate may be higher")
    return "\n".join(text)


def write(rows: list[Row], path: Path, settings: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {"cores": os.cpu_count(), "architecture": platform.machine()},
        "settings": settings,
        "rows": [_document(row) for row in rows],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")


def _cells(row: Row) -> list[str]:
    met = row.target.is_met(row) if row.target else None
    return [
        row.name + (" *" if row.is_generator_bound else ""),
        row.unit,
        _spread(row, PEER),
        _spread(row, OURS),
        f"{row.ratio:.2f} x" if row.ratio is not None else "",
        row.target.text(row.unit) if row.target else "",
        "INVALID" if row.problems else {True: "yes", False: "NO", None: ""}[met],
    ]


def _spread(row: Row, side: str) -> str:
    median = row.median(side)
    if median is None:
        return ""
    values = row.values[side]
    if len(values) == 1:
        return _number(median)
    return f"{_number(median)} ({_number(min(values))}..{_number(max(values))})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.2f}"


def _document(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "unit": row.unit,
        "values": row.values,
        "ratio": row.ratio,
        "target": row.target.text(row.unit) if row.target else None,
        "is_met": row.target.is_met(row) if row.target else None,
        "rounds": {side: [asdict(each) for each in done] for side, done in row.results.items()},
    }
