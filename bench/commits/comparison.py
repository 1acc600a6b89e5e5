"""How good the current version is against the other one: ratios, their spread, the verdict."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, Final

TOLERANCE: Final = 0.05
TRIMMED_FROM: Final = 7
"""Rounds, of which the lowest and the highest ratio no longer count."""
SINGLE_SPREAD: Final = 0.1
"""Of what is measured only once."""
_OF_CEILING: Final = ("of the ceiling", "its processor")


@dataclass(frozen=True)
class Sample:
    """One round."""

    value: float
    processor: float = 0.0
    """Seconds of a processor for one operation; 0 where it is not taken."""


@dataclass(frozen=True)
class Ratio:
    """Above 1 where the current version is better."""

    median: float
    spread: float

    @property
    def is_lower(self) -> bool:
        return 1 - self.median > max(self.spread, TOLERANCE)

    @property
    def is_higher(self) -> bool:
        return self.median - 1 > max(self.spread, TOLERANCE)

    def __str__(self) -> str:
        return f"{self.median:.2f} ± {self.spread:.2f}"


class Verdict(Enum):
    LOWER = "LOWER"
    """By more than its spread and the tolerance."""
    HIGHER = "higher"
    SAME = ""
    NEW = "new"
    """The older version can't do it."""
    GONE = "GONE"
    NOWHERE = "nowhere"
    INVALID = "INVALID"
    """There were wrong answers."""

    @property
    def is_failure(self) -> bool:
        return self in (Verdict.LOWER, Verdict.GONE, Verdict.INVALID)


@dataclass
class Row:
    name: str
    unit: str
    """`/s`, of which more is better, `s` or `MB`."""
    base: list[Sample] = field(default_factory=list)
    now: list[Sample] = field(default_factory=list)
    ceiling: list[Sample] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Why a side can't do it."""

    @property
    def ratio(self) -> Ratio | None:
        higher_is_better = self.unit == "/s"
        return ratio_of(_values(self.base), _values(self.now), higher_is_better=higher_is_better)

    @property
    def processor_ratio(self) -> Ratio | None:
        return ratio_of(_processor(self.base), _processor(self.now), higher_is_better=False)

    @property
    def share_of_ceiling(self) -> float | None:
        """Of its rate."""
        ratio = ratio_of(_values(self.ceiling), _values(self.now), higher_is_better=True)
        return ratio.median if ratio else None

    @property
    def processor_share(self) -> float | None:
        """What the ceiling needs of a processor, of what the current version needs."""
        ratio = ratio_of(_processor(self.ceiling), _processor(self.now), higher_is_better=False)
        return ratio.median if ratio else None

    @property
    def verdict(self) -> Verdict:
        if self.problems:
            return Verdict.INVALID
        if not self.now:
            return Verdict.GONE if self.base else Verdict.NOWHERE
        if not self.base:
            return Verdict.NEW
        ratios = [ratio for ratio in (self.ratio, self.processor_ratio) if ratio is not None]
        if any(ratio.is_lower for ratio in ratios):
            return Verdict.LOWER
        return Verdict.HIGHER if any(ratio.is_higher for ratio in ratios) else Verdict.SAME

    def document(self) -> dict[str, Any]:
        ratios = {"ratio": self.ratio, "processor_ratio": self.processor_ratio}
        found = {name: asdict(ratio) for name, ratio in ratios.items() if ratio}
        return {**asdict(self), **found, "verdict": self.verdict.name.lower()}


def ratio_of(
    base: Sequence[float], now: Sequence[float], *, higher_is_better: bool
) -> Ratio | None:
    """Of the rounds in pairs, because both sides of a pair saw the same moment of the machine."""
    pairs = [(older, newer) for older, newer in zip(base, now, strict=False) if older and newer]
    if not pairs:
        return None
    ratios = sorted(newer / older if higher_is_better else older / newer for older, newer in pairs)
    if len(ratios) == 1:
        return Ratio(ratios[0], SINGLE_SPREAD)
    trimmed = ratios[1:-1] if len(ratios) >= TRIMMED_FROM else ratios
    return Ratio(statistics.median(ratios), (trimmed[-1] - trimmed[0]) / 2)


def table(rows: Sequence[Row], base: str, now: str) -> str:
    header = ["row", "unit", base, now, "ratio", "processor", *_OF_CEILING, "verdict"]
    lines = [header, ["---"] * len(header), *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines[1] = ["-" * width for width in widths]
    return "\n".join(f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines)


def _cells(row: Row) -> list[str]:
    shares = (row.share_of_ceiling, row.processor_share)
    return [
        row.name,
        row.unit,
        _median(row.base),
        _median(row.now),
        str(row.ratio or ""),
        str(row.processor_ratio or ""),
        *(f"{share:.0%}" if share else "" for share in shares),
        row.verdict.value,
    ]


def _median(samples: Sequence[Sample]) -> str:
    if not samples:
        return "can't"
    value = statistics.median(_values(samples))
    return f"{value:,.0f}" if value >= 20 else f"{value:.2f}"


def _values(samples: Sequence[Sample]) -> list[float]:
    return [each.value for each in samples]


def _processor(samples: Sequence[Sample]) -> list[float]:
    return [each.processor for each in samples]
