"""Charts as numbers: the server computes bars and lines, a template draws them as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import msgspec

from masthead.base.languages.words import words
from masthead.faces.admin.environment import short_day

DAYS = 30
WIDTH = 200
HEIGHT = 56
_GAP = 1 / 3
"""The gap, as a part of a bar's share of the width."""
_TALLEST = 55.0
_SHORTEST = 1.0
"""A day without anything is a line, not a hole."""
_HIGHEST = 5.0
"""The highest point of a line, from the top; the lowest are on the ground line."""


class Bar(msgspec.Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float
    kind: str = ""
    """`now` for the last one, `fail` for what failed of one."""


class Day(msgspec.Struct, frozen=True):
    label: str
    count: int
    failed: int = 0


class Chart(msgspec.Struct, frozen=True):
    sentence: str
    """A description of the chart for screen readers."""
    days: tuple[Day, ...]
    bars: tuple[Bar, ...] = ()
    line: str = ""
    """The points of a line, as in the path of an SVG."""
    counted: str = words("Count")
    """The heads of the table's columns: of the counts, and of those that failed."""
    failed: str = ""

    @property
    def total(self) -> int:
        return sum(each.count for each in self.days)


def last_days(counts: Mapping[str, int], today: date, number: int = DAYS) -> list[Day]:
    """Up to today, with the days of which nothing was counted. Counts are by day, as 2026-11-14."""
    days = [today - timedelta(days=back) for back in reversed(range(number))]
    return [Day(short_day(each), counts.get(each.isoformat(), 0)) for each in days]


def bar_chart(
    sentence: str, days: Sequence[Day], counted: str = words("Count"), failed: str = ""
) -> Chart:
    most = max((each.count for each in days), default=0) or 1
    step = WIDTH / max(len(days), 1)
    width = round(step * (1 - _GAP), 1)
    bars: list[Bar] = []
    for position, each in enumerate(days):
        x = round(position * step, 1)
        kind = "now" if position == len(days) - 1 else ""
        bars.append(_bar(x, width, each.count / most, kind))
        if each.failed:
            bars.append(_bar(x, width, each.failed / most, "fail"))
    return Chart(sentence, tuple(days), tuple(bars), counted=counted, failed=failed)


def line_chart(sentence: str, days: Sequence[Day], counted: str = words("Count")) -> Chart:
    """From zero: a line that begins elsewhere makes little changes look large."""
    most = max((each.count for each in days), default=0)
    step = WIDTH / max(len(days) - 1, 1)
    points = []
    for position, each in enumerate(days):
        share = each.count / most if most else 0
        points.append(f"{position * step:.1f} {HEIGHT - share * (HEIGHT - _HIGHEST):.1f}")
    return Chart(sentence, tuple(days), line=f"M{' L'.join(points)}", counted=counted)


def _bar(x: float, width: float, share: float, kind: str) -> Bar:
    height = round(max(share * _TALLEST, _SHORTEST), 1)
    return Bar(x, round(HEIGHT - height, 1), width, height, kind)
