"""How the time of a function grows with its input: ratios of the processor's time within one run,
so neither the machine nor what else runs on it matters."""

from __future__ import annotations

import time
from collections.abc import Callable

FIRST = 1_000
LAST = 32_000
"""Characters of the shorter one of the inputs that are compared."""
ENOUGH = 0.006
"""Seconds. Below that a measurement says nothing, and nothing has to be feared of it."""
FEARED = 0.1
"""Seconds. A text that takes less is not looked at by its growth: the sanitizer reads some in
quadratic time as long as they are short, and gives longer ones to a process with a limit."""
REPEATS = 2
TRIES = 8
MOST = 10.0
"""Times as long for four times the input, where each doubling may take three times as long. In
linear time it is 4, in quadratic 16."""


def growth(work: Callable[[str], object], fill: Callable[[int], str]) -> float:
    """Divides the time for four times the input by that for the input; 0 if even the longest takes
    no time."""
    size = FIRST
    while _seconds(work, fill(size), 1) < ENOUGH:
        size *= 2
        if size > LAST:
            return 0.0
    while True:
        best, seconds = _times(work, fill, size)
        if best < MOST or seconds >= FEARED:
            return best
        size *= 2


def _times(
    work: Callable[[str], object], fill: Callable[[int], str], size: int
) -> tuple[float, float]:
    """Returns how many times as long four times the input takes, and the seconds that it takes."""
    best, seconds = float("inf"), 0.0
    for _ in range(TRIES):
        short, long = (_seconds(work, fill(each), REPEATS) for each in (size, 4 * size))
        best, seconds = min((best, seconds), (long / short, long))
        if best < MOST:
            break
    return best, seconds


def _seconds(work: Callable[[str], object], text: str, repeats: int) -> float:
    """Returns the processor time of this thread, the least of several rounds."""
    found: list[float] = []
    for _ in range(repeats):
        began = time.thread_time()
        work(text)
        found.append(time.thread_time() - began)
    return min(found)
