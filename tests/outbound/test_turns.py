"""Many streams that become ready at the same moment, beside somebody else on the same loop."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

from masthead.outbound.turns import Turns

WORK_SECONDS = 0.002


class Note:
    """A stream that notes when it goes on, and takes its time."""

    def __init__(self, number: int, gone_on: list[int], seconds: float = 0.0) -> None:
        self._number = number
        self._gone_on = gone_on
        self._seconds = seconds

    def go_on(self) -> None:
        # Really, and not by a moved clock: it is the time of a turn that is used up.
        time.sleep(self._seconds)
        self._gone_on.append(self._number)


async def test_others_have_their_turn_when_the_time_is_over() -> None:
    turns, gone_on = Turns(budget_seconds=WORK_SECONDS * 2.5), list[int]()
    for number in range(10):
        turns.add(Note(number, gone_on, WORK_SECONDS))
    counts = [0]
    while len(gone_on) < 10:
        await asyncio.sleep(0)
        counts.append(len(gone_on))
    # However slow the machine is: sleeping takes that long at least.
    assert max(after - before for before, after in pairwise(counts)) <= 3
    assert gone_on == list(range(10))


async def test_quick_ones_share_a_turn() -> None:
    turns, gone_on = Turns(budget_seconds=60), list[int]()
    for number in range(100):
        turns.add(Note(number, gone_on))
    await asyncio.sleep(0)
    assert gone_on == list(range(100))


async def test_one_goes_on_however_little_time_there_is() -> None:
    turns, gone_on = Turns(budget_seconds=0), list[int]()
    for number in range(3):
        turns.add(Note(number, gone_on))
        turns.add(Note(number, gone_on))
    for expected in range(1, 7):
        await asyncio.sleep(0)
        assert len(gone_on) == expected


async def test_newcomers_do_not_overtake() -> None:
    turns, gone_on = Turns(budget_seconds=0), list[int]()
    for number in range(6):
        turns.add(Note(number, gone_on))
    await asyncio.sleep(0)
    for number in range(6, 8):
        turns.add(Note(number, gone_on))
    while len(gone_on) < 8:
        await asyncio.sleep(0)
    assert gone_on == list(range(8))
