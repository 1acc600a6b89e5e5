"""The curves of a soak as one SVG, with small charts above each other."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.soak.verdict import MOST_WAL, SLOWER, Run, percentile, processor_share
from tests.soak.watch import Sample

POINTS = 120
"""Windows of the curves that count requests."""
_WIDTH, _HEIGHT, _GAP, _COLUMNS = 400, 120, 52, 2
_INK, _LINE, _GRID, _BOUND = "#24292f", "#0b57d0", "#d0d7de", "#b3261e"


@dataclass(frozen=True)
class Curve:
    title: str
    points: Sequence[tuple[float, float]]
    bound: float | None = None
    """Drawn as a line."""


def curves(run: Run) -> list[Curve]:
    window = (run.ended - run.began) / POINTS
    edges = [run.began + number * window for number in range(POINTS)]
    taken = [run.latencies(each, each + window) for each in edges]
    idle = percentile(run.latencies(run.idle_from, run.began), 0.99)
    samples = run.during()
    return [
        Curve(
            "requests a second", [(e, len(t) / window) for e, t in zip(edges, taken, strict=True)]
        ),
        Curve(
            f"p99 of requests, ms; bound: {SLOWER:g} times that of a single visitor",
            [(e, percentile(t, 0.99) * 1000) for e, t in zip(edges, taken, strict=True)],
            SLOWER * idle * 1000,
        ),
        Curve("memory, MB", _of(samples, lambda each: each.memory_mb)),
        Curve("processor, cores", processor_share(samples)),
        Curve("file handles", _of(samples, lambda each: each.handles)),
        Curve("threads", _of(samples, lambda each: each.threads)),
        Curve("WAL, MB; bound: the longest", _of(samples, lambda each: each.wal_mb), MOST_WAL),
        Curve("disk, MB", _of(samples, lambda each: each.disk_mb)),
    ]


def _of(samples: Sequence[Sample], value: Callable[[Sample], float]) -> list[tuple[float, float]]:
    return [(each.at, value(each)) for each in samples]


def drawn(run: Run) -> str:
    charts = curves(run)
    rows = -(-len(charts) // _COLUMNS)
    width, height = _COLUMNS * (_WIDTH + 80), rows * (_HEIGHT + _GAP) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12" fill="{_INK}">',
        f"<title>{run.minutes:g} minutes of mixed traffic on {run.sites} sites</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, chart in enumerate(charts):
        row, column = divmod(number, _COLUMNS)
        left, top = 60 + column * (_WIDTH + 80), 34 + row * (_HEIGHT + _GAP)
        parts.append(f'<g transform="translate({left} {top})">{_chart(chart, run)}</g>')
    return "\n".join([*parts, "</svg>", ""])


def _chart(curve: Curve, run: Run) -> str:
    most = max([value for _, value in curve.points] + [curve.bound or 0, 1e-9])
    top = _round_up(most)
    length = run.ended - run.began

    def x(at: float) -> float:
        return (at - run.began) / length * _WIDTH

    def y(value: float) -> float:
        return _HEIGHT * (1 - value / top)

    line = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in curve.points)
    parts = [f'<text y="-10" font-weight="bold">{html.escape(curve.title)}</text>']
    for share in (0.0, 0.5, 1.0):
        at = _HEIGHT * (1 - share)
        parts += [
            f'<path d="M0 {at:.1f}H{_WIDTH}" stroke="{_GRID}"/>',
            f'<text x="-6" y="{at + 4:.1f}" text-anchor="end">{top * share:g}</text>',
        ]
    for share, anchor in ((0.0, "start"), (1.0, "end")):
        said = f"{run.minutes * share:g} min"
        at = share * _WIDTH
        parts.append(f'<text x="{at}" y="{_HEIGHT + 16}" text-anchor="{anchor}">{said}</text>')
    if curve.bound is not None:
        at = y(curve.bound)
        parts.append(f'<path d="M0 {at:.1f}H{_WIDTH}" stroke="{_BOUND}" stroke-dasharray="4 3"/>')
    parts.append(f'<polyline points="{line}" fill="none" stroke="{_LINE}" stroke-width="1.5"/>')
    return "".join(parts)


def _round_up(value: float) -> float:
    """To 1, 2 or 5 times a power of ten."""
    power = 10.0 ** (len(str(int(value))) - 1) if value >= 1 else 0.1
    return next((power * each for each in (1, 2, 5) if power * each >= value), power * 10)
