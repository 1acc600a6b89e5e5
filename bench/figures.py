"""The figures of a row, of this version and of its peer (PocketBase, or an older commit): ratios,
their spread, the verdict."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

TOLERANCE: Final = 0.05
TRIMMED_FROM: Final = 7
"""Rounds, of which the lowest and the highest ratio no longer count."""
SINGLE_SPREAD: Final = 0.1
"""The spread of a value that is measured only once."""


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
    """Worse by more than its spread and the tolerance."""
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
    peer: list[Sample] = field(default_factory=list)
    ours: list[Sample] = field(default_factory=list)
    ceiling: list[Sample] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Why a side can't do it."""
    is_generator_bound: bool = False

    @property
    def ratio(self) -> Ratio | None:
        higher_is_better = self.unit == "/s"
        return ratio_of(values(self.peer), values(self.ours), higher_is_better=higher_is_better)

    @property
    def processor_ratio(self) -> Ratio | None:
        return ratio_of(processor(self.peer), processor(self.ours), higher_is_better=False)

    @property
    def share_of_ceiling(self) -> float | None:
        ratio = ratio_of(values(self.ceiling), values(self.ours), higher_is_better=True)
        return ratio.median if ratio else None

    @property
    def processor_share(self) -> float | None:
        """The processor time of the ceiling, as a share of ours."""
        ratio = ratio_of(processor(self.ceiling), processor(self.ours), higher_is_better=False)
        return ratio.median if ratio else None

    @property
    def verdict(self) -> Verdict:
        if self.problems:
            return Verdict.INVALID
        if not self.ours:
            return Verdict.GONE if self.peer else Verdict.NOWHERE
        if not self.peer:
            return Verdict.NEW
        ratios = [ratio for ratio in (self.ratio, self.processor_ratio) if ratio is not None]
        if any(ratio.is_lower for ratio in ratios):
            return Verdict.LOWER
        return Verdict.HIGHER if any(ratio.is_higher for ratio in ratios) else Verdict.SAME


def ratio_of(
    peer: Sequence[float], ours: Sequence[float], *, higher_is_better: bool
) -> Ratio | None:
    """The ratio of the rounds in pairs: both sides of a pair saw the same moment of the machine."""
    pairs = [(left, right) for left, right in zip(peer, ours, strict=False) if left and right]
    if not pairs:
        return None
    ratios = sorted(right / left if higher_is_better else left / right for left, right in pairs)
    if len(ratios) == 1:
        return Ratio(ratios[0], SINGLE_SPREAD)
    trimmed = ratios[1:-1] if len(ratios) >= TRIMMED_FROM else ratios
    return Ratio(statistics.median(ratios), (trimmed[-1] - trimmed[0]) / 2)


def values(samples: Sequence[Sample]) -> list[float]:
    return [each.value for each in samples]


def processor(samples: Sequence[Sample]) -> list[float]:
    return [each.processor for each in samples]
