"""A piece's time limit is about the far side, not about our own queue."""

from __future__ import annotations

import asyncio

import pytest
from tests.loop_time import LoopTime

from masthead.outbound.turns import Turns
from masthead.outbound.wire import Wire

LIMIT_SECONDS = 60.0


class Taken:
    def __init__(self, pieces: int) -> None:
        self.content: list[bytes] = []
        self._pieces = pieces

    def __call__(self, data: bytes) -> bool:
        self.content.append(data)
        return len(self.content) == self._pieces


class Slow:
    """A stream for which the loop's clock goes on by so much: a busy process."""

    def __init__(self, loop_time: LoopTime, seconds: float) -> None:
        self._loop_time = loop_time
        self._seconds = seconds

    def go_on(self) -> None:
        self._loop_time.skip(self._seconds)


async def test_what_came_in_time_is_not_late_because_its_turn_is(loop_time: LoopTime) -> None:
    turns = Turns(budget_seconds=0)
    wire, taken = Wire(turns), Taken(2)
    pouring = asyncio.create_task(wire.pour(taken, LIMIT_SECONDS))
    await asyncio.sleep(0)
    for _ in range(4):
        turns.add(Slow(loop_time, LIMIT_SECONDS / 2))
    wire.data_received(b"in time")
    while not taken.content:
        await asyncio.sleep(0)
    wire.data_received(b"and on")
    assert await pouring
    assert taken.content == [b"in time", b"and on"]
    wire.close()


async def test_each_piece_has_all_of_the_time(loop_time: LoopTime) -> None:
    wire, taken = Wire(Turns()), Taken(10)
    pouring = asyncio.create_task(wire.pour(taken, LIMIT_SECONDS))
    for number in range(3):
        await loop_time.go_by(LIMIT_SECONDS * 0.8)
        wire.data_received(b"%d" % number)
    await loop_time.go_by(LIMIT_SECONDS * 1.2)
    with pytest.raises(TimeoutError):
        await pouring
    assert taken.content == [b"0", b"1", b"2"]
    wire.close()


async def test_what_comes_while_nobody_takes_it_waits() -> None:
    wire, taken = Wire(Turns()), Taken(1)
    wire.data_received(b"one ")
    wire.data_received(b"two ")
    wire.put_back(b"zero ")
    assert await wire.pour(taken)
    wire.data_received(b"three")
    wire.connection_lost(None)
    rest = Taken(2)
    assert not await wire.pour(rest)
    assert [taken.content, rest.content] == [[b"zero one two "], [b"three"]]
    assert not await wire.pour(rest)


async def test_whoever_has_left_is_given_nothing() -> None:
    wire, taken = Wire(Turns()), Taken(1)
    pouring = asyncio.create_task(wire.pour(taken))
    await asyncio.sleep(0)
    wire.data_received(b"too late")
    pouring.cancel()
    await asyncio.gather(pouring, return_exceptions=True)
    await asyncio.sleep(0)
    assert taken.content == []
    again = Taken(1)
    assert await wire.pour(again)
    assert again.content == [b"too late"]
